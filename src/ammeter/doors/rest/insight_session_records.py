"""Sessions and their traces on the wire: snake_case records."""

from __future__ import annotations

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import SnakeRecord
from ammeter.features.insights.sessions import SessionTrace
from ammeter.features.insights.signals import Classification, ClassificationKind, SearchFate
from ammeter.features.telemetry.model import Call as UpstreamCall
from ammeter.features.telemetry.model import (
    Event,
    Flag,
    Kind,
    Outcome,
    Session,
    SessionSource,
    Signal,
)
from ammeter.features.telemetry.trail import SearchState


class ClientRecord(SnakeRecord):
    name: str
    version: str


class SessionRecord(SnakeRecord):
    id: str
    session_source: SessionSource
    source_id: str
    environment: str
    client: ClientRecord
    started_at: Instant
    last_event_at: Instant
    intents: list[str]
    scripts: int
    searches: int
    search_misses: int
    errors: int
    avg_frustration: float | None
    max_frustration: int | None
    signals: list[Signal]
    flagged: bool
    flagged_by_person: bool
    flags: list[Flag]
    repeat: bool


class SessionsRecord(SnakeRecord):
    rows: list[SessionRecord]


class EventRecord(SnakeRecord):
    id: str
    at: Instant
    kind: Kind
    outcome: Outcome
    duration_ms: int
    request_id: str
    error_class: str | None
    error_message: str | None
    intent: str | None
    context: str | None
    frustration: int | None
    frustration_text: str | None
    tags: dict[str, str]
    query: str | None
    code: str | None
    result: str | None
    invented_names: list[str]
    cpu_ms: float | None
    bytes_in: int
    bytes_out: int
    truncated: bool
    secrets_stripped: int
    flags: list[Flag]
    content_dropped: bool


class UpstreamCallRecord(SnakeRecord):
    operation_id: str | None
    sdk_name: str | None
    method: str | None
    path: str | None
    status: int | None
    duration_ms: int | None
    outcome: str | None
    is_write: bool | None


class ToolCallRecord(SnakeRecord):
    event_id: str
    at: Instant
    tool_name: str
    outcome: Outcome
    is_error: bool
    duration_ms: int
    upstream_calls: list[UpstreamCallRecord]


class SearchRecord(SnakeRecord):
    event_id: str
    at: Instant
    query: str
    outcome: Outcome
    result_operations: list[str]
    top_score: float | None
    state: SearchState
    failed: bool


class LogRecord(SnakeRecord):
    event_id: str
    at: Instant
    level: str
    text: str


class ClassificationRecord(SnakeRecord):
    kind: ClassificationKind
    label: str
    text: str
    event_id: str | None
    at: Instant | None


class SessionTraceRecord(SnakeRecord):
    session: SessionRecord
    events: list[EventRecord]
    tool_calls: list[ToolCallRecord]
    searches: list[SearchRecord]
    logs: list[LogRecord]
    classifications: list[ClassificationRecord]
    next_after: str | None


def session_record(session: Session) -> SessionRecord:
    return SessionRecord(
        id=session.id,
        session_source=session.session_source,
        source_id=session.source_id,
        environment=session.environment,
        client=ClientRecord(name=session.client_name, version=session.client_version),
        started_at=session.started_at,
        last_event_at=session.last_event_at,
        intents=list(session.intents),
        scripts=session.scripts,
        searches=session.searches,
        search_misses=session.search_misses,
        errors=session.errors,
        avg_frustration=session.avg_frustration,
        max_frustration=session.frustration_max,
        signals=list(session.signals),
        flagged=session.flagged,
        flagged_by_person=session.flagged_by_person,
        flags=list(session.flags),
        repeat=session.repeat,
    )


def trace_record(trace: SessionTrace) -> SessionTraceRecord:
    return SessionTraceRecord(
        session=session_record(trace.session),
        events=[_event(event) for event in trace.events],
        tool_calls=[_tool_call(event) for event in trace.events if event.kind != "initialize"],
        searches=[_search(fate) for fate in trace.searches],
        logs=[
            LogRecord(event_id=event.id, at=event.at, level=line["level"], text=line["text"])
            for event in trace.events
            for line in event.logs
        ],
        classifications=[_classification(each) for each in trace.classifications],
        next_after=trace.next_after,
    )


def _event(event: Event) -> EventRecord:
    told = {
        name: getattr(event, name)
        for name in EventRecord.model_fields
        if name not in ("invented_names", "tags", "flags")
    }
    return EventRecord(
        **told, invented_names=list(event.invented), tags=dict(event.tags), flags=list(event.flags)
    )


def _tool_call(event: Event) -> ToolCallRecord:
    return ToolCallRecord(
        event_id=event.id,
        at=event.at,
        tool_name="search_sdk" if event.kind == "search" else "execute_script",
        outcome=event.outcome,
        is_error=event.outcome not in ("ok", "miss"),
        duration_ms=event.duration_ms,
        upstream_calls=[_upstream(call) for call in event.calls],
    )


def _upstream(call: UpstreamCall) -> UpstreamCallRecord:
    return UpstreamCallRecord(
        operation_id=call.get("operationId"),
        sdk_name=call.get("sdkName"),
        method=call.get("method"),
        path=call.get("path"),
        status=call.get("status"),
        duration_ms=call.get("durationMs"),
        outcome=call.get("outcome"),
        is_write=call.get("isWrite"),
    )


def _search(fate: SearchFate) -> SearchRecord:
    event = fate.event
    return SearchRecord(
        event_id=event.id,
        at=event.at,
        query=event.query or "",
        outcome=event.outcome,
        result_operations=list(event.result_operations),
        top_score=event.top_score,
        state=fate.state,
        failed=fate.failed,
    )


def _classification(each: Classification) -> ClassificationRecord:
    return ClassificationRecord(
        kind=each.kind, label=each.label, text=each.text, event_id=each.event_id, at=each.at
    )
