"""401: always the same text, and before anything else that is wrong with a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ammeter.asgi import build_app
from ammeter.base.clock import now
from ammeter.features.orgs import keys
from ammeter.features.orgs.model import Role
from ammeter.wiring import House
from tests.household import API, OPERATOR, Household, refusal
from tests.server import until

TEXT = "A valid API key is required. Send it as 'Authorization: Bearer amt_<key_id>_<secret>'."

WRONG: dict[str, Callable[[str], str]] = {
    "an empty header": lambda token: "",
    "a scheme without a token": lambda token: "Bearer",
    "another scheme": lambda token: f"Basic {token}",
    "no scheme": lambda token: token,
    "an unknown key": lambda token: f"Bearer amt_{'a' * 12}_{'b' * 48}",
    "another secret": lambda token: f"Bearer {token[:17]}{'b' * 48}",
    "a secret of another key": lambda token: f"Bearer amt_{token[4:16][::-1]}_{token[17:]}",
    "a truncated secret": lambda token: f"Bearer {token[:-1]}",
    "one letter too many": lambda token: f"Bearer {token}a",
    "upper case": lambda token: f"Bearer {token.upper()}",
    "no prefix": lambda token: f"Bearer {token[4:]}",
    "the public part alone": lambda token: f"Bearer {token[:16]}",
    "two tokens": lambda token: f"Bearer {token} {token}",
    "letters outside ASCII": lambda token: f"Bearer {token[:-1]}é",
}


@pytest.mark.parametrize("spelling", WRONG)
def test_a_wrong_key_is_refused_whatever_is_wrong_with_it(tenant: Household, spelling: str) -> None:
    header = WRONG[spelling](tenant.tokens[Role.owner]).encode("latin-1")
    assert_stranger(tenant.client.get(f"{API}/org", headers={b"authorization": header}))


def test_a_request_without_a_key_is_refused(tenant: Household) -> None:
    assert_stranger(tenant.client.get(f"{API}/org"))


def test_the_scheme_is_read_in_any_case(tenant: Household) -> None:
    for scheme in ("bearer", "BEARER"):
        headers = {"authorization": f"{scheme} {tenant.tokens[Role.viewer]}"}
        assert tenant.client.get(f"{API}/org", headers=headers).status_code == 200


def test_a_revoked_key_is_refused_from_the_next_request_on(tenant: Household) -> None:
    minted = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer"}).json()
    headers = {"authorization": f"Bearer {minted['token']}"}
    assert tenant.client.get(f"{API}/org", headers=headers).status_code == 200
    assert tenant.call("DELETE", f"/org/keys/{minted['key']['id']}").status_code == 200
    assert_stranger(tenant.client.get(f"{API}/org", headers=headers))


def test_an_expired_key_is_refused(tenant: Household) -> None:
    with tenant.house.db.write() as tx:
        soon = now() + timedelta(milliseconds=200)
        _, token = keys.mint_key(tx, OPERATOR, tenant.org.id, name="k", role=Role.owner, expires_at=soon)
    headers = {"authorization": f"Bearer {token}"}
    until(lambda: now() >= soon, "the key expires")
    assert_stranger(tenant.client.get(f"{API}/org", headers=headers))


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "GET", "path": "/org?nonsense=1"},
        {"method": "GET", "path": "/org", "headers": {"accept": "text/html"}},
        {"method": "POST", "path": "/org/keys", "content": b"not json"},
        {"method": "POST", "path": "/org/keys", "content": b"<x/>", "headers": {"content-type": "text/xml"}},
        {"method": "POST", "path": "/org/keys", "json": {"unknown": 1}},
        {"method": "POST", "path": "/org/keys", "content": b"x" * 2_000_000},
        {"method": "DELETE", "path": "/org/keys/no-such-id"},
        {"method": "DELETE", "path": "/org/secrets/not%20a%20name"},
    ],
    ids=lambda wrong: f"{wrong['method']} {wrong['path']}",
)
def test_a_stranger_is_told_of_nothing_else(tenant: Household, wrong: dict[str, Any]) -> None:
    request = dict(wrong)
    path = API + request.pop("path")
    assert_stranger(tenant.client.request(url=path, **request))


def test_no_body_is_read_for_a_stranger(shared_house: House) -> None:
    status, asked = asyncio.run(_post_without_a_key(shared_house))
    assert (status, asked) == (401, 0)


async def _post_without_a_key(house: House) -> tuple[int, int]:
    """The status of an answer, and how often the application asked for the request's body."""
    asked = 0
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{API}/org/keys",
        "raw_path": f"{API}/org/keys".encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(b"host", b"localhost"), (b"content-length", b"2")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await build_app(house)(scope, receive, send)
    return sent[0]["status"], asked


def assert_stranger(answer: Any) -> None:
    assert refusal(answer) == (401, "unauthenticated")
    assert answer.json()["error"]["message"] == TEXT
    assert answer.json()["error"]["details"] == []
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "ratelimit" not in answer.headers
