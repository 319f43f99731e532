"""The trace as people and judges see it: rows of events in, spans with ids that never change out; pure.

A span's texts are what an excerpt must be found in, word for word.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from ammeter.features.evals.events import (
    CallBegan,
    CallEnded,
    Connected,
    Faulted,
    Judged,
    LimitReached,
    Resumed,
    Row,
    TestEnded,
    TurnEnded,
)
from ammeter.features.evals.model import Run

SpanKind = Literal["run", "connect", "model_turn", "tool_call", "judge"]
ROOT = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    id: str
    parent_id: str | None
    kind: SpanKind
    name: str
    started_at: datetime
    duration_ms: int | None
    status: Literal["ok", "error", "denied", "interrupted", "running"]
    attributes: dict[str, Any] = field(default_factory=dict)
    input: Any = None
    output: Any = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(as_text(part) for part in (self.input, self.output) if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One call of a tool, as `GET /runs/{id}/tool-calls` lists it."""

    id: str
    span_id: str
    tool_name: str
    arguments: dict[str, Any]
    result_body: str | None
    is_error: bool
    duration_ms: int | None
    started_at: datetime


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def spans_of(run: Run, rows: Sequence[Row]) -> list[Span]:
    spans = [_root(run, rows)]
    turn_id = ROOT
    for index, row in enumerate(rows):
        match row.event:
            case TurnEnded():
                turn_id = f"turn-{row.seq}"
                spans.append(_turn(row, row.event, turn_id))
            case CallBegan():
                ending = next((r for r in rows[index + 1 :] if isinstance(r.event, CallEnded)), None)
                spans.append(_call(row, row.event, ending, turn_id))
            case Connected() | Faulted():
                spans.append(_connect_or_fault(row, row.event))
            case Judged():
                spans.append(_judge(row, row.event))
            case CallEnded() | LimitReached() | TestEnded() | Resumed():
                pass
    return spans


def calls_of(spans: Sequence[Span]) -> list[CallRow]:
    return [
        CallRow(
            id=span.id,
            span_id=span.id,
            tool_name=span.name,
            arguments=span.input,
            result_body=span.output,
            is_error=span.status != "ok",
            duration_ms=span.duration_ms,
            started_at=span.started_at,
        )
        for span in spans
        if span.kind == "tool_call"
    ]


def _root(run: Run, rows: Sequence[Row]) -> Span:
    notes = [
        {"kind": "limit", "limit": row.event.limit, "message": row.event.message}
        if isinstance(row.event, LimitReached)
        else {"kind": "resumed", "attempt": row.event.attempt}
        for row in rows
        if isinstance(row.event, LimitReached | Resumed)
    ]
    failed = run.status == "fail"
    return Span(
        id=ROOT,
        parent_id=None,
        kind="run",
        name=run.workflow_name,
        started_at=run.started_at or run.queued_at,
        duration_ms=run.duration_ms,
        status="running" if run.status == "running" else "error" if failed else "ok",
        attributes={"modelId": run.model_id, "attempt": run.attempt, "events": notes},
    )


def _turn(row: Row, event: TurnEnded, span_id: str) -> Span:
    return Span(
        id=span_id,
        parent_id=ROOT,
        kind="model_turn",
        name="turn",
        started_at=row.at - timedelta(milliseconds=event.duration_ms),
        duration_ms=event.duration_ms,
        status="ok",
        attributes={
            "stop": event.stop,
            "inputTokens": event.input_tokens,
            "outputTokens": event.output_tokens,
            "usd": event.usd,
            "toolCalls": [call["tool"] for call in event.calls],
        },
        output=event.text,
    )


def _call(row: Row, event: CallBegan, ending: Row | None, turn_id: str) -> Span:
    result = ending.event if ending is not None else None
    assert result is None or isinstance(result, CallEnded)
    attributes: dict[str, Any] = {"callId": event.call_id}
    if result is not None and result.structured is not None:
        attributes["structured"] = result.structured
    return Span(
        id=f"call-{row.seq}",
        parent_id=turn_id,
        kind="tool_call",
        name=event.tool,
        started_at=row.at,
        duration_ms=result.duration_ms if result else None,
        status=_call_status(result),
        attributes=attributes,
        input=event.arguments,
        output=result.text if result else None,
    )


def _call_status(
    result: CallEnded | None,
) -> Literal["ok", "error", "denied", "interrupted", "running"]:
    if result is None:
        return "running"
    if result.interrupted:
        return "interrupted"
    if result.denied:
        return "denied"
    return "error" if result.is_error else "ok"


def _connect_or_fault(row: Row, event: Connected | Faulted) -> Span:
    if isinstance(event, Connected):
        attributes = {"server": event.server, "protocol": event.protocol, "tools": event.tools}
        started_at = row.at - timedelta(milliseconds=event.duration_ms)
        return Span(
            id=f"connect-{row.seq}",
            parent_id=ROOT,
            kind="connect",
            name="connect",
            started_at=started_at,
            duration_ms=event.duration_ms,
            status="ok",
            attributes=attributes,
        )
    is_model = event.classification == "model_error"
    return Span(
        id=f"fault-{row.seq}",
        parent_id=ROOT,
        kind="model_turn" if is_model else "connect",
        name="turn" if is_model else "connect",
        started_at=row.at - timedelta(milliseconds=event.duration_ms),
        duration_ms=event.duration_ms,
        status="error",
        attributes={"classification": event.classification, "retry": event.retry},
        output=event.message,
    )


def _judge(row: Row, event: Judged) -> Span:
    return Span(
        id=f"judge-{row.seq}",
        parent_id=ROOT,
        kind="judge",
        name=str(event.mark["criterion_text"]),
        started_at=row.at - timedelta(milliseconds=event.duration_ms),
        duration_ms=event.duration_ms,
        status="error" if event.mark["mark"] is None else "ok",
        attributes={"criterionId": event.mark["criterion_id"], "judgedBy": event.mark["judged_by"]},
        output=event.mark["mark"],
    )
