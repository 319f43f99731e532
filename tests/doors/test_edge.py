"""What every answer carries, whatever door it came from: request ids, security headers, its hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from ammeter.base.ids import is_id
from ammeter.features.orgs.model import Role
from ammeter.wiring import House
from tests.household import API, Household, make_client, refusal

HARDENED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}

ANSWERS: dict[str, tuple[int, Callable[[Household], Any]]] = {
    "read": (200, lambda t: t.call("GET", "/org")),
    "made": (201, lambda t: t.call("PUT", "/org/secrets/NEW", json={"value": "x"})),
    "malformed": (400, lambda t: t.call("POST", "/org/keys", content=b"{")),
    "stranger": (401, lambda t: t.client.get(f"{API}/org")),
    "refused": (403, lambda t: t.call("GET", "/org/keys", Role.viewer)),
    "no such id": (404, lambda t: t.call("DELETE", "/org/keys/x")),
    "no such path": (404, lambda t: t.client.get("/nowhere")),
    "no such host": (404, lambda t: t.client.get("/", headers={"host": "evil.example"})),
    "method": (405, lambda t: t.call("PUT", "/org")),
    "accept": (406, lambda t: t.call("GET", "/org", headers={"accept": "text/html"})),
    "too large": (413, lambda t: t.call("PUT", "/org/secrets/NEW", content=b"x" * 1_048_577)),
    "media type": (
        415,
        lambda t: t.call("PUT", "/org/secrets/X", content=b"{}", headers={"content-type": "text/plain"}),
    ),
    "not valid": (422, lambda t: t.call("GET", "/org?x=1")),
    "description": (200, lambda t: t.client.get(f"{API}/openapi")),
    "first page": (303, lambda t: t.client.get("/", follow_redirects=False)),
    "alive": (200, lambda t: t.client.get("/healthz")),
    "ready": (200, lambda t: t.client.get("/readyz")),
    "metrics": (200, lambda t: t.client.get("/metrics")),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_answer_carries_each_security_header_once(tenant: Household, kind: str) -> None:
    status, ask = ANSWERS[kind]
    answer = ask(tenant)
    assert answer.status_code == status
    for name, value in HARDENED.items():
        assert answer.headers.get_list(name) == [value], name
    assert len(answer.headers.get_list("x-request-id")) == 1
    assert "strict-transport-security" not in answer.headers
    assert "server" not in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_over_https_asks_for_https_from_then_on(tenant: Household, kind: str) -> None:
    secure = TestClient(tenant.client.app, base_url="https://127.0.0.1:8321", raise_server_exceptions=False)
    status, ask = ANSWERS[kind]
    answer = ask(replace(tenant, client=secure))
    assert answer.status_code == status
    assert answer.headers.get_list("strict-transport-security") == ["max-age=31536000"]


@pytest.mark.parametrize("given", ["trace-0123456789", "a" * 8, "A1._-" * 12, "a" * 64])
def test_a_plain_request_id_is_kept_on_answers_and_errors(tenant: Household, given: str) -> None:
    for path in ("/org", "/org?x=1"):
        answer = tenant.call("GET", path, headers={"x-request-id": given})
        assert answer.headers.get_list("x-request-id") == [given]
    assert answer.json()["error"]["requestId"] == given


@pytest.mark.parametrize(
    "given", ["", "short", "a" * 65, "with blank id", "ünïcödé-id", '"><script>', "a/b/c/d/e"]
)
def test_a_strange_request_id_is_replaced_by_one_of_ours(tenant: Household, given: str) -> None:
    headers = {b"x-request-id": given.encode("latin-1")}
    answer = tenant.client.get("/healthz", headers=headers)
    assert is_id(answer.headers["x-request-id"])


def test_request_ids_of_ours_differ(tenant: Household) -> None:
    ids = {tenant.client.get("/healthz").headers["x-request-id"] for _ in range(20)}
    assert len(ids) == 20


HOSTS = {
    "127.0.0.1": True,
    "127.0.0.1:8321": True,
    "localhost": True,
    "LocalHost:80": True,
    "[::1]": True,
    "[::1]:8321": True,
    "ammeter.example": True,
    "AMMETER.EXAMPLE:443": True,
    "own.example": True,
    "a.apps.example": True,
    "a.b.apps.example:8443": True,
    "apps.example": False,
    "evilapps.example": False,
    "a.apps.example.evil.example": False,
    "evil.example": False,
    "ammeter.example.": False,
    "127.0.0.2": False,
    "::1": False,
    "localhost:port": False,
    "localhost, evil.example": False,
    "evil.example@localhost": False,
    "": False,
}


def test_only_its_own_host_names_are_answered(shared_house: House) -> None:
    client = client_with(
        shared_house, base_url="https://own.example:8443", allowed_hosts=("Ammeter.example", "*.apps.example")
    )
    for host, is_ours in HOSTS.items():
        answer = client.get(f"{API}/openapi", headers={"host": host})
        assert answer.status_code == (200 if is_ours else 404), host
        if not is_ours:
            assert refusal(answer) == (404, "not_found")
            assert "AMMETER_ALLOWED_HOSTS" in answer.json()["error"]["message"]
        for probe in ("/healthz", "/readyz", "/metrics"):
            assert client.get(probe, headers={"host": host}).status_code == 200, host


def test_a_star_allows_every_host(shared_house: House) -> None:
    client = client_with(shared_house, allowed_hosts=("*",))
    assert client.get(f"{API}/openapi", headers={"host": "anything.example"}).status_code == 200


def test_a_foreign_host_is_refused_before_the_key_is_looked_at(tenant: Household) -> None:
    answer = tenant.call("GET", "/org", headers={"host": "evil.example"})
    assert refusal(answer) == (404, "not_found")
    assert "ratelimit" not in answer.headers


def client_with(house: House, **settings: Any) -> TestClient:
    return make_client(replace(house, settings=house.settings.model_copy(update=settings)))
