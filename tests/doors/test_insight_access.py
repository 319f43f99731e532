"""`/insights`: who may see and say what, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ammeter.base.clock import now, parse_rfc3339
from ammeter.base.ids import new_id
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from tests import telling
from tests.household import API, OPERATOR, Household, details, refusal
from tests.telling import Told, tell

UNKNOWN = "01a1dd54-7c8c-7f66-8000-000000000000"
READS = (
    "/insights/overview",
    "/insights/topics",
    f"/insights/topics/{UNKNOWN}",
    "/insights/searches",
    f"/insights/searches/{UNKNOWN}",
    "/insights/sessions",
    f"/insights/sessions/{UNKNOWN}/trace",
)
CHANGES = (
    (f"/insights/topics/{UNKNOWN}", {"label": "x"}),
    (f"/insights/sessions/{UNKNOWN}", {"flagged": True}),
)


@pytest.fixture
def analyst(tenant: Household) -> Household:
    """An organization with MCP Analytics."""
    with tenant.house.db.write() as tx:
        org = service.set_features(tx, OPERATOR, tenant.org, mcp_analytics=True)
    return replace(tenant, org=org)


@pytest.fixture
def told(analyst: Household) -> Told:
    return tell(analyst.house.db, analyst.org.id)


def ask(household: Household, path: str, role: Role = Role.viewer, **query: Any) -> Any:
    answer = household.call("GET", path, role, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", READS)
def test_insights_take_mcp_analytics(tenant: Household, path: str) -> None:
    for role in Role:
        assert refusal(tenant.call("GET", path, role)) == (403, "feature_disabled")
    assert refusal(tenant.client.get(API + path)) == (401, "unauthenticated")


@pytest.mark.parametrize(("path", "body"), CHANGES)
def test_changes_take_mcp_analytics_and_an_editor(
    tenant: Household, analyst: Household, path: str, body: dict[str, Any]
) -> None:
    for role in (Role.viewer, Role.editor):
        with tenant.house.db.write() as tx:
            service.set_features(tx, OPERATOR, analyst.org, mcp_analytics=False)
        assert refusal(tenant.call("PATCH", path, role, json=body)) == (403, "feature_disabled")
    with tenant.house.db.write() as tx:
        service.set_features(tx, OPERATOR, analyst.org, mcp_analytics=True)
    assert refusal(analyst.call("PATCH", path, Role.editor, json=body)) == (404, "not_found")


def test_a_viewer_flags_no_session_and_changes_no_topic(analyst: Household, told: Told) -> None:
    path = f"/insights/sessions/{told.sessions[0][0].session_id}"
    answer = analyst.call("PATCH", path, Role.viewer, json={"flagged": True})
    assert refusal(answer) == (403, "insufficient_role")
    assert "editor" in answer.json()["error"]["message"]
    topic = analyst.call("PATCH", f"/insights/topics/{UNKNOWN}", Role.viewer, json={"archived": True})
    assert refusal(topic) == (403, "insufficient_role")


@pytest.mark.parametrize("session_id", [UNKNOWN, "nonsense", "%20", UNKNOWN.upper()])
def test_unknown_ids_are_not_found(analyst: Household, session_id: str) -> None:
    for path in (
        f"/insights/sessions/{session_id}/trace",
        f"/insights/topics/{session_id}",
        f"/insights/searches/{session_id}",
    ):
        assert refusal(analyst.call("GET", path)) == (404, "not_found")
    for path, body in CHANGES:
        answer = analyst.call("PATCH", path.replace(UNKNOWN, session_id), json=body)
        assert refusal(answer) == (404, "not_found")


def test_what_is_another_organizations_is_not_found(
    analyst: Household, told: Told, neighbour: Household
) -> None:
    with neighbour.house.db.write() as tx:
        service.set_features(tx, OPERATOR, neighbour.org, mcp_analytics=True)
    foreign = f"/insights/sessions/{told.sessions[-1][0].session_id}"
    assert refusal(neighbour.call("GET", f"{foreign}/trace")) == (404, "not_found")
    assert refusal(neighbour.call("PATCH", foreign, json={"flagged": True})) == (404, "not_found")
    assert ask(neighbour, "/insights/sessions", range="90d")["rows"] == []
    assert ask(neighbour, "/insights/overview", range="90d")["kpis"]["scripts"]["value"] == 0


def test_a_key_limited_to_sources_sees_those_alone(analyst: Household) -> None:
    db, org_id = analyst.house.db, analyst.org.id
    mine, other = new_id(), new_id()
    told = tell(db, org_id, a_day=4, source_ids=(mine, other))
    with db.write() as tx:
        _, token = keys.mint_key(tx, OPERATOR, org_id, name="few", role=Role.editor, source_ids=[mine])
    few = replace(analyst, tokens={**analyst.tokens, Role.editor: token})
    seen = [s for s in told.heard_of(telling.since_of("90d", now())) if s[0].source_id == mine]
    rows = ask(few, "/insights/sessions", Role.editor, range="90d", limit=200)["rows"]
    assert [row["id"] for row in rows] == [events[0].session_id for events in seen]
    overview = ask(few, "/insights/overview", Role.editor, range="90d")
    since = parse_rfc3339(overview["coverage"]["since"])
    scripts = [e for s in told.sessions if s[0].source_id == mine for e in s if e.kind == "script"]
    assert overview["kpis"]["scripts"]["value"] == sum(event.at >= since for event in scripts)
    strained = [s for s in told.sessions if s[0].source_id == mine and s[0].at >= since]
    assert overview["kpis"]["high_frustration_sessions"]["value"] == sum(map(telling.strained, strained))
    hidden = next(s for s in told.sessions if s[0].source_id == other)[0].session_id
    path = f"/insights/sessions/{hidden}"
    assert refusal(few.call("GET", f"{path}/trace", Role.editor)) == (404, "not_found")
    assert refusal(few.call("PATCH", path, Role.editor, json={"flagged": True})) == (404, "not_found")


@pytest.mark.parametrize("path", ["/insights/sessions", "/insights/topics", "/insights/searches"])
def test_a_limit_is_1_to_200(analyst: Household, path: str) -> None:
    for limit in ("0", "201", "-1", "1.0", "many", ""):
        answer = analyst.call("GET", path, params={"limit": limit})
        assert refusal(answer) == (422, "validation_failed"), limit
        assert list(details(answer)) == ["query.limit"]
    for limit in ("1", "200"):
        assert analyst.call("GET", path, params={"limit": limit}).status_code == 200


def test_lists_hold_fifty_unless_told_otherwise(analyst: Household, told: Told) -> None:
    assert len(ask(analyst, "/insights/sessions", range="90d")["rows"]) == 50
    assert len(ask(analyst, "/insights/sessions", range="90d", limit=7)["rows"]) == 7


@pytest.mark.parametrize(
    ("path", "query", "at_fault"),
    [
        ("/insights/sessions", {"range": "1y"}, "query.range"),
        ("/insights/overview", {"range": "1h"}, "query.range"),
        ("/insights/sessions", {"view": "angry"}, "query.view"),
        ("/insights/topics", {"sort": "name"}, "query.sort"),
        ("/insights/sessions", {"searchMiss": "x"}, "query.searchMiss"),
        ("/insights/overview", {"limit": "3"}, "query.limit"),
    ],
)
def test_what_is_not_known_is_refused(
    analyst: Household, path: str, query: dict[str, str], at_fault: str
) -> None:
    answer = analyst.call("GET", path, params=query)
    assert refusal(answer) == (422, "validation_failed")
    assert list(details(answer)) == [at_fault]


@pytest.mark.parametrize(
    ("path", "body", "at_fault"),
    [
        ("/insights/topics/", {"label": ""}, "$.label"),
        ("/insights/topics/", {"isUnmetDemand": True}, "$.isUnmetDemand"),
        ("/insights/topics/", {"archived": "yes"}, "$.archived"),
        ("/insights/sessions/", {"flagged": 1}, "$.flagged"),
        ("/insights/sessions/", {}, "$.flagged"),
    ],
)
def test_a_wrong_body_is_refused_field_by_field(
    analyst: Household, path: str, body: dict[str, Any], at_fault: str
) -> None:
    answer = analyst.call("PATCH", path + UNKNOWN, json=body)
    assert refusal(answer) == (422, "validation_failed")
    assert list(details(answer)) == [at_fault]


def test_an_organization_without_telemetry_has_an_empty_picture(analyst: Household) -> None:
    found = ask(analyst, "/insights/overview")
    assert found["range"] == "7d"
    assert found["kpis"]["sessions"] == {"value": 0, "previous": 0, "n": 0}
    assert found["kpis"]["script_success_rate"] == {"value": None, "previous": None, "n": 0}
    assert found["kpis"]["median_script_ms"] == {"value": None, "previous": None, "n": 0}
    assert (found["top_topics"], found["top_failed_searches"]) == ([], [])
    assert found["coverage"]["data_since"] is None
    for path in ("/insights/sessions", "/insights/topics", "/insights/searches"):
        assert ask(analyst, path) == {"rows": []}
