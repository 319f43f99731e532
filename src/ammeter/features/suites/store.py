"""SQL for suites and suite runs, and for the runs of these. Rows in, values out; no rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, delete, exists, insert, not_, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.ids import first_id_at
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.tables import runs, suite_cases, suite_runs, suites, workflows
from ammeter.features.evals.model import Run
from ammeter.features.suites.model import Gate, PlannedCase, Suite, SuiteCase, SuiteRun, SuiteStatus

_s, _r = suites.c, suite_runs.c


def insert_suite(tx: Tx, suite: Suite) -> bool:
    """Whether the name was free."""
    return _unless_taken(tx, insert(suites).values(_suite_row(suite))) and _put_cases(tx, suite)


def update_suite(tx: Tx, suite: Suite) -> bool:
    """Whether the name was free."""
    row = _suite_row(suite)
    if not _unless_taken(tx, update(suites).where(_s.id == row.pop("id")).values(row)):
        return False
    tx.execute(delete(suite_cases).where(suite_cases.c.suite_id == suite.id))
    return _put_cases(tx, suite)


def lock_suite(tx: Tx, suite_id: str) -> None:
    """Until the transaction ends nobody else changes the suite."""
    tx.execute(select(_s.id).where(_s.id == suite_id).with_for_update())


def find_suite(tx: Tx, org_id: str, suite_id: str) -> Suite | None:
    found = _suites(tx, [_s.org_id == org_id, _s.id == suite_id])
    return found[0] if found else None


def list_suites(tx: Tx, org_id: str, status: SuiteStatus = "active") -> list[Suite]:
    """By name."""
    return _suites(tx, [_s.org_id == org_id, _s.status == status])


def insert_suite_run(tx: Tx, suite_run: SuiteRun) -> bool:
    """Whether its idempotency key was free."""
    return _unless_taken(tx, insert(suite_runs).values({**asdict(suite_run), "cases": []}))


def set_cases(tx: Tx, suite_run_id: str, cases: Sequence[PlannedCase]) -> None:
    stored = [asdict(case) for case in cases]
    tx.execute(update(suite_runs).where(_r.id == suite_run_id).values(cases=stored))


def set_cancelled(tx: Tx, suite_run_id: str, at: datetime) -> None:
    tx.execute(update(suite_runs).where(_r.id == suite_run_id).values(cancelled_at=at))


def find_suite_run(tx: Tx, suite_run_id: str, *, org_id: str | None = None) -> SuiteRun | None:
    query = select(suite_runs).where(_r.id == suite_run_id)
    if org_id is not None:
        query = query.where(_r.org_id == org_id)
    row = tx.execute(query).mappings().one_or_none()
    return _suite_run(row) if row else None


def find_by_key(tx: Tx, org_id: str, key: str) -> SuiteRun | None:
    query = select(suite_runs).where(_r.org_id == org_id, _r.idempotency_key == key)
    row = tx.execute(query).mappings().one_or_none()
    return _suite_run(row) if row else None


def free_key(tx: Tx, suite_run_id: str) -> None:
    tx.execute(update(suite_runs).where(_r.id == suite_run_id).values(idempotency_key=None))


def list_suite_runs(
    tx: Tx,
    org_id: str,
    page: PageRequest,
    *,
    suite_id: str | None = None,
    source_ids: Collection[str] | None = None,
) -> Page[SuiteRun]:
    """Newest first. With `source_ids`, those that touch no other source."""
    where: list[ColumnElement[bool]] = [_r.org_id == org_id]
    if suite_id is not None:
        where.append(_r.suite_id == suite_id)
    if source_ids is not None:
        elsewhere = exists().where(runs.c.suite_run_id == _r.id, runs.c.source_id.not_in(source_ids))
        where.append(not_(elsewhere))
    return fetch_page(tx, select(suite_runs).where(*where).order_by(_r.id.desc()), page, _suite_run)


def runs_of(tx: Tx, suite_run_ids: Sequence[str]) -> dict[str, list[Run]]:
    """The runs of each suite run, in the order they were started."""
    found: dict[str, list[Run]] = defaultdict(list)
    query = select(runs).where(runs.c.suite_run_id.in_(suite_run_ids)).order_by(runs.c.id)
    for row in tx.execute(query).mappings():
        found[row["suite_run_id"]].append(Run(**{**row, "tags": tuple(row["tags"])}))
    return found


def prune_suite_runs(tx: Tx, before: datetime, *, limit: int) -> int:
    """Suite runs from before, unless a run of theirs is under way, oldest first; how many went."""
    under_way = exists().where(runs.c.suite_run_id == _r.id, runs.c.status == "running")
    old = select(_r.id).where(_r.id < first_id_at(before), not_(under_way)).order_by(_r.id).limit(limit)
    ids = list(tx.scalars(old))
    tx.execute(delete(suite_runs).where(_r.id.in_(ids)))
    return len(ids)


def _unless_taken(tx: Tx, statement: Any) -> bool:
    try:
        with tx.begin_nested():
            tx.execute(statement)
    except IntegrityError:
        return False
    return True


def _put_cases(tx: Tx, suite: Suite) -> bool:
    rows = [
        {"suite_id": suite.id, "position": place, "workflow_id": case.workflow_id}
        for place, case in enumerate(suite.cases)
    ]
    if rows:
        tx.execute(insert(suite_cases), rows)
    return True


def _suites(tx: Tx, where: Sequence[ColumnElement[bool]]) -> list[Suite]:
    found = tx.execute(select(suites).where(*where).order_by(_s.name, _s.id)).mappings().all()
    w = workflows.c
    query = (
        select(suite_cases.c.suite_id, w.id, w.name, w.status, w.source_id)
        .join(workflows, w.id == suite_cases.c.workflow_id)
        .where(suite_cases.c.suite_id.in_([row["id"] for row in found]))
        .order_by(suite_cases.c.suite_id, suite_cases.c.position)
    )
    cases: dict[str, list[SuiteCase]] = defaultdict(list)
    for suite_id, workflow_id, name, status, source_id in tx.execute(query):
        case = SuiteCase(workflow_id=workflow_id, name=name, status=status, source_id=source_id)
        cases[suite_id].append(case)
    return [Suite(**{**row, "gate": Gate(**row["gate"]), "cases": tuple(cases[row["id"]])}) for row in found]


def _suite_row(suite: Suite) -> dict[str, Any]:
    row = asdict(suite)
    del row["cases"]
    return row


def _suite_run(row: RowMapping | Mapping[Any, Any]) -> SuiteRun:
    cases = tuple(PlannedCase(**case) for case in row["cases"])
    return SuiteRun(**{**row, "gate": Gate(**row["gate"]), "cases": cases})
