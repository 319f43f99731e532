"""What insights look like on the wire: snake_case records of the overview, topics and clusters."""

from __future__ import annotations

from typing import Any

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import SnakeRecord
from ammeter.doors.rest.insight_session_records import SessionRecord
from ammeter.features.insights.model import Kpi, Overview, Range
from ammeter.features.insights.topic_model import Cluster, GapKind, LineageKind, Topic, TopicKind
from ammeter.features.telemetry.tally import Bucket


class OperationCountRecord(SnakeRecord):
    operation_id: str
    scripts: int


class TopicRecord(SnakeRecord):
    id: str
    kind: TopicKind
    label: str
    is_unmet_demand: bool
    archived: bool
    sessions: int
    scripts: int
    avg_frustration: float | None
    trend: float
    first_seen: Instant
    last_seen: Instant
    example_intents: list[str]
    top_operations: list[OperationCountRecord]


class TopicsRecord(SnakeRecord):
    rows: list[TopicRecord]


class NearOperationRecord(SnakeRecord):
    operation_id: str
    score: float


class ReplayRecord(SnakeRecord):
    searches: int
    hits_before: int
    hits_after: int


class SuggestionRecord(SnakeRecord):
    text: str
    nearest_operations: list[NearOperationRecord]
    overlay: dict[str, Any] | None
    replay: ReplayRecord | None


class ClusterRecord(SnakeRecord):
    id: str
    source_id: str
    environment: str
    label: str
    searches: int
    sessions: int
    example_queries: list[str]
    gap_kind: GapKind | None
    suggestion: SuggestionRecord
    first_seen: Instant
    last_seen: Instant


class ClustersRecord(SnakeRecord):
    rows: list[ClusterRecord]


class ClusterDetailRecord(ClusterRecord):
    sample_sessions: list[SessionRecord]


class LineageRecord(SnakeRecord):
    kind: LineageKind
    topic_id: str
    other_id: str
    at: Instant


class TopicDetailRecord(TopicRecord):
    sample_sessions: list[SessionRecord]
    related_failed_searches: list[ClusterRecord]
    lineage: list[LineageRecord]


class KpiRecord(SnakeRecord):
    value: float | None
    previous: float | None
    n: int


class KpisRecord(SnakeRecord):
    sessions: KpiRecord
    scripts: KpiRecord
    searches: KpiRecord
    script_success_rate: KpiRecord
    search_miss_rate: KpiRecord
    first_script_success_rate: KpiRecord
    avg_frustration: KpiRecord
    high_frustration_sessions: KpiRecord
    median_script_ms: KpiRecord
    upstream_calls: KpiRecord


class PointRecord(SnakeRecord):
    at: Instant
    sessions: int
    scripts: int
    script_errors: int
    searches: int
    search_misses: int
    avg_frustration: float | None


class TrendsRecord(SnakeRecord):
    bucket: Bucket
    points: list[PointRecord]


class CoverageRecord(SnakeRecord):
    sessions: int
    sessions_with_intent: int
    scripts: int
    scripts_with_frustration: int
    intents: int
    intents_in_topics: int
    topics_refreshed_at: Instant | None
    since: Instant
    until: Instant
    previous_since: Instant
    data_since: Instant | None


class OverviewRecord(SnakeRecord):
    range: Range
    kpis: KpisRecord
    trends: TrendsRecord
    top_topics: list[TopicRecord]
    top_failed_searches: list[ClusterRecord]
    coverage: CoverageRecord


def topic_record(topic: Topic) -> TopicRecord:
    return TopicRecord(**topic_fields(topic))


def topic_fields(topic: Topic) -> dict[str, Any]:
    """What a topic's row and its detail have in common."""
    plain = {name: getattr(topic, name) for name in TopicRecord.model_fields if name != "top_operations"}
    return plain | {
        "example_intents": list(topic.example_intents),
        "top_operations": [
            OperationCountRecord(operation_id=each.operation_id, scripts=each.scripts)
            for each in topic.top_operations
        ],
    }


def cluster_record(cluster: Cluster) -> ClusterRecord:
    return ClusterRecord(**cluster_fields(cluster))


def cluster_fields(cluster: Cluster) -> dict[str, Any]:
    plain = {name: getattr(cluster, name) for name in ClusterRecord.model_fields if name != "suggestion"}
    suggestion, replay = cluster.suggestion, cluster.suggestion.replay
    return plain | {
        "example_queries": list(cluster.example_queries),
        "suggestion": SuggestionRecord(
            text=suggestion.text,
            nearest_operations=[
                NearOperationRecord(operation_id=near.operation_id, score=near.score)
                for near in suggestion.nearest_operations
            ],
            overlay=None if suggestion.overlay is None else dict(suggestion.overlay),
            replay=None
            if replay is None
            else ReplayRecord(
                searches=replay.searches, hits_before=replay.hits_before, hits_after=replay.hits_after
            ),
        ),
    }


def kpi_record(kpi: Kpi) -> KpiRecord:
    return KpiRecord(value=kpi.value, previous=kpi.previous, n=kpi.n)


def trends_record(overview: Overview) -> TrendsRecord:
    points = [
        PointRecord(**{name: getattr(point, name) for name in PointRecord.model_fields})
        for point in overview.points
    ]
    return TrendsRecord(bucket=overview.window.bucket, points=points)
