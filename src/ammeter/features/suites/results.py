"""Suite runs as people look them up: what became of one, against its baseline or another, and lists."""

from __future__ import annotations

from dataclasses import replace

from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.evals import store as runs_store
from ammeter.features.evals.model import Evaluation
from ammeter.features.orgs.model import Actor
from ammeter.features.suites import store
from ammeter.features.suites.compare import compare_suites
from ammeter.features.suites.gate import result_of
from ammeter.features.suites.model import SuiteResult, SuiteRun

__all__ = ["get_result", "get_suite_run", "list_results", "result_of"]


def get_suite_run(tx: Tx, actor: Actor, org_id: str, suite_run_id: str) -> SuiteRun:
    found = store.find_suite_run(tx, suite_run_id, org_id=org_id) if is_id(suite_run_id) else None
    if found is None or not _may_see(actor, found):
        raise NotFound("suite run")
    return found


def get_result(
    tx: Tx, actor: Actor, org_id: str, suite_run_id: str, *, baseline_id: str | None = None
) -> SuiteResult:
    """What its runs tell at this moment, held against a baseline: the one that is named, else its own."""
    suite_run = get_suite_run(tx, actor, org_id, suite_run_id)
    result = _result(tx, suite_run)
    if baseline_id is not None:
        before = get_suite_run(tx, actor, org_id, baseline_id)
    else:
        own = suite_run.baseline_id
        found = store.find_suite_run(tx, own, org_id=org_id) if own is not None else None
        if found is None:
            return result
        before = found
    earlier = _result(tx, before)
    evaluations = _evaluations(tx, result) | _evaluations(tx, earlier)
    return replace(result, comparison=compare_suites(result, earlier, evaluations))


def list_results(
    tx: Tx, actor: Actor, org_id: str, page: PageRequest, *, suite_id: str | None = None
) -> Page[SuiteResult]:
    """Newest first, without comparisons."""
    found = store.list_suite_runs(tx, org_id, page, suite_id=suite_id, source_ids=actor.source_ids)
    runs = store.runs_of(tx, [one.id for one in found.rows])
    rows = [result_of(one, runs[one.id]) for one in found.rows]
    return Page(rows=rows, page=found.page, page_size=found.page_size, total=found.total)


def _result(tx: Tx, suite_run: SuiteRun) -> SuiteResult:
    return result_of(suite_run, store.runs_of(tx, [suite_run.id])[suite_run.id])


def _evaluations(tx: Tx, result: SuiteResult) -> dict[str, Evaluation]:
    """Of cases that were run once; of others no marks are compared."""
    ids = [case.runs[0].id for case in result.cases if len(case.runs) == 1]
    found = {run_id: runs_store.find_evaluation(tx, run_id) for run_id in ids}
    return {run_id: evaluation for run_id, evaluation in found.items() if evaluation is not None}


def _may_see(actor: Actor, suite_run: SuiteRun) -> bool:
    allowed = actor.source_ids
    return allowed is None or all(case.source_id in allowed for case in suite_run.cases)
