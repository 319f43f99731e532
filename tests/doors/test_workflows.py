"""`/workflows` at the door: what is made, changed, archived, dispatched, and what is refused and why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ammeter.features.orgs import service as orgs
from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.evaluating import add_source, create, list_runs, plan, step
from tests.household import OPERATOR, Household, details, refusal
from tests.server import until

PROMPT = plan(step("list_notes"))


@pytest.fixture
def source(tenant: Household) -> Source:
    return add_source(
        tenant.house, tenant.org.id, "https://notes.example/mcp", categories=("crm", "payments")
    )


def refused(tenant: Household, source: Source, **fields: Any) -> tuple[str, dict[str, str]]:
    body = {"name": "x", "mcpServerId": source.id, "testerPrompt": PROMPT} | fields
    answer = tenant.call("POST", "/workflows", json=body)
    assert answer.status_code == 422, answer.text
    return refusal(answer)[1], details(answer)


def test_a_workflow_is_made_read_and_listed(tenant: Household, source: Source) -> None:
    made = create(
        tenant,
        source,
        PROMPT,
        description="Smoke",
        criteria=[{"criterionText": "It works", "isRequired": True}],
        schedule={"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
        limits={"maxTurns": 5},
        toolPolicy={"readOnly": True},
        metadata={"team": "notes"},
    )
    assert set(made) == {"workflow", "currentVersion", "initialDispatch"}
    assert made["workflow"]["name"] == "Notes work"
    assert made["initialDispatch"] == {"queued": 1, "failed": 0}
    record = tenant.call("GET", f"/workflows/{made['workflow']['id']}", Role.viewer).json()
    version = record["currentVersion"]
    assert (record["status"], record["mcpServerId"], record["categories"]) == (
        "active",
        source.id,
        ["crm", "payments"],
    )
    assert (version["id"], version["number"]) == (made["currentVersion"]["id"], 1)
    assert version["testerTargets"] == [
        {"modelId": "builtin/scripted", "skillMode": "none", "skillVersionId": None}
    ]
    assert version["limits"] == {
        "maxTurns": 5,
        "maxToolCalls": 50,
        "maxDurationSeconds": 300,
        "maxCostUsd": 1.0,
        "maxOutputTokens": 8192,
    }
    assert version["retryPolicy"]["maxAttempts"] == 2
    assert version["toolPolicy"] == {"allow": None, "deny": [], "readOnly": True}
    assert record["schedule"]["cron"] == "0 9 * * 1-5"
    assert record["lastRun"]["status"] == "running"
    assert tenant.call("GET", "/workflows").json()["rows"] == [record]
    for query, found in (
        ("category=crm", 1),
        ("category=x,payments", 1),
        ("categorySlug=crm", 1),
        ("category=x", 0),
    ):
        assert len(tenant.call("GET", f"/workflows?{query}").json()["rows"]) == found, query


def test_each_change_writes_a_version_and_keeps_what_it_does_not_name(
    tenant: Household, source: Source
) -> None:
    made = create(tenant, source, PROMPT, criteria=[{"criterionText": "A"}, {"criterionText": "B"}])
    path = f"/workflows/{made['workflow']['id']}"
    before = tenant.call("GET", path).json()
    renamed = tenant.call("PATCH", path, json={"name": "Other"}).json()
    assert (renamed["name"], renamed["currentVersion"]["number"]) == ("Other", 2)
    assert renamed["currentVersion"]["criteria"] == before["currentVersion"]["criteria"]
    scheduled = tenant.call("PATCH", path, json={"schedule": {"everyMinutes": 60}}).json()
    assert (scheduled["schedule"]["everyMinutes"], scheduled["currentVersion"]["number"]) == (60, 3)
    by_hand = tenant.call("PATCH", path, json={"schedule": None}).json()
    assert (by_hand["schedule"], by_hand["currentVersion"]["number"]) == (None, 4)
    kept = tenant.call(
        "PATCH", path, json={"criteria": [{"criterionText": "B"}, {"criterionText": "C"}]}
    ).json()
    ids = {c["criterionText"]: c["id"] for c in before["currentVersion"]["criteria"]}
    assert kept["currentVersion"]["criteria"][0]["id"] == ids["B"]
    assert tenant.call("PATCH", path, json={}).json()["currentVersion"]["number"] == 6
    [run] = list_runs(tenant, made["workflow"]["id"])
    assert run["workflowVersionId"] == made["currentVersion"]["id"]


def test_archived_workflows_keep_their_runs_and_start_no_more(tenant: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT, schedule={"everyMinutes": 5})
    path = f"/workflows/{made['workflow']['id']}"
    assert tenant.call("DELETE", path).json() == {"ok": True}
    assert tenant.call("DELETE", path).json() == {"ok": True}
    assert tenant.call("GET", "/workflows").json()["rows"] == []
    assert tenant.call("GET", path).json()["status"] == "archived"
    assert len(list_runs(tenant, made["workflow"]["id"])) == 1
    assert refusal(tenant.call("POST", f"{path}/runs", json={})) == (409, "conflict")
    assert refusal(tenant.call("PATCH", path, json={"name": "x"})) == (409, "conflict")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"criteria": [{"criterionText": "x", "isRequired": "yes"}]}, "$.criteria[0].isRequired"),
        ({"criteria": [{"criterionText": "x", "txt": "y"}]}, "$.criteria[0].txt"),
        ({"testerPromt": "x"}, "$.testerPromt"),
        ({"limits": {"maxTurns": 0}}, "$.limits.maxTurns"),
        ({"limits": {"maxTurn": 1}}, "$.limits.maxTurn"),
        ({"retryPolicy": {"maxAttempts": 6}}, "$.retryPolicy.maxAttempts"),
        ({"retryPolicy": {"retryOn": ["criteria"]}}, "$.retryPolicy.retryOn[0]"),
        ({"toolPolicy": {"allow": "x"}}, "$.toolPolicy.allow"),
        ({"schedule": {"everyMinutes": 4}}, "$.schedule.everyMinutes"),
        ({"schedule": {"cron": "* * * * *"}}, "$.schedule.cron"),
        ({"schedule": {"cron": "nonsense"}}, "$.schedule.cron"),
        ({"schedule": {"cron": "0 9 * * *", "timezone": "Mars/Base"}}, "$.schedule.timezone"),
        ({"schedule": {}}, "$.schedule"),
        ({"mcpServerId": "0197aaaa-0000-7000-8000-000000000000"}, "$.mcpServerId"),
        ({"defaultMcpAuthProfileId": "none"}, "$.defaultMcpAuthProfileId"),
        ({"testerPrompt": "x" * 32_001}, "$.testerPrompt"),
        ({"testerPrompt": "a\0b"}, "$.testerPrompt"),
        ({"metadata": {"a": ["\0"]}}, "$.metadata.a[0]"),
        ({"testerTargets": [{"modelId": "builtin/scripted", "skillMode": "pinned"}]}, "$.testerTargets[0]"),
        ({"testerModelId": "a/b", "testerModelIds": ["c/d"]}, "$.testerModelId"),
        ({"testerModelIds": ["a/b"], "testerTargets": [{"modelId": "c/d"}]}, "$.testerModelIds"),
        (
            {"criteria": [{"criterionText": "x", "assertion": {"kind": "tool_called"}}]},
            "$.criteria[0].assertion",
        ),
        (
            {"criteria": [{"criterionText": "x", "assertion": {"kind": "max_tool_calls", "value": "3"}}]},
            "$.criteria[0].assertion",
        ),
        (
            {
                "criteria": [
                    {"criterionText": "x", "assertion": {"kind": "final_answer_matches", "pattern": "("}}
                ]
            },
            "$.criteria[0].assertion",
        ),
    ],
)
def test_wrong_fields_are_refused_with_their_place(
    tenant: Household, source: Source, fields: dict[str, Any], path: str
) -> None:
    code, told = refused(tenant, source, **fields)
    assert code == "validation_failed"
    assert list(told) == [path]


def test_models_are_merged_and_the_first_is_the_default(tenant: Household, source: Source) -> None:
    metadata = {"replayRunId": "0197aaaa-0000-7000-8000-000000000000"}
    made = create(
        tenant,
        source,
        PROMPT,
        testerModelId="builtin/replay",
        testerModelIds=["builtin/scripted", "builtin/replay"],
        metadata=metadata,
    )
    assert made["initialDispatch"]["queued"] == 2
    record = tenant.call("GET", f"/workflows/{made['workflow']['id']}").json()
    targets = record["currentVersion"]["testerTargets"]
    assert [target["modelId"] for target in targets] == ["builtin/replay", "builtin/scripted"]
    sent = tenant.call("POST", f"/workflows/{made['workflow']['id']}/runs", json={"forceNewRun": True}).json()
    assert [run["modelId"] for run in sent["runs"]] == ["builtin/replay"]
    both = {"testerTargets": [{"modelId": "builtin/scripted"}, {"modelId": "builtin/replay"}]}
    sent = tenant.call(
        "POST", f"/workflows/{made['workflow']['id']}/runs", json=both | {"forceNewRun": True}
    ).json()
    assert len(set(sent["runIds"])) == 2
    wrong = tenant.call(
        "POST", f"/workflows/{made['workflow']['id']}/runs", json={"testerModelIds": ["openai/gpt-5"]}
    )
    assert list(details(wrong)) == ["$.testerModelIds[0]"]


def test_the_preflight_refuses_with_its_findings(tenant: Household, source: Source) -> None:
    code, told = refused(
        tenant, source, testerModelIds=["openai/gpt-5", "builtin/scripted"], testerPrompt="No plan."
    )
    assert code == "preflight_rejected"
    assert set(told) == {"$.testerTargets[0].modelId", "$.testerPrompt"}
    code, told = refused(tenant, source, testerPrompt="Delete all customers.\n" + PROMPT)
    assert (code, list(told)) == ("preflight_rejected", ["$.testerPrompt"])


def test_roles_and_strangers(tenant: Household, neighbour: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT)
    path = f"/workflows/{made['workflow']['id']}"
    [run] = list_runs(tenant, made["workflow"]["id"])
    body = {"name": "x", "mcpServerId": source.id, "testerPrompt": PROMPT}
    for method, where, sent in (
        ("POST", "/workflows", body),
        ("PATCH", path, {"name": "x"}),
        ("DELETE", path, None),
        ("POST", f"{path}/runs", {}),
        ("POST", f"/runs/{run['id']}/cancel", None),
        ("POST", f"/runs/{run['id']}/rejudge", None),
    ):
        answer = tenant.call(method, where, Role.viewer, json=sent)
        assert refusal(answer) == (403, "insufficient_role"), where
        assert tenant.call(method, "/workflows/none/runs", Role.viewer, json={}).status_code in (403, 405)
    for where in (path, f"{path}/statistics", f"/runs/{run['id']}", f"/runs/{run['id']}/trace", "/runs/none"):
        assert refusal(neighbour.call("GET", where)) == (404, "not_found")
    assert refusal(neighbour.call("PATCH", path, json={})) == (404, "not_found")
    assert neighbour.call("GET", "/runs").json()["total"] == 0
    assert "$.mcpServerId" in refused(neighbour, source)[1]


def test_equal_dispatches_give_one_run_unless_forced(tenant: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT)
    path = f"/workflows/{made['workflow']['id']}/runs"
    [initial] = list_runs(tenant, made["workflow"]["id"])
    same = tenant.call("POST", path, json={}).json()
    assert same["runs"] == [
        {"id": initial["id"], "modelId": "builtin/scripted", "status": "running", "deduplicated": True}
    ]
    other = tenant.call("POST", path, json={"baselineRunId": initial["id"], "reason": "compare"}).json()
    assert not other["runs"][0]["deduplicated"]
    forced = tenant.call("POST", path, json={"forceNewRun": True}).json()
    assert forced["runIds"][0] not in (initial["id"], other["runIds"][0])
    run = tenant.call("GET", f"/runs/{other['runIds'][0]}").json()
    assert (run["trigger"], run["tags"], run["reason"], run["baselineRunId"]) == (
        "ci",
        ["ci"],
        "compare",
        initial["id"],
    )
    assert tenant.call("GET", "/org").json()["usage"]["usedRuns"] == 3
    wrong = tenant.call("POST", path, json={"baselineRunId": "none"})
    assert list(details(wrong)) == ["$.baselineRunId"]
    empty = tenant.call("POST", path)
    assert empty.status_code == 202


def test_dispatches_with_one_key_at_the_same_moment_give_one_run(tenant: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT)
    path = f"/workflows/{made['workflow']['id']}/runs"
    body = {"idempotencyKey": "build-7", "forceNewRun": True}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: tenant.call("POST", path, json=body).json(), range(6)))
    assert len({run_id for answer in answers for run_id in answer["runIds"]}) == 1
    assert [answer["runs"][0]["deduplicated"] for answer in answers].count(False) == 1
    assert len(list_runs(tenant, made["workflow"]["id"])) == 2
    another = tenant.call("POST", path, json=body | {"idempotencyKey": "build-8"}).json()
    assert another["runIds"] != answers[0]["runIds"]


def test_equal_dispatches_at_the_same_moment_give_one_run(tenant: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT)
    [initial] = list_runs(tenant, made["workflow"]["id"])
    tenant.call("POST", f"/runs/{initial['id']}/cancel")
    path = f"/workflows/{made['workflow']['id']}/runs"
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: tenant.call("POST", path, json={}).json(), range(5)))
    assert len({run_id for answer in answers for run_id in answer["runIds"]}) == 1
    assert tenant.call("GET", "/org").json()["usage"]["usedRuns"] == 2


def test_included_runs_are_spent_and_then_refused(tenant: Household, source: Source) -> None:
    with tenant.house.db.write() as tx:
        orgs.set_included_runs(tx, OPERATOR, tenant.org, 2)
    made = create(tenant, source, PROMPT)
    path = f"/workflows/{made['workflow']['id']}/runs"
    assert tenant.call("POST", path, json={"forceNewRun": True}).status_code == 202
    assert refusal(tenant.call("POST", path, json={"forceNewRun": True})) == (402, "included_runs_exhausted")
    assert create(tenant, source, PROMPT)["initialDispatch"] == {"queued": 0, "failed": 1}
    assert tenant.call("POST", path, json={}).json()["runs"][0]["deduplicated"], (
        "an existing run costs nothing"
    )
    usage = tenant.call("GET", "/org").json()["usage"]
    assert (usage["usedRuns"], usage["remainingRuns"]) == (2, 0)
    assert len(list_runs(tenant, made["workflow"]["id"])) == 2


def test_an_organization_over_its_dispatch_rate_is_told_to_wait(tenant: Household, source: Source) -> None:
    made = create(tenant, source, PROMPT)
    path = f"/workflows/{made['workflow']['id']}/runs"
    assert [tenant.call("POST", path, json={}).status_code for _ in range(10)] == [202] * 10
    answers: list[Any] = []

    def is_limited() -> bool:
        answers.append(tenant.call("POST", path, json={}))
        return bool(answers[-1].status_code == 429)

    until(is_limited, "the burst is spent")
    assert refusal(answers[-1]) == (429, "rate_limited")
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert '"runs";q=10' in answers[-1].headers["ratelimit-policy"]
    assert tenant.call("GET", "/runs").status_code == 200
