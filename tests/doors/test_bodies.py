"""400, 413 and 415: what is not JSON, too large, or not called JSON, never becomes a change."""

from __future__ import annotations

import json

import pytest

from ammeter.features.orgs.model import Role
from tests.household import Household, details, refusal

LIMIT_BYTES = 1024 * 1024

MALFORMED = {
    "empty": (b"", "The body is empty"),
    "only blanks": (b"  \n ", "line 2"),
    "half an object": (b'{"name": "x", "role"', "column 21"),
    "two values": (b"{} {}", "column 4"),
    "single quotes": (b"{'name': 'x'}", "column 2"),
    "NaN": (b'{"name": NaN}', "NaN is not a JSON number"),
    "Infinity": (b'{"name": [Infinity]}', "Infinity is not a JSON number"),
    "minus Infinity": (b'{"name": -Infinity}', "-Infinity is not a JSON number"),
    "a number beyond all floats": (b'{"name": 1e999}', "1e999 is too large"),
    "a number of 5,000 digits": (b'{"name": ' + b"9" * 5000 + b"}", "too many digits"),
    "a key twice": (b'{"name": "x", "role": "viewer", "name": "y"}', "'name' stands twice"),
    "a key twice deep inside": (b'{"name": [{"a": 1, "a": 1}]}', "'a' stands twice"),
    "endless arrays": (b"[" * 100_000, "nested too deeply"),
    "endless objects": (b'{"a":' * 100_000, "nested too deeply"),
    "bytes that are not UTF-8": (b'{"name": "\xff"}', "not UTF-8 (byte 10)"),
    "UTF-16": ('{"name": "x"}'.encode("utf-16"), "not UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "BOM"),
    "a raw line break in a text": (b'{"name": "a\nb"}', "Invalid control character"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_not_json_is_refused_with_the_place_that_is_wrong(tenant: Household, kind: str) -> None:
    body, reason = MALFORMED[kind]
    answer = tenant.call("POST", "/org/keys", content=body, headers={"content-type": "application/json"})
    assert refusal(answer) == (400, "malformed_json")
    assert reason in answer.json()["error"]["message"]
    assert tenant.call("GET", "/org/keys").json()["total"] == len(Role)


@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"5", b"true", b"1.5"])
def test_json_that_is_no_object_is_not_valid(tenant: Household, body: bytes) -> None:
    answer = tenant.call("POST", "/org/keys", content=body)
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"$"}


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_of_a_surrogate_pair_is_not_valid(tenant: Household, text: str) -> None:
    answer = tenant.call("PUT", "/org/secrets/HALF", content=json.dumps({"value": text}).encode())
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"$.value"}


def test_a_value_may_hold_any_character(tenant: Household) -> None:
    for value in ("\0", "\n", "😀", "\u202e", '"', "x" * 16_384):
        assert tenant.call("PUT", "/org/secrets/ANY", json={"value": value}).status_code in (200, 201)


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/jsonp",
        "text/json",
        "json",
        ";",
    ],
)
def test_a_body_that_is_not_called_json_is_an_unsupported_media_type(tenant: Household, kind: str) -> None:
    answer = tenant.call(
        "PUT", "/org/secrets/KIND", content=b'{"value": "x"}', headers={"content-type": kind}
    )
    assert refusal(answer) == (415, "unsupported_media_type")
    assert "application/json" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind",
    ["application/json", "Application/JSON; charset=utf-8", "application/vnd.ammeter+json", None],
)
def test_json_by_any_of_its_names_and_by_none_is_taken(tenant: Household, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    answer = tenant.call("PUT", "/org/secrets/KIND", content=b'{"value": "x"}', headers=headers)
    assert answer.status_code == 201


def test_a_body_of_exactly_the_limit_is_taken_and_one_more_byte_is_not(tenant: Household) -> None:
    whole = b'{"value": "x"}'.ljust(LIMIT_BYTES)
    assert tenant.call("PUT", "/org/secrets/LARGE", content=whole).status_code == 201
    answer = tenant.call("PUT", "/org/secrets/LARGER", content=whole + b" ")
    assert refusal(answer) == (413, "payload_too_large")
    assert "1,048,576 bytes" in answer.json()["error"]["message"]
    assert answer.headers["connection"] == "close"
    assert [row["name"] for row in tenant.call("GET", "/org/secrets").json()["rows"]] == ["LARGE"]


def test_a_declared_length_beyond_all_numbers_is_too_large(tenant: Household) -> None:
    answer = tenant.call("PUT", "/org/secrets/X", content=b"{}", headers={"content-length": "9" * 6000})
    assert refusal(answer) == (413, "payload_too_large")
