"""Runs as people look them up: one, many, their traces and evaluations; how reliably a workflow passes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.evals import list_store, store
from ammeter.features.evals.compare import Comparison, compare
from ammeter.features.evals.model import Evaluation, Range, Run, RunQuery, Statistics
from ammeter.features.evals.spans import CallRow, Span, calls_of, spans_of
from ammeter.features.orgs.model import Actor

RANGES: Mapping[Range, timedelta] = {
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
_LOOKED_AT = 200
_K = (1, 2, 3, 5, 10)
_Z = 1.959964
"""Of a 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    run: Run
    spans: Sequence[Span]
    calls: Sequence[CallRow]


def get_run(tx: Tx, actor: Actor, org_id: str, run_id: str, *, lock: bool = False) -> Run:
    run = store.find_run(tx, run_id, org_id=org_id, lock=lock) if is_id(run_id) else None
    if run is None or not (actor.source_ids is None or run.source_id in actor.source_ids):
        raise NotFound("run")
    return run


def search_runs(tx: Tx, actor: Actor, org_id: str, asked: RunQuery, page: PageRequest) -> Page[Run]:
    return list_store.search_runs(tx, org_id, replace(asked, source_ids=actor.source_ids), page)


def is_cut(tx: Tx, org_id: str, asked: RunQuery) -> bool:
    """Whether a search for words or tags looks through the newest runs of its range only."""
    return list_store.is_cut(tx, org_id, asked)


def since(word: Range) -> RunQuery:
    """A search of the newest so many hours or days."""
    return RunQuery(since=now() - RANGES[word])


def get_trace(tx: Tx, actor: Actor, org_id: str, run_id: str) -> Trace:
    run = get_run(tx, actor, org_id, run_id)
    spans = spans_of(run, store.read_events(tx, run.id))
    return Trace(run=run, spans=spans, calls=calls_of(spans))


def get_evaluation(tx: Tx, actor: Actor, org_id: str, run_id: str) -> tuple[Evaluation, Comparison | None]:
    """The newest judgement of an ended run, and how it compares with its baseline."""
    run = get_run(tx, actor, org_id, run_id)
    found = store.find_evaluation(tx, run.id)
    if found is None:
        raise NotFound(
            "evaluation", hint="The run has not ended yet; ask again once its status is not running."
        )
    baseline = store.find_evaluation(tx, run.baseline_run_id) if run.baseline_run_id else None
    return found, compare(found, baseline) if baseline else None


def statistics(tx: Tx, org_id: str, workflow_id: str) -> list[Statistics]:
    """Per target, over its newest ended runs; those that were never judged tell nothing and do not count."""
    by_model: dict[str, list[Run]] = defaultdict(list)
    for run in store.list_ended(tx, workflow_id, org_id=org_id, limit=_LOOKED_AT):
        if run.outcome != "Errored":
            by_model[run.model_id].append(run)
    return [statistics_of(model_id, runs) for model_id, runs in sorted(by_model.items())]


def statistics_of(model_id: str, runs: Sequence[Run]) -> Statistics:
    passed = sum(run.status == "pass" for run in runs)
    return Statistics(
        model_id=model_id,
        runs=len(runs),
        passed=passed,
        pass_rate=passed / len(runs),
        interval=wilson(passed, len(runs)),
        pass_at_k={k: pass_hat(passed, len(runs), k) for k in _K if k <= len(runs)},
    )


def wilson(passed: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share, honest also for few runs and for 0 and 1."""
    share, z2 = passed / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def pass_hat(passed: int, count: int, k: int) -> float:
    """pass^k: the chance that k runs, drawn from these without putting back, all passed."""
    return math.comb(passed, k) / math.comb(count, k)
