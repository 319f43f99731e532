"""422: nothing unknown is ignored, nothing is coerced, and every fault is named with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.household import Household, details, refusal

KEY = {"name": "k", "role": "viewer"}


def test_unknown_fields_are_refused_with_what_was_meant(tenant: Household) -> None:
    answer = tenant.call(
        "POST", "/org/keys", json=KEY | {"expires_at": None, "Rolle": "x", "somethingElse": 1, "": 2}
    )
    assert refusal(answer) == (422, "validation_failed")
    assert details(answer) == {
        "$.expires_at": 'unknown field. Did you mean "expiresAt"?',
        "$.Rolle": 'unknown field. Did you mean "role"?',
        "$.somethingElse": "unknown field.",
        "$.": "unknown field.",
    }
    assert answer.json()["error"]["message"] == "4 fields are not valid; see details."


def test_every_fault_of_a_body_is_named_at_once(tenant: Household) -> None:
    answer = tenant.call("POST", "/org/members", json={"email": "not an address", "rol": "viewer"})
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"$.email", "$.name", "$.role", "$.rol"}
    assert details(answer)["$.name"] == "this is required"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (KEY | {"name": 5}, "$.name"),
        (KEY | {"name": True}, "$.name"),
        (KEY | {"name": None}, "$.name"),
        (KEY | {"name": ["k"]}, "$.name"),
        (KEY | {"name": ""}, "$.name"),
        (KEY | {"name": " k"}, "$.name"),
        (KEY | {"name": "a\nb"}, "$.name"),
        (KEY | {"name": "k" * 201}, "$.name"),
        (KEY | {"role": 1}, "$.role"),
        (KEY | {"role": "Viewer"}, "$.role"),
        (KEY | {"role": "god"}, "$.role"),
        (KEY | {"expiresAt": 1_900_000_000}, "$.expiresAt"),
        (KEY | {"expiresAt": False}, "$.expiresAt"),
        (KEY | {"expiresAt": "tomorrow"}, "$.expiresAt"),
        (KEY | {"expiresAt": "2029-01-31"}, "$.expiresAt"),
        (KEY | {"expiresAt": "2029-01-31T00:00:00"}, "$.expiresAt"),
        (KEY | {"expiresAt": "20290131T000000Z"}, "$.expiresAt"),
        (KEY | {"expiresAt": "2029-W05-1T00:00:00Z"}, "$.expiresAt"),
        (KEY | {"expiresAt": "2029-02-30T00:00:00Z"}, "$.expiresAt"),
        (KEY | {"expiresAt": "0001-01-01T00:00:00+23:59"}, "$.expiresAt"),
        (KEY | {"expiresAt": "9999-12-31T23:59:59-23:59"}, "$.expiresAt"),
        (KEY | {"expiresAt": "2020-01-01T00:00:00Z"}, "$.expiresAt"),
        (KEY | {"sourceIds": "payments"}, "$.sourceIds"),
        (KEY | {"sourceIds": {"0": "payments"}}, "$.sourceIds"),
        (KEY | {"sourceIds": [1]}, "$.sourceIds[0]"),
        (KEY | {"sourceIds": ["a\0b"]}, "$.sourceIds[0]"),
        (KEY | {"sourceIds": ["nowhere"]}, "$.sourceIds[0]"),
        (KEY | {"sourceIds": ["a"] * 101}, "$.sourceIds"),
    ],
    ids=str,
)
def test_a_key_is_minted_from_exactly_what_the_interface_names(
    tenant: Household, body: dict[str, Any], path: str
) -> None:
    answer = tenant.call("POST", "/org/keys", json=body)
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {path}


@pytest.mark.parametrize("value", [1, None, True, [], {}, "", "x" * 16_385])
def test_a_secret_is_a_text(tenant: Household, value: Any) -> None:
    answer = tenant.call("PUT", "/org/secrets/NAME", json={"value": value})
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"$.value"}


@pytest.mark.parametrize("name", ["lower", "1FIRST", "WITH-HYPHEN", "A" * 65, "%00", "%FF", "A%20", "Ä"])
def test_a_secret_has_a_name_that_an_environment_can_carry(tenant: Household, name: str) -> None:
    answer = tenant.call("PUT", f"/org/secrets/{name}", json={"value": "x"})
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"path.name"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pagesize=5", {"query.pagesize": 'unknown parameter. Did you mean "pageSize"?'}),
        ("page_size=5&pag=1", {"query.page_size": "pageSize", "query.pag": '"page"'}),
        ("verbose", {"query.verbose": "unknown parameter."}),
        ("=1", {"query.": "unknown parameter."}),
        ("%FF=1", {"query.\ufffd": "unknown parameter."}),
        ("page=1&page=2", {"query.page": "more than once"}),
        ("page=%00", {"query.page": "NUL"}),
        ("page=one", {"query.page": "not a whole number"}),
        ("page=", {"query.page": "not a whole number"}),
        ("page=1.0", {"query.page": "not a whole number"}),
        ("page=%201", {"query.page": "not a whole number"}),
        ("page=1_0", {"query.page": "not a whole number"}),
        ("page=%D9%A1", {"query.page": "not a whole number"}),
        ("page=99999999999999999999", {"query.page": "not a whole number"}),
        ("page=0", {"query.page": "greater than or equal to 1"}),
        ("page=-1", {"query.page": "greater than or equal to 1"}),
        ("page=1000001", {"query.page": "less than or equal to 1000000"}),
        ("pageSize=0", {"query.pageSize": "greater than or equal to 1"}),
        ("pageSize=201", {"query.pageSize": "less than or equal to 200"}),
        ("page=0&pageSize=x", {"query.page": "greater", "query.pageSize": "not a whole number"}),
    ],
)
def test_query_parameters_are_known_whole_numbers_given_once(
    tenant: Household, query: str, expected: dict[str, str]
) -> None:
    answer = tenant.call("GET", f"/org/members?{query}")
    assert refusal(answer) == (422, "validation_failed")
    found = details(answer)
    assert set(found) == set(expected)
    for path, words in expected.items():
        assert words in found[path]


def test_a_route_without_parameters_takes_none(tenant: Household) -> None:
    answer = tenant.call("GET", "/org?page=1&x=%00")
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"query.page", "query.x"}


@pytest.mark.parametrize(
    "email", ["", "a", "a@", "@b", "a@b@c", "a b@c.d", "a@b..c", "a@b.c\n", "ä@b.c", "a" * 251 + "@b.c", 5]
)
def test_a_member_has_an_address(tenant: Household, email: Any) -> None:
    answer = tenant.call("POST", "/org/members", json={"email": email, "name": "n", "role": "viewer"})
    assert refusal(answer) == (422, "validation_failed")
    assert set(details(answer)) == {"$.email"}
