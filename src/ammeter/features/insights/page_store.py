"""SQL for what pages show beside the figures: how many sessions a topic or a cluster had day by day, and
whose word a topic's label and flag are.

Days come from the sums by day; sessions that are spread over several days from their rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select

from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import insight_topics
from ammeter.features.insights.day_store import CLUSTERS, TOPICS, Grouped, Span
from ammeter.features.telemetry.tally import bucket_start

_t = insight_topics.c


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySeries:
    """Sessions by UTC day, of each topic or cluster; days without any are 0."""

    days: Sequence[datetime]
    sessions: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWords:
    """What the figures propose for a topic, and what a person said instead; None where nobody did."""

    label_proposed: str
    label_by_person: str | None
    unmet_proposed: bool
    unmet_by_person: bool | None
    merged_into: str | None


def topic_days(
    tx: Tx,
    org_id: str,
    topic_ids: Sequence[str],
    *,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None = None,
) -> DaySeries:
    """With the sessions of topics that were merged into them."""
    whose = {one: one for one in topic_ids}
    merged = select(_t.id, _t.merged_into).where(_t.org_id == org_id, _t.merged_into.in_(topic_ids))
    whose |= {row.id: row.merged_into for row in tx.execute(merged)}
    return _series(
        tx, TOPICS, whose, Span(org_id=org_id, since=since, until=until, source_ids=source_ids), topic_ids
    )


def cluster_days(
    tx: Tx,
    org_id: str,
    cluster_ids: Sequence[str],
    *,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None = None,
) -> DaySeries:
    whose = {one: one for one in cluster_ids}
    span = Span(org_id=org_id, since=since, until=until, source_ids=source_ids)
    return _series(tx, CLUSTERS, whose, span, cluster_ids)


def topic_words(tx: Tx, org_id: str, topic_id: str) -> TopicWords:
    columns = (_t.label, _t.person_label, _t.unmet_proposed, _t.unmet_by_person, _t.merged_into)
    row = tx.execute(select(*columns).where(_t.org_id == org_id, _t.id == topic_id)).one_or_none()
    if row is None:
        raise NotFound("topic")
    return TopicWords(
        label_proposed=row.label,
        label_by_person=row.person_label,
        unmet_proposed=row.unmet_proposed,
        unmet_by_person=row.unmet_by_person,
        merged_into=row.merged_into,
    )


def topic_labels(tx: Tx, org_id: str, topic_ids: Iterable[str]) -> dict[str, str]:
    """Labels of topics by id, a person's where one gave it."""
    chosen = select(_t.id, func.coalesce(_t.person_label, _t.label).label("shown"))
    chosen = chosen.where(_t.org_id == org_id, _t.id.in_(list(topic_ids)))
    return {row.id: row.shown for row in tx.execute(chosen)}


def _series(tx: Tx, kind: Grouped, whose: Mapping[str, str], span: Span, ids: Sequence[str]) -> DaySeries:
    first = bucket_start(span.since, "day")
    counts: dict[str, Counter[datetime]] = {one: Counter() for one in ids}
    d, r = kind.days.c, kind.rows.c
    chosen = select(d[kind.group], d.at, func.sum(d.sessions)).where(
        d.org_id == span.org_id,
        d[kind.group].in_(list(whose)),
        d.at >= first,
        d.at <= span.until,
        span.of_sources(d.source_id),
    )
    for one, at, sessions in tx.execute(chosen.group_by(d[kind.group], d.at)):
        counts[whose[one]][at] += int(sessions)
    spread = select(kind.of_group, r.spread_at, r.session_id).where(
        r.org_id == span.org_id,
        kind.of_group.in_(list(whose)),
        r.spread_at >= first,
        r.spread_at <= span.until,
        span.of_sources(r.source_id),
    )
    for one, at, _ in {
        (whose[one], bucket_start(at, "day"), session) for one, at, session in tx.execute(spread)
    }:
        counts[one][at] += 1
    days = [first + timedelta(days=number) for number in range((span.until - first).days + 1)]
    return DaySeries(days=days, sessions={one: [counts[one][day] for day in days] for one in ids})
