"""Telemetry for other tools, as lines of JSON: events as they are stored, or OTLP logs. Pure.

An OTLP line is a `LogsData` message in the JSON encoding of OTLP, as its file exporters write them and as
`POST /v1/logs` of a collector takes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from ammeter.base.clock import rfc3339, to_millis
from ammeter.features.telemetry.model import Event

Format = Literal["jsonl", "otlp"]

_TOOLS = {"search": "search_sdk", "script": "execute_script"}
_INFO, _ERROR = (9, "INFO"), (17, "ERROR")
_TRACE_ID_CHARS = 32


def lines(events: Sequence[Event], form: Format, *, version: str) -> Iterator[str]:
    if form == "jsonl":
        for event in events:
            yield _dump({**asdict(event), "at": rfc3339(event.at)})
    elif events:
        yield _dump(_logs(events, version))


def _logs(events: Sequence[Event], version: str) -> dict[str, Any]:
    """One resource for each source and environment among them."""
    places: dict[tuple[str, str, str], list[Event]] = {}
    for event in events:
        places.setdefault((event.org_id, event.source_id, event.environment), []).append(event)
    return {
        "resourceLogs": [
            {
                "resource": {
                    "attributes": _attributes(
                        {
                            "service.name": "ammeter",
                            "service.version": version,
                            "deployment.environment.name": environment,
                            "ammeter.org.id": org_id,
                            "ammeter.source.id": source_id,
                        }
                    )
                },
                "scopeLogs": [
                    {
                        "scope": {"name": "ammeter.telemetry", "version": version},
                        "logRecords": [_record(event) for event in some],
                    }
                ],
            }
            for (org_id, source_id, environment), some in places.items()
        ]
    }


def _record(event: Event) -> dict[str, Any]:
    nanos = str(to_millis(event.at) * 1_000_000)
    number, words = _ERROR if event.outcome == "error" else _INFO
    record: dict[str, Any] = {
        "timeUnixNano": nanos,
        "observedTimeUnixNano": nanos,
        "severityNumber": number,
        "severityText": words,
        "eventName": f"ammeter.{event.kind}",
        "body": {"stringValue": event.code or event.query or event.kind},
        "attributes": _attributes(_facts(event)),
    }
    if event.trace_id and len(event.trace_id) == _TRACE_ID_CHARS:
        record["traceId"] = event.trace_id
    return record


def _facts(event: Event) -> dict[str, Any]:
    return {
        "session.id": event.session_id,
        "mcp.protocol.version": event.protocol_version,
        "gen_ai.tool.name": _TOOLS.get(event.kind),
        "error.type": event.error_class,
        "exception.message": event.error_message,
        "ammeter.event.id": event.id,
        "ammeter.outcome": event.outcome,
        "ammeter.duration_ms": event.duration_ms,
        "ammeter.client.name": event.client_name,
        "ammeter.client.version": event.client_version,
        "ammeter.key.id": event.key_id,
        "ammeter.bundle.id": event.bundle_id,
        "ammeter.request.id": event.request_id,
        "ammeter.intent": event.intent,
        "ammeter.context": event.context,
        "ammeter.frustration": event.frustration,
        "ammeter.search.operations": list(event.result_operations),
        "ammeter.search.top_score": event.top_score,
        "ammeter.script.result": event.result,
        "ammeter.script.logs": [line["text"] for line in event.logs],
        "ammeter.script.invented_names": list(event.invented),
        "ammeter.upstream.operations": [call.get("operationId", "") for call in event.calls],
        "ammeter.upstream.outcomes": [call.get("outcome", "") for call in event.calls],
        "ammeter.flags": list(event.flags),
        **{f"ammeter.tag.{name}": value for name, value in event.tags.items()},
    }


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What is absent or empty is left out."""
    return [{"key": key, "value": _value(fact)} for key, fact in facts.items() if fact not in (None, "", [])]


def _value(fact: Any) -> dict[str, Any]:
    match fact:
        case bool():
            return {"boolValue": fact}
        case int():
            # 64-bit numbers are text in the JSON encoding.
            return {"intValue": str(fact)}
        case float():
            return {"doubleValue": fact}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in fact]}}
        case _:
            return {"stringValue": str(fact)}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
