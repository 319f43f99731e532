"""What the endpoint saw, for telemetry: whose session a request belongs to, and one event an answer.

Events are made after the answer and handed over at once; secrets are stripped by the recorder. Which sessions
were reminded of the script header is remembered here: at worst an agent is reminded by two nodes.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.doors.mcp_protocol.answers import SESSION_META
from ammeter.doors.mcp_protocol.messages import META, Message
from ammeter.features.gateway.execute import Executed
from ammeter.features.gateway.host import UpstreamCall
from ammeter.features.gateway.live import LiveBundle
from ammeter.features.gateway.search import Found
from ammeter.features.telemetry.jsdoc import Header
from ammeter.features.telemetry.model import Call, Event, Flag, LogLine
from ammeter.features.telemetry.recorder import Recorder
from ammeter.features.telemetry.sessions import Identity, SessionKeeper

if TYPE_CHECKING:
    from ammeter.doors.hosted_mcp.endpoint import HostedVisit

_REMEMBERED = 10_000
_MAX_TAG = 500


class Seen:
    def __init__(self, recorder: Recorder, sessions: SessionKeeper) -> None:
        self._recorder = recorder
        self._sessions = sessions
        self._reminded: OrderedDict[str, None] = OrderedDict()

    async def greet(
        self,
        visit: HostedVisit,
        message: Message,
        client: tuple[str, str] | None = None,
        *,
        handle: str | None = None,
    ) -> Identity:
        """Which session this is. `client`: name and version, where the message tells them."""
        if client is None:
            client = client_of(message.meta.get(META + "clientInfo"))
        told = handle or message.meta.get(SESSION_META)
        return await self._sessions.identify(
            org_id=visit.target.org_id,
            source_id=visit.target.source_id,
            environment=visit.target.environment,
            key_id=visit.principal.key.id,
            client_name=client[0],
            client_version=client[1],
            header=visit.headers.get("mcp-session-id"),
            handle=told if isinstance(told, str) else None,
            traceparent=visit.headers.get("traceparent"),
            starts_anew=message.method == "initialize",
        )

    def first_reminder(self, session_id: str) -> bool:
        if session_id in self._reminded:
            return False
        self._reminded[session_id] = None
        if len(self._reminded) > _REMEMBERED:
            self._reminded.popitem(last=False)
        return True

    def greeted(self, visit: HostedVisit, session: Identity, version: str, started: float) -> None:
        self._recorder.record(self._event(visit, session, version, started, kind="initialize", outcome="ok"))

    def searched(
        self, visit: HostedVisit, session: Identity, version: str, started: float, query: str, found: Found
    ) -> None:
        event = self._event(
            visit,
            session,
            version,
            started,
            kind="search",
            outcome="miss" if found.miss else "ok",
            query=query,
            result_operations=found.operations,
            top_score=found.top_score,
            bytes_out=len(found.text),
        )
        self._recorder.record(event)

    def executed(
        self,
        visit: HostedVisit,
        session: Identity,
        version: str,
        started: float,
        *,
        code: str,
        header: Header,
        live: LiveBundle,
        executed: Executed,
        text: str,
    ) -> None:
        logs = executed.data["logs"]
        event = self._event(
            visit,
            session,
            version,
            started,
            kind="script",
            outcome=executed.outcome,
            error_class=executed.error_class,
            error_message=executed.error_message,
            intent=header.intent,
            context=header.context,
            frustration=header.frustration,
            frustration_text=header.frustration_text,
            tags=_tags(live, header, visit.headers),
            code=code,
            result=text,
            logs=tuple(LogLine(level="log", text=line) for line in logs),
            calls=tuple(_call(call) for call in executed.calls),
            invented=executed.invented,
            cpu_ms=executed.cpu_ms,
            bytes_out=len(text),
            truncated=executed.truncated,
            flags=_flags(executed),
        )
        self._recorder.record(event, executed.injected)

    def _event(
        self, visit: HostedVisit, session: Identity, version: str, started: float, **facts: Any
    ) -> Event:
        target = visit.target
        return Event(
            id=new_id(),
            org_id=target.org_id,
            source_id=target.source_id,
            environment=target.environment,
            bundle_id=target.bundle_id,
            key_id=visit.principal.key.id,
            at=now(),
            session_id=session.id,
            session_source=session.source,
            trace_id=session.trace_id,
            client_name=session.client_name,
            client_version=session.client_version,
            protocol_version=version,
            request_id=visit.request_id,
            duration_ms=round((time.perf_counter() - started) * 1000),
            bytes_in=visit.bytes_in,
            **facts,
        )


def client_of(told: Any) -> tuple[str, str]:
    """Name and version of a client, as it tells them."""
    if not isinstance(told, dict):
        return "", ""
    return _short(told.get("name")), _short(told.get("version"))


def _short(value: Any) -> str:
    return value[:120] if isinstance(value, str) else ""


def _call(call: UpstreamCall) -> Call:
    return Call(
        operationId=call.operation_id,
        sdkName=call.sdk_name,
        method=call.method.upper(),
        path=call.path,
        status=call.status,
        durationMs=round(call.duration_ms),
        outcome=call.outcome,
        isWrite=call.is_write,
        bytes=call.request_bytes + call.response_bytes,
    )


def _flags(executed: Executed) -> tuple[Flag, ...]:
    flags: list[Flag] = []
    if any(call.outcome == "blocked" for call in executed.calls):
        flags.append("blocked_egress")
    if any(call.secret_stripped for call in executed.calls):
        flags.append("secret_stripped")
    if any(call.is_write and call.outcome == "unknown" for call in executed.calls):
        flags.append("unknown_outcome_write")
    return tuple(flags)


def _tags(live: LiveBundle, header: Header, headers: Mapping[str, str]) -> dict[str, str]:
    """What the manifest wants to know of each script."""
    tags: dict[str, str] = {}
    for tag in live.manifest.analytics_tags:
        if tag.source == "static":
            value: str | None = tag.value
        elif tag.source == "header":
            value = headers.get(tag.value.lower())
        else:
            value = header.tags.get(tag.value.lower())
        if value:
            tags[tag.name] = value[:_MAX_TAG]
    return tags
