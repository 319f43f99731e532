"""`GET /runs`: every filter, every sort, pages that fit together, on both databases alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.features.evals import history, store
from ammeter.features.evals.model import Range, Run
from ammeter.features.orgs import keys
from ammeter.features.orgs.model import Role
from tests.evaluating import add_source, create, plan, step
from tests.household import OPERATOR, Household, details

PROMPT = plan(step("list_notes"))


@pytest.fixture
def runs(tenant: Household) -> list[Run]:
    """Twelve runs of two workflows: every third without score, one each hour, two of them days old."""
    source = add_source(tenant.house, tenant.org.id, "https://notes.example/mcp")
    ids = [create(tenant, source, PROMPT, name=name)["workflow"]["id"] for name in ("Alpha", "Beta 100%")]
    with tenant.house.db.write() as tx:
        [first] = [store.last_runs(tx, tenant.org.id, [workflow_id])[workflow_id] for workflow_id in ids[:1]]
        second = store.last_runs(tx, tenant.org.id, [ids[1]])[ids[1]]
        for run in (first, second):
            store.update_run(tx, run.id, {"at": now() - timedelta(days=40)})
        made = [_variant(first if i % 2 else second, i) for i in range(12)]
        for run in made:
            store.insert_run(tx, run)
    return made


def _variant(run: Run, i: int) -> Run:
    known = i % 3 != 0
    at = now() - (timedelta(hours=i) if i < 10 else timedelta(days=i - 7))
    return replace(
        run,
        id=new_id(),
        at=at,
        started_at=at if known else None,
        status=("pass", "fail", "partial")[i % 3],
        classification="none" if i % 2 else "criteria_failed",
        score=(i * 7 % 12) / 12 if known else None,
        duration_ms=i * 5 % 12 if known else None,
        cost_usd=float(i * 11 % 12) if known else None,
        reason=f"build {i}",
        search_text=f"{run.workflow_name} build {i} openai/gpt".lower(),
    )


def ids_of(tenant: Household, query: str) -> list[str]:
    answer = tenant.call("GET", f"/runs?{query}")
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()["rows"]]


def newest_first(runs: list[Run]) -> list[str]:
    return [run.id for run in sorted(runs, key=lambda run: run.at, reverse=True)]


def test_ranges(tenant: Household, runs: list[Run]) -> None:
    assert ids_of(tenant, "") == newest_first(runs[:10])
    assert ids_of(tenant, "range=7d") == newest_first(runs)
    assert ids_of(tenant, "range=30d&sort=startedAt") == newest_first(runs)[::-1]


def test_filters(tenant: Household, runs: list[Run]) -> None:
    workflow = runs[0].workflow_id
    mine = [run for run in runs[:10] if run.workflow_id == workflow]
    assert ids_of(tenant, f"workflowId={workflow}") == newest_first(mine)
    assert ids_of(tenant, "workflowId=none") == []
    assert ids_of(tenant, "status=fail") == newest_first([r for r in runs[:10] if r.status == "fail"])
    none = [run for run in runs[:10] if run.classification == "none"]
    assert ids_of(tenant, "classification=none") == newest_first(none)
    both = [run for run in none if run.status == "pass"]
    assert ids_of(tenant, "classification=none&status=pass") == newest_first(both)


def test_search_takes_every_word_as_it_is(tenant: Household, runs: list[Run]) -> None:
    assert ids_of(tenant, "search=BUILD+4") == [runs[4].id]
    beta = newest_first([run for run in runs[:10] if run.workflow_name == "Beta 100%"])
    assert ids_of(tenant, "search=beta") == beta
    assert ids_of(tenant, "search=100%25") == beta
    assert ids_of(tenant, "search=10%25%25") == []
    assert ids_of(tenant, "search=bu_ld") == []


@pytest.mark.parametrize(
    ("word", "column"), [("score", "score"), ("durationMs", "duration_ms"), ("costUsd", "cost_usd")]
)
def test_sorts_put_rows_without_the_value_last(
    tenant: Household, runs: list[Run], word: str, column: str
) -> None:
    known = [run for run in runs if getattr(run, column) is not None]
    unknown = newest_first([run for run in runs if getattr(run, column) is None])
    up = [run.id for run in sorted(known, key=lambda run: getattr(run, column))]
    assert ids_of(tenant, f"range=30d&sort={word}") == up + unknown
    assert ids_of(tenant, f"range=30d&sort=-{word}") == up[::-1] + unknown
    paged = [
        run_id
        for page in (1, 2, 3)
        for run_id in ids_of(tenant, f"range=30d&sort={word}&pageSize=5&page={page}")
    ]
    assert paged == up + unknown


def test_pages(tenant: Household, runs: list[Run]) -> None:
    answer: dict[str, Any] = tenant.call("GET", "/runs?range=7d&pageSize=5&page=2").json()
    assert {name: answer[name] for name in ("page", "pageSize", "total", "hasMore")} == {
        "page": 2,
        "pageSize": 5,
        "total": 12,
        "hasMore": True,
    }
    assert [row["id"] for row in answer["rows"]] == newest_first(runs)[5:10]
    last: dict[str, Any] = tenant.call("GET", "/runs?range=7d&pageSize=5&page=3").json()
    assert (len(last["rows"]), last["hasMore"]) == (2, False)


@pytest.mark.parametrize("within", ["24h", "7d", "30d"])
@pytest.mark.parametrize("status", ["", "pass", "fail", "running"])
@pytest.mark.parametrize("classification", ["", "none"])
def test_totals_and_pages_of_every_filter(
    tenant: Household, runs: list[Run], within: Range, status: str, classification: str
) -> None:
    since = now() - history.RANGES[within]
    wanted = newest_first(
        [
            run
            for run in runs
            if run.at >= since
            and status in ("", run.status)
            and classification in ("", run.classification)
            and run.workflow_id == runs[0].workflow_id
        ]
    )
    query = f"range={within}&workflowId={runs[0].workflow_id}"
    query += f"&status={status}" if status else ""
    query += f"&classification={classification}" if classification else ""
    for sort, expected in (("-startedAt", wanted), ("startedAt", wanted[::-1])):
        for size in (1, 3):
            for page in range(1, len(wanted) // size + 3):
                asked = f"/runs?{query}&sort={sort}&pageSize={size}&page={page}"
                answer = tenant.call("GET", asked).json()
                assert [row["id"] for row in answer["rows"]] == expected[(page - 1) * size : page * size]
                assert answer["total"] == len(wanted)


def test_a_search_counts_what_it_does_not_show(tenant: Household, runs: list[Run]) -> None:
    for page, size, shown in ((1, 4, 4), (3, 4, 2), (4, 4, 0), (2, 5, 5), (3, 5, 0), (1, 20, 10)):
        for sort in ("-startedAt", "score"):
            answer = tenant.call("GET", f"/runs?search=build&pageSize={size}&page={page}&sort={sort}").json()
            assert (len(answer["rows"]), answer["total"]) == (shown, 10), (page, size, sort)


def test_a_key_of_some_sources_counts_only_theirs(tenant: Household, runs: list[Run]) -> None:
    other = add_source(tenant.house, tenant.org.id, "https://other.example/mcp")
    create(tenant, other, PROMPT, name="Gamma")
    with tenant.house.db.write() as tx:
        _, token = keys.mint_key(
            tx, OPERATOR, tenant.org.id, name="one", role=Role.viewer, source_ids=[other.id]
        )
    limited = {"authorization": f"Bearer {token}"}
    assert tenant.call("GET", "/runs?range=30d", headers=limited).json()["total"] == 1
    assert tenant.call("GET", "/runs?range=30d").json()["total"] == 13


@pytest.mark.parametrize(
    "query",
    ["range=90d", "status=passed", "classification=x", "sort=name", "page=0", "pageSize=201", "limit=5"],
)
def test_unknown_words_are_refused(tenant: Household, query: str) -> None:
    answer = tenant.call("GET", f"/runs?{query}")
    assert answer.status_code == 422
    assert list(details(answer)) == [f"query.{query.partition('=')[0]}"]


def test_statistics_of_a_workflow(tenant: Household, runs: list[Run]) -> None:
    [row] = tenant.call("GET", f"/workflows/{runs[1].workflow_id}/statistics").json()["rows"]
    assert (row["modelId"], row["runs"], row["passed"]) == ("builtin/scripted", 6, 2)
    assert row["passRate"] == pytest.approx(1 / 3)
    assert row["interval"] == pytest.approx([0.0968, 0.7000], abs=1e-3)
    assert row["passHat"]["1"] == pytest.approx(1 / 3)
    assert row["passHat"]["2"] == pytest.approx(1 / 15)
    assert row["passHat"]["3"] == 0
