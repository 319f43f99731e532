"""`/suites` at the door: what is made, changed and archived, what is refused and why, and who sees it."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.evaluating import add_source, create, plan, step
from tests.household import API, Household, details, refusal
from tests.own_tools import refused_tool, use_tool

PROMPT = plan(step("list_notes"))


@pytest.fixture
def source(tenant: Household) -> Source:
    return add_source(tenant.house, tenant.org.id, "https://notes.example/mcp")


@pytest.fixture
def cases(tenant: Household, source: Source) -> list[str]:
    return [create(tenant, source, PROMPT, name=name)["workflow"]["id"] for name in ("One", "Two")]


def test_a_suite_is_made_read_changed_and_archived(tenant: Household, cases: list[str]) -> None:
    body = {"name": "Release", "caseIds": cases, "repeats": 2, "gate": {"minScore": 0.8}}
    made = tenant.call("POST", "/suites", Role.editor, json=body)
    assert made.status_code == 201
    suite = made.json()
    assert (suite["name"], suite["status"], suite["repeats"]) == ("Release", "active", 2)
    assert suite["gate"] == {
        "minScore": 0.8,
        "requireAll": True,
        "strict": False,
        "minPassRate": 1.0,
        "maxCostUsd": None,
    }
    assert [(case["id"], case["name"]) for case in suite["cases"]] == list(
        zip(cases, ("One", "Two"), strict=True)
    )
    path = f"/suites/{suite['id']}"
    assert tenant.call("GET", path, Role.viewer).json() == suite
    assert tenant.call("GET", "/suites", Role.viewer).json()["rows"] == [suite]
    changed = tenant.call("PATCH", path, json={"caseIds": cases[1:], "gate": {"strict": True}}).json()
    assert [case["id"] for case in changed["cases"]] == cases[1:]
    assert (changed["gate"]["strict"], changed["gate"]["minScore"], changed["repeats"]) == (True, None, 2)
    assert tenant.call("DELETE", path).json() == {"ok": True}
    assert tenant.call("DELETE", path).json() == {"ok": True}
    assert tenant.call("GET", "/suites").json()["rows"] == []
    assert tenant.call("GET", path).json()["status"] == "archived"
    assert refusal(tenant.call("PATCH", path, json={"repeats": 1})) == (409, "conflict")
    assert refused_tool(tenant, "run_eval_suite", suite=suite["id"])["code"] == "conflict"
    assert tenant.call("POST", "/suites", json=body).status_code == 201


def test_a_name_is_one_suites_alone(tenant: Household, cases: list[str]) -> None:
    body = {"name": "Release", "caseIds": cases}
    assert tenant.call("POST", "/suites", json=body).status_code == 201
    assert refusal(tenant.call("POST", "/suites", json=body)) == (409, "conflict")
    other = tenant.call("POST", "/suites", json=body | {"name": "Nightly"}).json()
    taken = tenant.call("PATCH", f"/suites/{other['id']}", json={"name": "Release"})
    assert refusal(taken) == (409, "conflict")
    assert tenant.call("GET", f"/suites/{other['id']}").json()["name"] == "Nightly"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"caseIds": []}, "$.caseIds"),
        ({"caseIds": ["none"]}, "$.caseIds[0]"),
        ({"caseIds": "TWICE"}, "$.caseIds[2]"),
        ({"repeats": 0}, "$.repeats"),
        ({"repeats": 21}, "$.repeats"),
        ({"gate": {"minScore": 2}}, "$.gate.minScore"),
        ({"gate": {"minPassRate": 0}}, "$.gate.minPassRate"),
        ({"gate": {"maxCostUsd": 0}}, "$.gate.maxCostUsd"),
        ({"gate": {"requireAll": False}}, "$.gate.minScore"),
        ({"gate": {"requireAll": False, "minScore": 1, "strict": True}}, "$.gate.strict"),
        ({"gate": {"minscore": 1}}, "$.gate.minscore"),
        ({"name": "a\nb"}, "$.name"),
        ({"description": "a\0b"}, "$.description"),
    ],
)
def test_what_is_wrong_is_named(
    tenant: Household, cases: list[str], fields: dict[str, Any], path: str
) -> None:
    if fields.get("caseIds") == "TWICE":
        fields = {"caseIds": [*cases, cases[0]]}
    answer = tenant.call("POST", "/suites", json={"name": "x", "caseIds": cases} | fields)
    assert (refusal(answer)[1], list(details(answer))) == ("validation_failed", [path])


def test_viewers_read_and_editors_write(tenant: Household, cases: list[str]) -> None:
    body = {"name": "Release", "caseIds": cases}
    assert refusal(tenant.call("POST", "/suites", Role.viewer, json=body)) == (403, "insufficient_role")
    made = tenant.call("POST", "/suites", json=body).json()
    path = f"/suites/{made['id']}"
    for method in ("PATCH", "DELETE"):
        answer = tenant.call(method, path, Role.viewer, json=None if method == "DELETE" else {})
        assert refusal(answer) == (403, "insufficient_role"), method


def test_suite_runs_have_no_endpoint_of_their_own(tenant: Household, cases: list[str]) -> None:
    made = tenant.call("POST", "/suites", json={"name": "Release", "caseIds": cases}).json()
    started = use_tool(tenant, "run_eval_suite", suite="Release")
    for path in (f"/suites/{made['id']}/runs", "/suite-runs", f"/suite-runs/{started['id']}"):
        assert refusal(tenant.call("GET", path)) == (404, "not_found"), path
        assert refusal(tenant.call("POST", path, json={})) == (404, "not_found"), path


def test_neighbours_and_keys_of_other_sources_see_nothing(
    tenant: Household, neighbour: Household, cases: list[str]
) -> None:
    made = tenant.call("POST", "/suites", json={"name": "Release", "caseIds": cases}).json()
    other = add_source(tenant.house, tenant.org.id, "https://other.example/mcp")
    key = {"name": "narrow", "role": "owner", "sourceIds": [other.id]}
    token = tenant.call("POST", "/org/keys", json=key).json()["token"]

    def narrow(path: str) -> Any:
        return tenant.client.get(API + path, headers={"authorization": f"Bearer {token}"})

    path = f"/suites/{made['id']}"
    assert refusal(neighbour.call("GET", path)) == (404, "not_found")
    assert refusal(narrow(path)) == (404, "not_found")
    assert neighbour.call("GET", "/suites").json()["rows"] == []
    assert narrow("/suites").json()["rows"] == []
    assert len(tenant.call("GET", "/suites").json()["rows"]) == 1
    foreign = neighbour.call("POST", "/suites", json={"name": "x", "caseIds": cases[:1]})
    assert details(foreign) == {"$.caseIds[0]": "there is no such workflow"}
