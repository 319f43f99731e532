"""An organization in which there is one of everything that the API speaks of, and the ids of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ammeter.features.insights.refresh import refresh
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.evaluating import LOOPBACK, add_source, create, list_runs, plan, step, work_off
from tests.features.insights.stories import script, search, teller
from tests.household import OPERATOR, Household, make_client, make_household, make_settings, opened_house
from tests.notes_server import notes_server

CRITERIA: list[dict[str, Any]] = [
    {"criterionText": "A note is added", "assertion": {"kind": "tool_called", "tool": "add_note"}},
    {"criterionText": "It is found", "assertion": {"kind": "final_answer_contains", "text": "eggs"}},
    {"criterionText": "All is well"},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inhabited:
    token: str
    """Of the owner."""
    source_id: str
    spare_source_id: str
    """To be changed and archived."""
    skill_version_id: str
    workflow_id: str
    spare_workflow_id: str
    """To be archived."""
    judged_run_id: str
    """Ended, with a baseline to compare it with."""
    waiting_run_id: str
    suite_id: str
    spare_suite_id: str
    """To be archived."""
    topic_id: str
    cluster_id: str
    session_id: str


def inhabit(database_url: str, folder: Path) -> Inhabited:
    """For a server that is started afterwards."""
    settings = make_settings(database_url, folder, **LOOPBACK)
    with opened_house(settings) as house, make_client(house) as client, notes_server() as notes:
        household = make_household(house, client)
        with house.db.write() as tx:
            service.set_features(tx, OPERATOR, household.org, mcp_analytics=True)
        source, spare = (add_source(house, household.org.id, notes.url) for _ in range(2))
        return Inhabited(
            token=household.tokens[Role.owner],
            source_id=source.id,
            spare_source_id=spare.id,
            **_evals(household, source),
            **_insights(household, source),
        )


def _evals(household: Household, source: Source) -> dict[str, str]:
    prompt = plan(step("add_note", title="milk", text="two litres"), answer="There is milk.")
    workflow, spare = (
        create(household, source, prompt, criteria=CRITERIA)["workflow"]["id"] for _ in range(2)
    )
    work_off(household)
    [baseline] = list_runs(household, workflow)
    path = f"/workflows/{workflow}/runs"
    [judged] = _ask(household, "POST", path, {"baselineRunId": baseline["id"]})["runIds"]
    work_off(household)
    [waiting] = _ask(household, "POST", path, {"forceNewRun": True})["runIds"]
    skill = {"name": "Notes", "text": "Look before you add."}
    version = _ask(household, "POST", f"/mcp-servers/{source.id}/skills", skill)
    suites = [
        _ask(household, "POST", "/suites", {"name": name, "caseIds": [workflow]})["id"]
        for name in ("Release", "Spare")
    ]
    return {
        "suite_id": suites[0],
        "spare_suite_id": suites[1],
        "skill_version_id": version["id"],
        "workflow_id": workflow,
        "spare_workflow_id": spare,
        "judged_run_id": judged,
        "waiting_run_id": waiting,
    }


def _insights(household: Household, source: Source) -> dict[str, str]:
    house = household.house
    told = teller(house.db, household.org.id, source.id)
    for number in range(4):
        told.session(
            search("gift card for a customer"),
            search("list orders", "listOrders"),
            script(f"Refund order {number} of a customer", "getOrder", frustration=8),
            script(f"Refund order {number} of a customer", outcome="error", error_message="no such order"),
        )
    refresh(house.db, house.blobs, household.org.id)
    topics, clusters, sessions = (
        _ask(household, "GET", f"/insights/{noun}")["rows"] for noun in ("topics", "searches", "sessions")
    )
    return {
        "topic_id": topics[0]["id"],
        "cluster_id": clusters[0]["id"],
        "session_id": sessions[0]["id"],
    }


def _ask(household: Household, method: str, path: str, body: Any = None) -> Any:
    answer = household.call(method, path, json=body)
    assert answer.is_success, answer.text
    return answer.json()
