"""A batch of sessions becomes rows: their facts, the forms they use, and the topic or cluster of each form.

The books in memory move as forms join; what moved is stored in the transaction that stores the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ammeter.base.ids import new_id
from ammeter.engines.db.database import Tx
from ammeter.engines.search.embed import Floats
from ammeter.features.insights import refresh_store as store
from ammeter.features.insights.clusters import PARAPHRASE, place_searches
from ammeter.features.insights.day_sums import is_spread
from ammeter.features.insights.intents import VALUE, Form
from ammeter.features.insights.labels import label_of
from ammeter.features.insights.misses import SessionFacts
from ammeter.features.insights.refresh_store import ChangedSession, Row
from ammeter.features.insights.topics import Book, Centre
from ammeter.features.insights.vectors import from_bytes, to_bytes, vectors_of, width

MAX_CLUSTERS = 5_000
"""Of a source, in memory; a search that is like an older one begins a new cluster."""


@dataclass(slots=True, kw_only=True)
class Picture:
    """What a refresh holds in memory of an organization."""

    org_id: str
    topics: Book
    recurring: set[str]
    """Topics of one form each: nothing else joins them."""
    pool: dict[str, tuple[str, Floats]] = field(default_factory=dict)
    """Forms without a topic: text and vector by id."""
    clusters: dict[str, Book] = field(default_factory=dict)
    """By source, opened when one is needed."""
    touched: set[str] = field(default_factory=set)
    """Forms that were stated in this refresh."""


def open_picture(tx: Tx, org_id: str, pool_size: int) -> Picture:
    rows = store.open_topics(tx, org_id)
    pending = store.pending_forms(tx, org_id, limit=pool_size)
    vectors = vectors_of([spoken(text) for _, text in pending])
    return Picture(
        org_id=org_id,
        topics=Book(_centres(row for row in rows if row["kind"] == "demand"), width()),
        recurring={row["id"] for row in rows if row["kind"] == "recurring"},
        pool={form_id: (text, row) for (form_id, text), row in zip(pending, vectors, strict=True)},
    )


def spoken(text: str) -> str:
    return Form(text=text).spoken


def _centres(rows: Iterable[Mapping[str, Any]], radius: float | None = None) -> list[Centre]:
    found = []
    for row in rows:
        total = from_bytes(row["centre"])
        if total is not None:
            known = row["radius"] if radius is None else radius
            found.append(Centre(id=row["id"], total=total, members=row["members"], radius=known))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows to store, ready before the transaction begins."""

    sessions: Sequence[Row]
    intents: Sequence[Row]
    misses: Sequence[Row]
    shown: Sequence[Row]
    names: Sequence[Row]
    new_forms: Sequence[Row]
    seen_forms: Mapping[str, datetime]
    new_clusters: Sequence[Row]
    moved_topics: Sequence[Row]
    moved_clusters: Sequence[Row]


Facts = Sequence[tuple[ChangedSession, SessionFacts]]


def take_in(tx: Tx, picture: Picture, facts: Facts, settled: Mapping[str, bool], at: datetime) -> Batch:
    """`tx` reads what is known of the forms; nothing is written."""
    asked = _Forms(picture, "intent")
    missed = _Forms(picture, "query")
    for session, fact in facts:
        for one in fact.wanted:
            asked.add(picture.org_id, one.form, one.last_at)
        for miss in fact.misses:
            missed.add(session.source_id, miss.form, miss.at)
    asked.look_up(tx)
    missed.look_up(tx)
    _place_intents(picture, asked)
    new_clusters = _place_queries(tx, picture, missed, facts, at)
    return Batch(
        sessions=[
            {
                "session_id": session.id,
                "org_id": picture.org_id,
                "events": session.events,
                "settled": settled[session.id],
                "last_event_at": session.last_event_at,
            }
            for session, _ in facts
        ],
        intents=[row for session, fact in facts for row in _intent_rows(picture, asked, session, fact)],
        misses=[row for session, fact in facts for row in _miss_rows(picture, missed, session, fact)],
        shown=[row for session, fact in facts for row in _shown_rows(picture, session, fact)],
        names=[row for session, fact in facts for row in _name_rows(picture, session, fact)],
        new_forms=[*asked.new, *missed.new],
        seen_forms=asked.seen | missed.seen,
        new_clusters=new_clusters,
        moved_topics=_moved(picture.topics, {}, at),
        moved_clusters=[
            row
            for source_id, book in picture.clusters.items()
            for row in _moved(book, missed.last_of_group(source_id), at)
        ],
    )


class _Forms:
    """The forms of a batch: known ones as they are stored, the others as they will be."""

    def __init__(self, picture: Picture, kind: str) -> None:
        self._org_id = picture.org_id
        self._kind = kind
        self._given: dict[tuple[str, str], tuple[Form, datetime]] = {}
        self._rows: dict[tuple[str, str], Row] = {}
        self.new: list[Row] = []
        self.seen: dict[str, datetime] = {}

    def add(self, scope: str, form: Form, at: datetime) -> None:
        key = (scope, form.hash)
        old = self._given.get(key)
        self._given[key] = (form, at if old is None else max(at, old[1]))

    def look_up(self, tx: Tx) -> None:
        self._rows = store.find_forms(tx, self._org_id, self._kind, self._given)
        for (scope, hashed), (form, at) in self._given.items():
            known = self._rows.get((scope, hashed))
            if known is not None:
                self.seen[known["id"]] = at
                continue
            row = {
                "id": new_id(),
                "org_id": self._org_id,
                "kind": self._kind,
                "scope": scope,
                "hash": hashed,
                "text": form.text,
                "group_id": None,
                "last_seen": at,
            }
            self._rows[scope, hashed] = row
            self.new.append(row)

    def row(self, scope: str, form: Form) -> Row:
        return self._rows[scope, form.hash]

    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def last_of_group(self, scope: str) -> dict[str, datetime]:
        found: dict[str, datetime] = {}
        for (given_scope, hashed), (_, at) in self._given.items():
            if given_scope == scope:
                group = self._rows[given_scope, hashed]["group_id"]
                found[group] = max(at, found.get(group, at))
        return found


def _place_intents(picture: Picture, asked: _Forms) -> None:
    places = picture.topics.place(vectors_of([spoken(row["text"]) for row in asked.new]))
    for row, topic_id in zip(asked.new, places, strict=True):
        row["group_id"] = topic_id
    waiting = [row for row in asked.rows() if row["group_id"] is None and row["id"] not in picture.pool]
    for row, vector in zip(waiting, vectors_of([spoken(row["text"]) for row in waiting]), strict=True):
        # Stated again after so long that it had left the pool; what has no direction waits for ever.
        if vector.any():
            picture.pool[row["id"]] = (row["text"], vector)
    picture.touched.update(row["id"] for row in asked.rows())


def _place_queries(tx: Tx, picture: Picture, missed: _Forms, facts: Facts, at: datetime) -> list[Row]:
    environments = {session.source_id: session.environment for session, _ in facts}
    made: list[Row] = []
    for source_id in sorted({row["scope"] for row in missed.rows()}):
        book = picture.clusters.get(source_id)
        if book is None:
            rows = store.open_clusters(tx, source_id, limit=MAX_CLUSTERS)
            book = picture.clusters[source_id] = Book(_centres(rows, PARAPHRASE), width())
        open_forms = [row for row in missed.new if row["scope"] == source_id]
        vectors = vectors_of([spoken(row["text"]) for row in open_forms])
        placed = place_searches(book, vectors, new_id)
        centres = {centre.id: centre for centre in book.centres}
        for row, (cluster_id, is_new) in zip(open_forms, placed, strict=True):
            row["group_id"] = cluster_id
            if is_new:
                environment = environments[source_id]
                made.append(_cluster_row(row, source_id, environment, centres[cluster_id], at))
    return made


def _cluster_row(form: Row, source_id: str, environment: str, centre: Centre, at: datetime) -> Row:
    return {
        "id": centre.id,
        "org_id": form["org_id"],
        "source_id": source_id,
        "environment": environment,
        "label": cluster_label(form["text"]),
        "centre": to_bytes(centre.total),
        "members": centre.members,
        "gap_kind": None,
        "suggestion": {},
        "judged_by": None,
        "created_at": at,
        "last_seen": form["last_seen"],
    }


def cluster_label(form: str) -> str:
    """The search itself, as far as it is words."""
    text = " ".join(form.replace(VALUE, "…").split())[:80].strip()
    return text[:1].upper() + text[1:] if text.strip("… ") else label_of([], {}, 0)


def _moved(book: Book, last_seen: Mapping[str, datetime], at: datetime) -> list[Row]:
    ids = book.moved | set(last_seen)
    rows = []
    for centre in book.centres:
        if centre.id in ids:
            row = {"id": centre.id, "centre": to_bytes(centre.total), "members": centre.members}
            rows.append(row | {"last_seen": last_seen.get(centre.id, at)})
    book.moved.clear()
    return rows


def _intent_rows(
    picture: Picture, asked: _Forms, session: ChangedSession, fact: SessionFacts
) -> Iterable[Row]:
    spread = is_spread(fact)
    for one in fact.wanted:
        form = asked.row(picture.org_id, one.form)
        yield {
            "session_id": session.id,
            "form_id": form["id"],
            "org_id": picture.org_id,
            "topic_id": form["group_id"],
            "source_id": session.source_id,
            "environment": session.environment,
            "key_id": session.key_id,
            "first_at": one.first_at,
            "last_at": one.last_at,
            "scripts": one.scripts,
            "errors": one.errors,
            "misses": one.misses,
            "answered": one.answered,
            "frustration_sum": sum(one.frustrations),
            "frustration_count": len(one.frustrations),
            "frustration_max": max(one.frustrations, default=None),
            "operations": dict(one.operations.most_common(50)),
            "example": one.example,
            "spread_at": one.last_at if spread else None,
        }


def _miss_rows(
    picture: Picture, missed: _Forms, session: ChangedSession, fact: SessionFacts
) -> Iterable[Row]:
    spread = is_spread(fact)
    for miss in fact.misses:
        yield {
            "event_id": miss.event_id,
            "org_id": picture.org_id,
            "cluster_id": missed.row(session.source_id, miss.form)["group_id"],
            "session_id": session.id,
            "source_id": session.source_id,
            "environment": session.environment,
            "at": miss.at,
            "reason": miss.reason,
            "query": miss.query,
            "shown": list(miss.shown),
            "later_used": list(miss.later_used),
            "spread_at": miss.at if spread else None,
        }


def _shown_rows(picture: Picture, session: ChangedSession, fact: SessionFacts) -> Iterable[Row]:
    for operation_id, shown in fact.shown.items():
        yield {
            "session_id": session.id,
            "operation_id": operation_id,
            "org_id": picture.org_id,
            "source_id": session.source_id,
            "at": session.last_event_at,
            "shown": shown,
            "used": operation_id in fact.used,
        }


def _name_rows(picture: Picture, session: ChangedSession, fact: SessionFacts) -> Iterable[Row]:
    for name, uses in fact.invented.items():
        yield {
            "session_id": session.id,
            "name": name,
            "org_id": picture.org_id,
            "source_id": session.source_id,
            "at": session.last_event_at,
            "uses": uses,
        }


def write_batch(tx: Tx, batch: Batch) -> None:
    store.put_forms(tx, batch.new_forms, batch.seen_forms)
    store.insert_clusters(tx, batch.new_clusters)
    store.replace_sessions(
        tx, batch.sessions, intents=batch.intents, misses=batch.misses, shown=batch.shown, names=batch.names
    )
    store.save_topic_centres(tx, batch.moved_topics)
    store.save_cluster_centres(tx, batch.moved_clusters)
