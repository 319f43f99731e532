"""The outermost layer of every door, one pure ASGI callable: request id, host check, body guard,
security headers, the error shape, metrics and one log line a request.

It stands once around all doors instead of as a stack of middlewares: each of those costs a request
a tenth of its time. Nothing of a request but its method, its route and the ids in its path reaches the
log: whoever mistypes an address may have pasted a secret into it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ammeter.base.errors import AmmeterError, NotFound, Unavailable
from ammeter.base.ids import is_id, new_id
from ammeter.doors.http.body import MAX_BODY_BYTES, GuardedBody
from ammeter.doors.http.errors import error_response, internal_error
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.http.metrics import HttpMetrics

log = logging.getLogger("ammeter.http")

_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_PROBES = ("/healthz", "/readyz", "/metrics")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_DEFAULTS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_HSTS = (b"strict-transport-security", b"max-age=31536000")


class Notes:
    """What the layers of one request tell each other; kept in the ASGI scope."""

    __slots__ = ("headers", "key_id", "request_id", "route")

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.route = ""
        self.key_id = ""
        self.headers: list[tuple[bytes, bytes]] = []


def notes_of(scope: MutableMapping[str, Any]) -> Notes:
    notes: Notes = scope["ammeter"]
    return notes


class Edge:
    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: AllowedHosts,
        metrics: HttpMetrics,
        body_timeout_s: float,
        body_limits: dict[str, int],
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._metrics = metrics
        self._body_timeout_s = body_timeout_s
        self._body_limits = body_limits
        self.is_stopping = False
        """Set when told to stop: readiness says no, so that load balancers look elsewhere."""
        self.is_refusing = False
        """Set once the drain time is over: what is in flight is finished, what comes now is refused."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        host, given, declared_bytes = _told_by(scope)
        notes = scope["ammeter"] = Notes(given.decode() if _GIVEN_ID.fullmatch(given) else new_id())
        body = GuardedBody(
            receive,
            declared_bytes=declared_bytes,
            limit_bytes=self._body_limits.get(scope["path"], MAX_BODY_BYTES),
            timeout_s=self._body_timeout_s,
        )
        answer = _Answer(send, notes, body, https=scope["scheme"] == "https")
        self._metrics.in_flight += 1
        try:
            self._admit(scope["path"], host)
            await self._app(scope, body, answer)
        except AmmeterError as error:
            await answer.fail(scope, error)
        except asyncio.CancelledError:
            if not self.is_refusing:
                raise
            # The grace time of a stop is over: the server lets go of what is still in flight.
            await answer.fail(scope, _stopping())
        except Exception:
            log.exception(
                "request failed", extra={"request_id": notes.request_id, "path": _shown_path(scope, notes)}
            )
            await answer.fail(scope, internal_error())
        finally:
            self._metrics.in_flight -= 1
            self._write_down(scope, notes, answer.status, time.perf_counter() - started)

    def _admit(self, path: str, host: bytes) -> None:
        if path in _PROBES:
            return
        if self.is_refusing:
            raise _stopping()
        if not self._hosts.allows(host):
            raise NotFound(
                "host here", hint="The operator names this server's hosts in AMMETER_ALLOWED_HOSTS."
            )

    def _write_down(self, scope: Scope, notes: Notes, status: int, seconds: float) -> None:
        route = notes.route or "unmatched"
        self._metrics.answered(method=scope["method"], route=route, status=status, seconds=seconds)
        if log.isEnabledFor(logging.INFO) and scope["path"] not in _PROBES:
            log.info(
                "%s %s %d",
                scope["method"],
                _shown_path(scope, notes),
                status,
                extra={
                    "request_id": notes.request_id,
                    "route": route,
                    "status": status,
                    "duration_ms": round(seconds * 1000, 2),
                    "client": scope["client"][0] if scope.get("client") else "",
                    "key_id": notes.key_id,
                },
            )


def _stopping() -> Unavailable:
    return Unavailable("This server is stopping. Try again shortly.", retry_after_s=2)


def _told_by(scope: Scope) -> tuple[bytes, bytes, int | None]:
    """Host, given request id, and the bytes of body that are promised: None where nobody knows."""
    host = given = length = b""
    endless = False
    for name, value in scope["headers"]:
        if name == b"host":
            host = value
        elif name == b"x-request-id":
            given = value
        elif name == b"content-length":
            length = value
        elif name == b"transfer-encoding":
            endless = True
    # Twenty digits are more than any limit, and Python reads no number of five thousand.
    return host, given, None if endless else int(length[:20]) if length.isdigit() else 0


def _shown_path(scope: Scope, notes: Notes) -> str:
    shown = notes.route or "unmatched"
    for name, value in scope.get("path_params", {}).items():
        if isinstance(value, str) and is_id(value):
            shown = shown.replace(f"{{{name}}}", value)
    return shown


class _Answer:
    """Stands in for `send`: completes the headers and remembers what was answered."""

    def __init__(self, send: Send, notes: Notes, body: GuardedBody, *, https: bool) -> None:
        self._send = send
        self._notes = notes
        self._body = body
        self._https = https
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = message.get("headers", ())
            names = [name for name, _ in given]
            request_id = (b"x-request-id", self._notes.request_id.encode())
            sent = message["headers"] = [*given, request_id, *_HEADERS, *self._notes.headers]
            for default in _DEFAULTS:
                if default[0] not in names:
                    sent.append(default)
            if self._https:
                sent.append(_HSTS)
            if not self._body.is_worth_finishing:
                sent.append((b"connection", b"close"))
        await self._send(message)

    async def fail(self, scope: Scope, error: AmmeterError) -> None:
        if not self.status:
            await error_response(error, self._notes.request_id)(scope, _nothing, self)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
