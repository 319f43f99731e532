"""SQL for runs, their events, evaluations and idempotency keys. Rows in, values out; no rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import RowMapping, bindparam, delete, insert, select, update

from ammeter.base.ids import first_id_at
from ammeter.engines.db.bulk import Bulk, column_names
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import jobs, run_evaluations, run_events, run_keys, runs
from ammeter.features.evals import count_store
from ammeter.features.evals.events import Row, from_row, to_row
from ammeter.features.evals.model import Evaluation, Evidence, Mark, Run

_COUNTED_BY = {"at", "status", "classification"}
_ONE_RUN = update(runs).where(runs.c.id == bindparam("run"))
_COUNTED = (
    select(*(runs.c[name] for name in count_store.TOLD_BY))
    .where(runs.c.id == bindparam("run"))
    .with_for_update()
)
_run_values = attrgetter(*column_names(runs))
_INSERT_RUN = Bulk(column_names(runs), lambda _: insert(runs))
_INSERT_EVENTS = Bulk(column_names(run_events), lambda _: insert(run_events))
_INSERT_EVALUATION = Bulk(column_names(run_evaluations), lambda _: insert(run_evaluations))
_OVER = ("succeeded", "failed", "cancelled")


def insert_run(tx: Tx, run: Run) -> None:
    _INSERT_RUN.run(tx, [_run_values(run)])
    place = count_store.place_of({name: getattr(run, name) for name in count_store.TOLD_BY})
    count_store.add(tx, {place: 1})


def update_run(tx: Tx, run_id: str, changes: Mapping[str, Any]) -> None:
    moved: Counter[count_store.Place] = Counter()
    if _COUNTED_BY & changes.keys():
        row = tx.execute(_COUNTED, {"run": run_id}).mappings().one_or_none()
        if row is not None:
            moved[count_store.place_of(row)] -= 1
            moved[count_store.place_of({**row, **changes})] += 1
    tx.execute(_ONE_RUN, {**changes, "run": run_id})
    count_store.add(tx, moved)


def find_run(tx: Tx, run_id: str, *, org_id: str | None = None, lock: bool = False) -> Run | None:
    query = select(runs).where(runs.c.id == run_id)
    if org_id is not None:
        query = query.where(runs.c.org_id == org_id)
    row = tx.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    return run_of(row) if row else None


def find_open_twin(tx: Tx, workflow_id: str, same_key: str) -> Run | None:
    query = (
        select(runs)
        .where(runs.c.workflow_id == workflow_id, runs.c.same_key == same_key, runs.c.status == "running")
        .order_by(runs.c.id.desc())
        .limit(1)
    )
    row = tx.execute(query).mappings().first()
    return run_of(row) if row else None


def last_runs(tx: Tx, org_id: str, workflow_ids: Sequence[str]) -> dict[str, Run]:
    """The newest run of each workflow that has one."""
    found: dict[str, Run] = {}
    for workflow_id in workflow_ids:
        chosen = select(runs).where(runs.c.org_id == org_id, runs.c.workflow_id == workflow_id)
        row = tx.execute(chosen.order_by(runs.c.at.desc()).limit(1)).mappings().first()
        if row:
            found[workflow_id] = run_of(row)
    return found


def list_ended(tx: Tx, workflow_id: str, *, org_id: str, limit: int) -> list[Run]:
    chosen = select(runs).where(
        runs.c.org_id == org_id, runs.c.workflow_id == workflow_id, runs.c.status != "running"
    )
    return [run_of(row) for row in tx.execute(chosen.order_by(runs.c.at.desc()).limit(limit)).mappings()]


def read_events(tx: Tx, run_id: str) -> list[Row]:
    query = select(run_events).where(run_events.c.run_id == run_id).order_by(run_events.c.seq)
    return [
        Row(seq=row["seq"], at=row["at"], event=from_row(row["kind"], row["body"]))
        for row in tx.execute(query).mappings()
    ]


def append_events(tx: Tx, run_id: str, rows: Sequence[Row]) -> None:
    _INSERT_EVENTS.run(tx, [(run_id, row.seq, row.at, *to_row(row.event)) for row in rows])


def insert_evaluation(tx: Tx, evaluation: Evaluation) -> None:
    body = asdict(evaluation)
    place = tuple(body.pop(name) for name in ("run_id", "number", "judged_at"))
    _INSERT_EVALUATION.run(tx, [(*place, body)])


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
    gone = tx.execute(select(runs).where(*old).order_by(runs.c.id).limit(limit)).mappings().all()
    ids = [row["id"] for row in gone]
    for table in (run_events, run_evaluations):
        tx.execute(delete(table).where(table.c.run_id.in_(ids)))
    tx.execute(delete(runs).where(runs.c.id.in_(ids)))
    counted = Counter(count_store.place_of(row) for row in gone)
    count_store.add(tx, {place: -count for place, count in counted.items()})
    count_store.prune(tx, before)
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


def run_of(row: RowMapping) -> Run:
    return Run(**{**row, "tags": tuple(row["tags"])})
