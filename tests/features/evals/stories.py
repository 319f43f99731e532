"""Traces for tests, written short: lists of what happened become rows, spans and stories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ammeter.features.evals.events import CallBegan, CallEnded, Event, Row, TurnEnded
from ammeter.features.evals.model import Run
from ammeter.features.evals.spans import Span, spans_of

START = datetime(2026, 11, 15, 9, tzinfo=UTC)


def turn(text: str = "", *calls: str, **arguments: Any) -> TurnEnded:
    asked = [{"id": f"c-{tool}", "tool": tool, "arguments": arguments, "problem": None} for tool in calls]
    return TurnEnded(
        text=text,
        calls=asked,
        stop="tool_calls" if calls else "end",
        input_tokens=10,
        output_tokens=5,
        usd=0.001,
        duration_ms=20,
    )


def call(
    tool: str, result: str, *, error: bool = False, structured: Any = None, **arguments: Any
) -> list[Event]:
    """What one answered call leaves behind: the turn that asked, its begin and its end."""
    return [
        turn("", tool, **arguments),
        CallBegan(call_id=f"c-{tool}", tool=tool, arguments=arguments),
        CallEnded(call_id=f"c-{tool}", text=result, structured=structured, is_error=error, duration_ms=30),
    ]


def rows_of(events: Sequence[Event]) -> list[Row]:
    return [
        Row(seq=seq, at=START + timedelta(seconds=seq), event=event) for seq, event in enumerate(events, 1)
    ]


def spans(*events: Event | list[Event]) -> list[Span]:
    flat = [each for part in events for each in (part if isinstance(part, list) else [part])]
    return spans_of(a_run(), rows_of(flat))


def a_run(**fields: Any) -> Run:
    given: dict[str, Any] = {
        "id": "run",
        "org_id": "org",
        "workflow_id": "workflow",
        "workflow_name": "Notes work",
        "version_id": "version",
        "source_id": "source",
        "job_id": None,
        "same_key": "",
        "status": "running",
        "phase": "testing",
        "trigger": "ci",
        "model_id": "openai/gpt-5",
        "at": START,
        "queued_at": START,
        "started_at": START,
    }
    return Run(**given | fields)
