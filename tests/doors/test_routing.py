"""404, 405 and 406: what is not there, not done here, or not spoken here."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.base.ids import new_id
from tests.household import API, Household, refusal

BODY = {"role": "viewer"}


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/api",
        "/api/service/v1",
        "/api/service/v2/org",
        "/api/service/v1/",
        "/api/service/v1/orgs",
        "/api/service/v1/org/",
        "/api/service/v1//org",
        "/api/service/v1/org/keys/a/b",
        "/api/service/v1/%6Frg/x",
        "/api/service/v1/org%00",
        "/docs",
        "/redoc",
        "/openapi.json",
        "/.git/config",
        "//evil.example/",
    ],
)
def test_an_unknown_path_is_not_found(tenant: Household, path: str) -> None:
    answer = tenant.client.get(f"http://127.0.0.1:8321{path}", follow_redirects=False)
    assert refusal(answer) == (404, "not_found")
    assert answer.json()["error"]["message"] == "No such path."


@pytest.mark.parametrize(
    ("method", "folder", "noun"),
    [
        ("DELETE", "/org/keys", "API key"),
        ("PATCH", "/org/members", "member"),
        ("DELETE", "/org/members", "member"),
    ],
)
def test_unknown_malformed_and_foreign_ids_cannot_be_told_apart(
    tenant: Household, neighbour: Household, method: str, folder: str, noun: str
) -> None:
    ids = {
        "foreign": _theirs(neighbour, folder),
        "unknown": new_id(),
        "malformed": "not-an-id",
        "upper case": new_id().upper(),
        "too long": "a" * 2000,
        "not text": "%FF%00",
        "SQL": "'%20OR%201=1--",
    }
    answers = [tenant.call(method, f"{folder}/{id_}", json=BODY) for id_ in ids.values()]
    for answer in answers:
        assert refusal(answer) == (404, "not_found")
    assert len({_without_request_id(answer) for answer in answers}) == 1
    assert answers[0].json()["error"]["message"] == f"No such {noun}."
    assert len({tuple(sorted(answer.headers)) for answer in answers}) == 1


def test_a_foreign_secret_is_as_unknown_as_any(tenant: Household, neighbour: Household) -> None:
    assert neighbour.call("PUT", "/org/secrets/THEIRS", json={"value": "x"}).status_code == 201
    answers = [tenant.call("DELETE", f"/org/secrets/{name}") for name in ("THEIRS", "NOBODYS")]
    assert [refusal(answer) for answer in answers] == [(404, "not_found")] * 2
    assert len({_without_request_id(answer) for answer in answers}) == 1
    assert neighbour.call("GET", "/org/secrets").json()["total"] == 1


def test_a_foreign_source_is_as_unknown_as_any(tenant: Household) -> None:
    answer = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer", "sourceIds": [new_id()]})
    assert refusal(answer) == (422, "validation_failed")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/org", "GET"),
        ("/org/audit", "GET"),
        ("/org/keys", "GET, POST"),
        ("/org/keys/x", "DELETE"),
        ("/org/members", "GET, POST"),
        ("/org/members/x", "DELETE, PATCH"),
        ("/org/secrets", "GET"),
        ("/org/secrets/X", "DELETE, PUT"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(
    tenant: Household, path: str, allowed: str
) -> None:
    others = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} - set(
        allowed.split(", ")
    )
    for method in sorted(others):
        answer = tenant.call(method, path)
        assert refusal(answer) == (405, "method_not_allowed")
        assert answer.headers["allow"] == allowed
        assert allowed in answer.json()["error"]["message"]


def test_a_head_request_is_refused_without_a_body(tenant: Household) -> None:
    answer = tenant.call("HEAD", "/org")
    assert (answer.status_code, answer.content, answer.headers["allow"]) == (405, b"", "GET")
    assert answer.headers["x-request-id"]


def test_the_probes_and_the_description_answer_only_reads(tenant: Household) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/", f"{API}/openapi"):
        answer = tenant.client.post(path)
        assert answer.status_code == 405
        assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("accept", ["text/html", "application/xml, text/*;q=0.5", "image/png", "nonsense"])
def test_whoever_does_not_take_json_gets_nothing(tenant: Household, accept: str) -> None:
    answer = tenant.call("GET", "/org", headers={"accept": accept})
    assert refusal(answer) == (406, "not_acceptable")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "accept",
    ["application/json", "APPLICATION/JSON", "*/*", "application/*", "text/html, application/json;q=0.1", ""],
)
def test_whoever_takes_json_among_others_gets_it(tenant: Household, accept: str) -> None:
    assert tenant.call("GET", "/org", headers={"accept": accept}).status_code == 200


def _theirs(neighbour: Household, folder: str) -> str:
    if folder == "/org/keys":
        return str(neighbour.call("GET", folder).json()["rows"][0]["id"])
    body = {"email": f"{new_id()}@example.com", "name": "n", "role": "viewer"}
    return str(neighbour.call("POST", folder, json=body).json()["id"])


def _without_request_id(answer: Any) -> str:
    return str(answer.text.replace(answer.headers["x-request-id"], ""))
