"""Figures of ranges, told from sums by day, are what the rows themselves tell: whatever the range, after
sessions went on, joined topics and went in time, and after a migration."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from ammeter.base.clock import from_millis, now, to_millis
from ammeter.base.ids import new_id
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.features.insights import cluster_store, topic_store
from ammeter.features.insights.day_store import (
    CLUSTERS,
    TOPICS,
    Grouped,
    Span,
    clusters_beside,
    latest_sessions,
    read_figures,
)
from ammeter.features.insights.refresh import refresh
from ammeter.features.orgs import service
from tests.features.insights.stories import DAY, Teller, script, search, teller
from tests.household import OPERATOR

HOUR = timedelta(hours=1)
WANTED = {
    "refund": ("Refund an order", "Refund the order of a customer", "Give a refund for an order"),
    "export": ("Export the stock list", "Export a list of the stock", "Export all stock"),
    "greet": ("Wish the author a happy birthday",),
}
LOOKED_FOR = ("gift card", "gift cards", "parcel tracking", "webhook")
TABLES = {
    "insight_topic_days": "intents",
    "insight_cluster_days": "searches",
    "insight_topic_clusters": "searches",
}


def tell_days(told: Teller, draw: random.Random, days: int, sources: list[str]) -> list[str]:
    """Some sessions a day, each with several wishes; some go on past midnight, some for days."""
    found = []
    for age in range(days, 0, -1):
        for _ in range(3):
            told.source_id = draw.choice(sources)
            begin = now() - age * DAY - draw.random() * DAY
            step = draw.choice((timedelta(minutes=2), timedelta(minutes=2), 9 * HOUR))
            events: list[dict[str, Any]] = []
            for number in range(draw.randint(1, 5)):
                at = min(begin + number * step, now() - HOUR)
                if draw.random() < 0.5:
                    events.append(search(draw.choice(LOOKED_FOR), at=at))
                intent = draw.choice(WANTED[draw.choice(list(WANTED))])
                level = draw.choice((None, 2, 8))
                events.append(script(intent, frustration=level, at=at + timedelta(seconds=1)))
            found.append(told.session(*events, at=begin))
    return found


def rows_of(db: Database, kind: Grouped, org_id: str) -> list[dict[str, Any]]:
    with db.read() as tx:
        rows = tx.execute(kind.rows.select().where(kind.rows.c.org_id == org_id)).mappings()
        return [dict(row) for row in rows]


def recounted(kind: Grouped, rows: list[dict[str, Any]], span: Span) -> dict[str, dict[str, int]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if within(row, kind, span):
            found.setdefault(row[kind.group] or "", []).append(row)
    return {
        group: {
            kind.what: len(mine),
            "sessions": len({row["session_id"] for row in mine}),
            **{name: sum(row[name] for row in mine) for name in kind.sums},
        }
        for group, mine in found.items()
    }


def within(row: dict[str, Any], kind: Grouped, span: Span) -> bool:
    seen = span.source_ids is None or row["source_id"] in span.source_ids
    return seen and span.since <= row[kind.at] <= span.until


def spans(org_id: str, draw: random.Random, sources: list[str]) -> list[Span]:
    at = now()
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    edges: list[datetime] = [midnight - days * DAY for days in range(8)]
    edges += [from_millis(to_millis(at) - draw.randrange(9 * 86_400_000)) for _ in range(12)]
    chosen = []
    for _ in range(30):
        since, until = sorted(draw.sample([*edges, at], 2))
        of = draw.choice((None, sources[:1], sources))
        chosen.append(Span(org_id=org_id, since=since, until=until, source_ids=of))
    return chosen


def hold_equal(told: Teller, draw: random.Random, sources: list[str]) -> int:
    """Every figure beside its recount; how many groups were compared."""
    intents, misses = rows_of(told.db, TOPICS, told.org_id), rows_of(told.db, CLUSTERS, told.org_id)
    compared = 0
    with told.db.read() as tx:
        for span in spans(told.org_id, draw, sources):
            for kind, rows in ((TOPICS, intents), (CLUSTERS, misses)):
                figures = read_figures(tx, kind, span)
                assert figures == recounted(kind, rows, span)
                compared += len(figures)
                for group in figures:
                    if group:
                        mine = [row for row in rows if row[kind.group] == group and within(row, kind, span)]
                        last = {row["session_id"]: row[kind.at] for row in sorted(mine, key=at_of(kind))}
                        ordered = sorted(last, key=lambda one: (last[one], one), reverse=True)
                        assert latest_sessions(tx, kind, [group], span, limit=3) == ordered[:3]
                        if kind is TOPICS:
                            beside = clusters_beside(tx, [group], span, limit=50)
                            assert beside == recounted_beside(intents, misses, group, span)
    return compared


def at_of(kind: Grouped) -> Any:
    return lambda row: row[kind.at]


def recounted_beside(
    intents: list[dict[str, Any]], misses: list[dict[str, Any]], topic_id: str, span: Span
) -> list[str]:
    had = {
        row["session_id"] for row in intents if row["topic_id"] == topic_id and row["last_at"] >= span.since
    }
    counts = Counter(
        row["cluster_id"] for row in misses if within(row, CLUSTERS, span) and row["session_id"] in had
    )
    return [one for one, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


@pytest.mark.parametrize("seed", [1, 2])
def test_figures_of_every_range_are_what_the_rows_tell(told: Teller, blobs: LocalBlobs, seed: int) -> None:
    draw = random.Random(seed)
    sources = [new_id(), new_id()]
    sessions = tell_days(told, draw, 6, sources)
    refresh(told.db, blobs, told.org_id)
    assert hold_equal(told, draw, sources) > 50
    # Sessions go on, one of them on another day than it began; new wishes make a topic of old ones.
    for session_id in draw.sample(sessions, 6):
        told.add(session_id, search("gift card"), script("Wish the author well"), at=now() - 2 * HOUR)
    told.wants("Wish an author a happy new year", "Wish the authors a happy birthday", "Wish the author well")
    refresh(told.db, blobs, told.org_id)
    assert hold_equal(told, draw, sources) > 50
    refresh(told.db, blobs, told.org_id, keep_days=3)
    assert hold_equal(told, draw, sources) > 20
    with told.db.read() as tx:
        oldest = text("SELECT min(at) FROM insight_topic_days WHERE org_id = :org")
        assert tx.scalar(oldest, {"org": told.org_id}) >= to_millis(now() - 4 * DAY)


def test_a_session_of_several_days_is_one_session(told: Teller, blobs: LocalBlobs) -> None:
    noon = now().replace(hour=12, minute=0, second=0, microsecond=0) - 5 * DAY
    events = [
        event
        for days in range(3)
        for event in (
            search("gift card", at=noon + days * DAY),
            script(("Refund an order", "Refund the order", "Refund some order")[days], at=noon + days * DAY),
        )
    ]
    told.session(*events, at=noon)
    told.wants("Refund an order", "Refund the order", "Refund my order")
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        (topic,) = topic_store.list_topics(tx, told.org_id, since=noon - DAY)
        (cluster,) = cluster_store.list_clusters(tx, told.org_id, since=noon - DAY)
        (later,) = cluster_store.list_clusters(tx, told.org_id, since=noon + HOUR)
    assert (topic.sessions, topic.scripts) == (4, 6)
    assert (cluster.sessions, cluster.searches) == (1, 3)
    assert (later.sessions, later.searches) == (1, 2)


def test_a_database_without_the_sums_gets_them_at_its_migration(db: Database, blobs: LocalBlobs) -> None:
    draw, sources = random.Random(3), [new_id(), new_id()]
    with db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug="acme", name="Acme", region="us")
    told = teller(db, org.id)
    tell_days(told, draw, 5, sources)
    refresh(db, blobs, told.org_id)
    known = everything(db)
    assert all(known.values())
    with db.write() as tx:
        for statement in BACK:
            tx.execute(text(statement))
    migrate(db)
    assert everything(db) == known


BACK = (
    *(f"DROP TABLE {table}" for table in TABLES),
    "DROP INDEX ix_insight_intents_spread",
    "DROP INDEX ix_insight_misses_spread",
    "DROP INDEX ix_insight_intents_topic_id_first_at",
    "ALTER TABLE insight_intents DROP COLUMN spread_at",
    "ALTER TABLE insight_misses DROP COLUMN spread_at",
    "ALTER TABLE telemetry_sessions DROP COLUMN counted_at",
    *(
        f"ALTER TABLE {table} DROP COLUMN {column}"
        for table in ("telemetry_hours", "telemetry_days")
        for column in ("strained_sessions", "sessions_with_intent")
    ),
    "DELETE FROM schema_migrations WHERE name = 'm0013_insight_rollups'",
)


def everything(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    columns = {
        "insight_intents": "session_id, form_id, spread_at",
        "insight_misses": "event_id, spread_at",
        "telemetry_sessions": "id, counted_at",
        "telemetry_hours": "at, source_id, strained_sessions, sessions_with_intent",
        "telemetry_days": "at, source_id, strained_sessions, sessions_with_intent",
    }
    with db.read() as tx:
        return {
            table: sorted(
                (tuple(row) for row in tx.execute(text(f"SELECT {names} FROM {table}"))),
                key=str,
            )
            for table, names in columns.items()
        }
