"""SQL for reading the audit log: what is asked of it in, a page of its events out.

Ids are in the order of time, so a range of time is a range of ids, and each filter has an index that ends
with the id: a page is read along it, and what fits is counted in it.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select

from ammeter.base.ids import first_id_at
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import unindexed
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.tables import audit_events
from ammeter.features.orgs.model import AuditEvent, AuditQuery

_e = audit_events.c
_SORTED_IN_MEMORY = 5_000
"""So many rows are sorted by time; of more, all are read in its order and the others passed over."""


def list_audit(tx: Tx, org_id: str | None, asked: AuditQuery, page: PageRequest) -> Page[AuditEvent]:
    """Without an organization, the whole server's."""
    where: list[ColumnElement[bool]] = [] if org_id is None else [_e.org_id == org_id]
    wanted = _wanted(tx, org_id, asked)
    if wanted:
        counts = {name: _some(tx, [*where, _e[name].in_(words)]) for name, words in wanted.items()}
        first = min(counts, key=lambda name: counts[name])
        for name, words in wanted.items():
            # SQLite, which does not know which of them leaves fewest rows, is left one index to take; none
            # where its rows would have to be sorted and are many.
            through = name == first and (len(words) == 1 or counts[name] <= _SORTED_IN_MEMORY)
            where.append((_e[name] if through else unindexed(tx, _e[name])).in_(words))
    if asked.since is not None:
        where.append(_e.id >= first_id_at(asked.since))
    if asked.until is not None:
        where.append(_e.id < first_id_at(asked.until))
    order = _e.id if asked.oldest_first else _e.id.desc()
    return fetch_page(
        tx, select(audit_events).where(*where).order_by(order), page, lambda row: AuditEvent(**row)
    )


def list_actions(tx: Tx, org_id: str) -> list[str]:
    """Each that the log has, once: read by leaps along the index, however often each is there."""
    mine = _e.org_id == org_id
    word = select(func.min(_e.action).label("word")).where(mine).cte("words", recursive=True)
    following = select(func.min(_e.action)).where(mine, _e.action > word.c.word).correlate(word)
    leaps = word.union_all(select(following.scalar_subquery()).where(word.c.word.is_not(None)))
    return list(tx.scalars(select(leaps.c.word).where(leaps.c.word.is_not(None)).order_by(leaps.c.word)))


def _wanted(tx: Tx, org_id: str | None, asked: AuditQuery) -> dict[str, list[str]]:
    """Column by column, the words that fit."""
    wanted = {"target": asked.target, "actor": asked.actor, "action": asked.action}
    found = {name: [word] for name, word in wanted.items() if word}
    if org_id is not None and asked.action.endswith("."):
        found["action"] = [each for each in list_actions(tx, org_id) if each.startswith(asked.action)]
    return found


def _some(tx: Tx, where: list[ColumnElement[bool]]) -> int:
    """How many rows fit, counted no further than is told apart here."""
    some = select(_e.id).where(*where).limit(_SORTED_IN_MEMORY + 1)
    return tx.scalar(select(func.count()).select_from(some.subquery())) or 0
