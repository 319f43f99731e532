"""What the rows of sessions add to the sums by day. Pure: rows of intents and failed searches in, counts out.

The same function tells what sessions added before a change and what they add after it; the store adds the
difference. Sessions are counted where all their rows lie on one day, so that the days of a range add up; one
whose rows are spread over several days has `spread_at` in each, and is counted from the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ammeter.features.insights.misses import SessionFacts
from ammeter.features.telemetry.tally import bucket_start

Row = Mapping[str, Any]
Key = tuple[str | datetime, ...]
Sums = dict[Key, Counter[str]]

NO_TOPIC = ""
TOPIC_KEY = ("org_id", "at", "topic_id", "source_id")
CLUSTER_KEY = ("org_id", "at", "cluster_id", "source_id")
PAIR_KEY = ("org_id", "topic_id", "at", "cluster_id", "source_id")
TOPIC_SUMS = ("scripts", "frustration_sum", "frustration_count")


@dataclass(slots=True, kw_only=True)
class DaySums:
    topics: Sums = field(default_factory=dict)
    clusters: Sums = field(default_factory=dict)
    pairs: Sums = field(default_factory=dict)
    """Failed searches of sessions by topic and cluster."""


def is_spread(facts: SessionFacts) -> bool:
    """Whether the rows of a session lie on more than one day."""
    days = {one.last_at.date() for one in facts.wanted} | {one.at.date() for one in facts.misses}
    return len(days) > 1


def day_sums(intents: Iterable[Row], misses: Iterable[Row]) -> DaySums:
    """Of whole sessions: all their rows."""
    told = DaySums()
    days: dict[Any, datetime] = {}
    topics: dict[str, set[str]] = {}
    counted: set[tuple[str, Key]] = set()

    def day_of(at: datetime) -> datetime:
        date = at.date()
        return days.get(date) or days.setdefault(date, bucket_start(at, "day"))

    def count(sums: Sums, key: Key, row: Row, what: str) -> Counter[str]:
        counts = sums.setdefault(key, Counter())
        counts[what] += 1
        if row["spread_at"] is None and (row["session_id"], key) not in counted:
            counted.add((row["session_id"], key))
            counts["sessions"] += 1
        return counts

    for row in intents:
        topic_id = row["topic_id"] or NO_TOPIC
        key = (row["org_id"], day_of(row["last_at"]), topic_id, row["source_id"])
        counts = count(told.topics, key, row, "intents")
        for name in TOPIC_SUMS:
            counts[name] += row[name]
        if topic_id:
            topics.setdefault(row["session_id"], set()).add(topic_id)
    for row in misses:
        org_id, at, cluster_id, source_id = (
            row["org_id"],
            day_of(row["at"]),
            row["cluster_id"],
            row["source_id"],
        )
        count(told.clusters, (org_id, at, cluster_id, source_id), row, "searches")
        if row["spread_at"] is None:
            for topic_id in topics.get(row["session_id"], ()):
                pair = (org_id, topic_id, at, cluster_id, source_id)
                told.pairs.setdefault(pair, Counter())["searches"] += 1
    return told


def difference(after: Sums, before: Sums) -> list[tuple[Key, Counter[str]]]:
    """What must be added to come from one to the other, in the order of keys."""
    found = []
    for key in sorted(after.keys() | before.keys()):
        change = Counter(after.get(key, Counter()))
        change.subtract(before.get(key, Counter()))
        if any(change.values()):
            found.append((key, change))
    return found
