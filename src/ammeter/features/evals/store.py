"""SQL for runs, their events, evaluations and idempotency keys. Rows in, values out; no rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, delete, func, insert, select, update

from ammeter.base.ids import first_id_at
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import unindexed
from ammeter.engines.db.tables import jobs, run_evaluations, run_events, run_keys, runs
from ammeter.features.evals.events import Row, from_row, to_row
from ammeter.features.evals.model import Evaluation, Evidence, Mark, Run, RunQuery

_SORTED_BY: dict[str, Any] = {
    "score": runs.c.score,
    "durationMs": runs.c.duration_ms,
    "costUsd": runs.c.cost_usd,
}
_SORTED_IN_MEMORY = 5_000
"""Of so many rows the wanted ones are sorted out; of more, an index gives them in their order."""
_SEARCHED = 50_000
"""A search for words reads texts one by one: those of so many runs, the newest of the range."""
_OVER = ("succeeded", "failed", "cancelled")


def insert_run(tx: Tx, run: Run) -> None:
    tx.execute(insert(runs).values({**asdict(run), "tags": list(run.tags)}))


def update_run(tx: Tx, run_id: str, changes: Mapping[str, Any]) -> None:
    tx.execute(update(runs).where(runs.c.id == run_id).values(**changes))


def find_run(tx: Tx, run_id: str, *, org_id: str | None = None, lock: bool = False) -> Run | None:
    query = select(runs).where(runs.c.id == run_id)
    if org_id is not None:
        query = query.where(runs.c.org_id == org_id)
    row = tx.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    return _run(row) if row else None


def find_open_twin(tx: Tx, workflow_id: str, same_key: str) -> Run | None:
    query = (
        select(runs)
        .where(runs.c.workflow_id == workflow_id, runs.c.same_key == same_key, runs.c.status == "running")
        .order_by(runs.c.id.desc())
        .limit(1)
    )
    row = tx.execute(query).mappings().first()
    return _run(row) if row else None


def last_runs(tx: Tx, org_id: str, workflow_ids: Sequence[str]) -> dict[str, Run]:
    """The newest run of each workflow that has one."""
    found: dict[str, Run] = {}
    for workflow_id in workflow_ids:
        chosen = select(runs).where(runs.c.org_id == org_id, runs.c.workflow_id == workflow_id)
        row = tx.execute(chosen.order_by(runs.c.at.desc()).limit(1)).mappings().first()
        if row:
            found[workflow_id] = _run(row)
    return found


def list_ended(tx: Tx, workflow_id: str, *, org_id: str, limit: int) -> list[Run]:
    chosen = select(runs).where(
        runs.c.org_id == org_id, runs.c.workflow_id == workflow_id, runs.c.status != "running"
    )
    return [_run(row) for row in tx.execute(chosen.order_by(runs.c.at.desc()).limit(limit)).mappings()]


def search_runs(tx: Tx, org_id: str, asked: RunQuery, page: PageRequest) -> Page[Run]:
    if asked.search:
        asked = replace(asked, since=_searched_since(tx, org_id, asked.since))
    where = _where(org_id, asked)
    total = tx.scalar(select(func.count()).select_from(runs).where(*where)) or 0
    column = _SORTED_BY.get(asked.sort.removeprefix("-"))
    down = asked.sort.startswith("-")
    if column is None:
        order = (runs.c.at.desc(), runs.c.id.desc()) if down else (runs.c.at, runs.c.id)
        rows = _slice(tx, where, order, offset=page.offset, limit=page.page_size)
    else:
        if total > _SORTED_IN_MEMORY:
            where = _where(org_id, asked, lambda each: unindexed(tx, each))
        rows = _known_first(tx, where, column, down=down, page=page)
    return Page(rows=[_run(row) for row in rows], page=page.page, page_size=page.page_size, total=total)


def _searched_since(tx: Tx, org_id: str, since: datetime) -> datetime:
    chosen = select(runs.c.at).where(runs.c.org_id == org_id, runs.c.at >= since)
    bound: datetime | None = tx.scalar(chosen.order_by(runs.c.at.desc()).offset(_SEARCHED - 1).limit(1))
    return bound or since


def _known_first(
    tx: Tx, where: Sequence[ColumnElement[bool]], column: Any, *, down: bool, page: PageRequest
) -> list[RowMapping]:
    """Rows that have the value in its order, then those without: in two reads, each along an index, since the
    databases disagree about where a missing value sorts."""
    known = [*where, column.is_not(None)]
    order = (column.desc(), runs.c.at.desc(), runs.c.id) if down else (column, runs.c.at.desc(), runs.c.id)
    rows = _slice(tx, known, order, offset=page.offset, limit=page.page_size)
    if len(rows) < page.page_size:
        count = tx.scalar(select(func.count()).select_from(runs).where(*known)) or 0
        rest = _slice(
            tx,
            [*where, column.is_(None)],
            (runs.c.at.desc(), runs.c.id.desc()),
            offset=max(0, page.offset - count),
            limit=page.page_size - len(rows),
        )
        rows = [*rows, *rest]
    return rows


def _slice(
    tx: Tx, where: Sequence[ColumnElement[bool]], order: Sequence[Any], *, offset: int, limit: int
) -> list[RowMapping]:
    query: Select[Any] = select(runs).where(*where).order_by(*order).limit(limit).offset(offset)
    return list(tx.execute(query).mappings())


def _where(
    org_id: str, asked: RunQuery, looked_at: Callable[[Any], Any] = lambda column: column
) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [runs.c.org_id == org_id, looked_at(runs.c.at) >= asked.since]
    if asked.workflow_id is not None:
        where.append(looked_at(runs.c.workflow_id) == asked.workflow_id)
    if asked.status is not None:
        where.append(looked_at(runs.c.status) == asked.status)
    if asked.classification is not None:
        where.append(looked_at(runs.c.classification) == asked.classification)
    if asked.source_ids is not None:
        where.append(runs.c.source_id.in_(asked.source_ids))
    where += [
        runs.c.search_text.contains(word, autoescape=True) for word in asked.search.lower().split()[:10]
    ]
    return where


def read_events(tx: Tx, run_id: str) -> list[Row]:
    query = select(run_events).where(run_events.c.run_id == run_id).order_by(run_events.c.seq)
    return [
        Row(seq=row["seq"], at=row["at"], event=from_row(row["kind"], row["body"]))
        for row in tx.execute(query).mappings()
    ]


def append_events(tx: Tx, run_id: str, rows: Sequence[Row]) -> None:
    if rows:
        values = [
            {
                "run_id": run_id,
                "seq": row.seq,
                "at": row.at,
                **dict(zip(("kind", "body"), to_row(row.event), strict=True)),
            }
            for row in rows
        ]
        tx.execute(insert(run_events), values)


def insert_evaluation(tx: Tx, evaluation: Evaluation) -> None:
    body = asdict(evaluation)
    for name in ("run_id", "number", "judged_at"):
        body.pop(name)
    tx.execute(
        insert(run_evaluations).values(
            run_id=evaluation.run_id, number=evaluation.number, judged_at=evaluation.judged_at, body=body
        )
    )


def find_evaluation(tx: Tx, run_id: str) -> Evaluation | None:
    """The newest."""
    query = (
        select(run_evaluations)
        .where(run_evaluations.c.run_id == run_id)
        .order_by(run_evaluations.c.number.desc())
        .limit(1)
    )
    row = tx.execute(query).mappings().first()
    if row is None:
        return None
    body = dict(row["body"])
    marks = tuple(mark_of(mark) for mark in body.pop("marks"))
    warnings = tuple(body.pop("warnings"))
    return Evaluation(
        run_id=run_id,
        number=row["number"],
        judged_at=row["judged_at"],
        marks=marks,
        warnings=warnings,
        **body,
    )


def mark_of(body: Mapping[str, Any]) -> Mark:
    evidence = tuple(Evidence(**entry) for entry in body["evidence"])
    return Mark(**{**body, "evidence": evidence, "votes": tuple(body["votes"])})


def find_key(tx: Tx, workflow_id: str, key: str, *, since: datetime) -> str | None:
    """The run that a key stands for, where it was given since."""
    query = select(run_keys.c.run_id).where(
        run_keys.c.workflow_id == workflow_id,
        run_keys.c.idempotency_key == key,
        run_keys.c.created_at >= since,
    )
    found: str | None = tx.scalar(query)
    return found


def put_key(tx: Tx, workflow_id: str, key: str, run_id: str, at: datetime) -> None:
    same = (run_keys.c.workflow_id == workflow_id) & (run_keys.c.idempotency_key == key)
    tx.execute(delete(run_keys).where(same))
    tx.execute(
        insert(run_keys).values(workflow_id=workflow_id, idempotency_key=key, run_id=run_id, created_at=at)
    )


def prune_keys(tx: Tx, before: datetime) -> int:
    return tx.execute(delete(run_keys).where(run_keys.c.created_at < before)).rowcount


def prune_runs(tx: Tx, before: datetime, *, limit: int) -> int:
    """Ended runs from before, with their events and evaluations, oldest first; how many went."""
    old = (runs.c.id < first_id_at(before), runs.c.status != "running")
    ids = list(tx.scalars(select(runs.c.id).where(*old).order_by(runs.c.id).limit(limit)))
    for table in (run_events, run_evaluations):
        tx.execute(delete(table).where(table.c.run_id.in_(ids)))
    tx.execute(delete(runs).where(runs.c.id.in_(ids)))
    return len(ids)


def list_abandoned(tx: Tx, *, limit: int) -> list[str]:
    """Runs that are said to be running while no job of theirs is open."""
    query = (
        select(runs.c.id)
        .outerjoin(jobs, jobs.c.id == runs.c.job_id)
        .where(runs.c.status == "running", jobs.c.id.is_(None) | jobs.c.status.in_(_OVER))
        .limit(limit)
    )
    return list(tx.scalars(query))


def _run(row: RowMapping) -> Run:
    return Run(**{**row, "tags": tuple(row["tags"])})
