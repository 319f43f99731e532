"""SQL behind the list of runs: a query and a page in, the page and how many there are in all out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Text, cast, func, select

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import unindexed
from ammeter.engines.db.tables import runs
from ammeter.features.evals import count_store
from ammeter.features.evals.count_store import Day
from ammeter.features.evals.model import Run, RunQuery
from ammeter.features.evals.store import run_of

_SORTED_BY: dict[str, Any] = {
    "score": runs.c.score,
    "durationMs": runs.c.duration_ms,
    "costUsd": runs.c.cost_usd,
}
_SORTED_IN_MEMORY = 5_000
"""Of so many rows the wanted ones are sorted out; of more, an index gives them in their order."""
_SEARCHED = 30_000
"""A search for words or tags reads texts one by one: those of so many runs, the newest of the range."""


@dataclass(frozen=True, slots=True)
class _Found:
    rows: Sequence[RowMapping]
    total: int


def search_runs(tx: Tx, org_id: str, asked: RunQuery, page: PageRequest) -> Page[Run]:
    column = _SORTED_BY.get(asked.sort.removeprefix("-"))
    if asked.search or asked.tags:
        asked = replace(asked, since=_searched_since(tx, org_id, asked.since))
        found = _searched(tx, org_id, asked, page, column)
    else:
        days = count_store.days(tx, org_id, asked)
        total = sum(day.count for day in days)
        if column is None:
            found = _Found(_from_days(tx, org_id, asked, page, days), total)
        else:
            found = _Found(_by_value(tx, org_id, asked, page, column, total), total)
    rows = [run_of(row) for row in found.rows]
    return Page(rows=rows, page=page.page, page_size=page.page_size, total=found.total)


def is_cut(tx: Tx, org_id: str, asked: RunQuery) -> bool:
    """Whether a search for words or tags leaves runs of the range out, since there are too many."""
    if not (asked.search or asked.tags):
        return False
    return sum(day.count for day in count_store.days(tx, org_id, RunQuery(since=asked.since))) > _SEARCHED


def _searched(tx: Tx, org_id: str, asked: RunQuery, page: PageRequest, column: Any) -> _Found:
    """Texts are read twice, for the page and for the total, only where there is more than the page."""
    where = _where(org_id, asked)
    if column is None:
        order = _order(down=asked.sort.startswith("-"))
        rows = _slice(tx, where, order, offset=page.offset, limit=page.page_size)
        if len(rows) < page.page_size and (rows or page.offset == 0):
            return _Found(rows, page.offset + len(rows))
        return _Found(rows, _count(tx, where))
    total = _count(tx, where)
    return _Found(_by_value(tx, org_id, asked, page, column, total), total)


def _searched_since(tx: Tx, org_id: str, since: datetime) -> datetime:
    """When the oldest of the runs that are searched was; newer days are passed over by their counts."""
    asked, offset = RunQuery(since=since), _SEARCHED - 1
    where = _where(org_id, asked)
    for day in reversed(count_store.whole_days(tx, org_id, asked)):
        if day.count > offset:
            break
        offset -= day.count
        where = [*_where(org_id, asked), runs.c.at < day.since]
    bound: datetime | None = tx.scalar(
        select(runs.c.at).where(*where).order_by(runs.c.at.desc()).offset(offset).limit(1)
    )
    return bound or since


def _from_days(
    tx: Tx, org_id: str, asked: RunQuery, page: PageRequest, days: Sequence[Day]
) -> Sequence[RowMapping]:
    """Days that lie wholly before the page are passed over by their counts; where it is nearer to the other
    end of its day, it is read from there."""
    down, offset, size = asked.sort.startswith("-"), page.offset, page.page_size
    left = list(days if down else reversed(days))
    until: datetime | None = None
    while left and left[-1].count <= offset:
        passed = left.pop()
        offset -= passed.count
        until = passed.since
    if not left:
        return []
    day = left[-1]
    if not down:
        until = left[-2].since if len(left) > 1 else None
    since_day = _where(org_id, replace(asked, since=day.since))
    before = [] if until is None else [runs.c.at < until]
    if offset > day.count // 2 and offset + size <= day.count:
        from_end = day.count - offset - size
        return _slice(tx, [*since_day, *before], _order(down=not down), offset=from_end, limit=size)[::-1]
    where = [*_where(org_id, asked), *before] if down else since_day
    return _slice(tx, where, _order(down=down), offset=offset, limit=size)


def _by_value(
    tx: Tx, org_id: str, asked: RunQuery, page: PageRequest, column: Any, total: int
) -> Sequence[RowMapping]:
    """Rows that have the value in its order, then those without: in two reads, each along an index, since the
    databases disagree about where a missing value sorts."""
    if page.offset >= total:
        return []
    if total > _SORTED_IN_MEMORY:
        where = _where(org_id, asked, lambda each: unindexed(tx, each))
    else:
        where = _where(org_id, asked)
    known = [*where, column.is_not(None)]
    value = column.desc() if asked.sort.startswith("-") else column
    order = (value, runs.c.at.desc(), runs.c.id)
    rows = _slice(tx, known, order, offset=page.offset, limit=page.page_size)
    if len(rows) < page.page_size:
        without = _slice(
            tx,
            [*where, column.is_(None)],
            (runs.c.at.desc(), runs.c.id.desc()),
            offset=max(0, page.offset - _count(tx, known)),
            limit=page.page_size - len(rows),
        )
        rows = [*rows, *without]
    return rows


def _count(tx: Tx, where: Sequence[ColumnElement[bool]]) -> int:
    return tx.scalar(select(func.count()).select_from(runs).where(*where)) or 0


def _slice(
    tx: Tx, where: Sequence[ColumnElement[bool]], order: Sequence[Any], *, offset: int, limit: int
) -> list[RowMapping]:
    """Whole rows are read of the page only, and not of all that lies before it."""
    ids = list(tx.scalars(select(runs.c.id).where(*where).order_by(*order).limit(limit).offset(offset)))
    found = {row["id"]: row for row in tx.execute(select(runs).where(runs.c.id.in_(ids))).mappings()}
    return [found[run_id] for run_id in ids]


def _order(*, down: bool) -> Sequence[Any]:
    return (runs.c.at.desc(), runs.c.id.desc()) if down else (runs.c.at, runs.c.id)


def _where(
    org_id: str, asked: RunQuery, looked_at: Callable[[Any], Any] = lambda column: column
) -> list[ColumnElement[bool]]:
    words = asked.search.lower().split()[:10]
    return [
        *count_store.conditions(runs, org_id, asked, looked_at),
        looked_at(runs.c.at) >= asked.since,
        *(runs.c.search_text.contains(word, autoescape=True) for word in words),
        *map(_has_tag, asked.tags),
    ]


def _has_tag(tag: str) -> ColumnElement[bool]:
    """In the JSON with its quotes, so whole; not by LIKE, which on SQLite takes CI for ci."""
    stored = cast(runs.c.tags, Text)
    return func.replace(stored, json.dumps(tag), "") != stored
