"""Answers as bytes: results of both eras, refusals, and a stream for what takes long."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from ammeter import __version__
from ammeter.base.errors import AmmeterError, RateLimited, Unavailable
from ammeter.doors.http.errors import STATUS_OF
from ammeter.doors.mcp_protocol.messages import INTERNAL, META, Message, Refusal

SESSION_META = "ammeter/session"
SERVER_INFO = {"name": "ammeter", "title": "Ammeter", "version": __version__}
_CACHED = frozenset({"tools/list", "server/discover"})


def result_of(message: Message, result: dict[str, Any], session: str | None) -> dict[str, Any]:
    if message.is_modern:
        meta: dict[str, Any] = {META + "serverInfo": SERVER_INFO}
        if session is not None:
            meta[SESSION_META] = session
        result = {**result, "resultType": "complete", "_meta": {**result.get("_meta", {}), **meta}}
        if message.method in _CACHED:
            # A promotion holds at once, and who asks again is told so.
            result |= {"ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": message.id, "result": result}


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(body), status, media_type="application/json", headers=headers)


def encoded(value: Any) -> bytes:
    """JSON; half of a surrogate pair, which a script can well return, becomes a question mark."""
    try:
        return to_json(value)
    except ValueError:
        return to_json(_whole(value))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(member) for key, member in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value


def event_of(body: Any) -> bytes:
    return b"event: message\ndata: " + encoded(body) + b"\n\n"


def refused(refusal: Refusal) -> Response:
    return json_response(refusal.body(), refusal.status)


def fault_response(error: AmmeterError, request_id: str) -> Response:
    """A fault of ours as MCP clients can show it; the status is the one of every other door."""
    headers = {}
    if error.code == "unauthenticated":
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, RateLimited | Unavailable):
        headers["retry-after"] = str(error.retry_after_s)
    data = {"code": error.code, "requestId": request_id}
    refusal = Refusal(INTERNAL if error.code == "internal" else -32000, error.message, data=data)
    return json_response(refusal.body(), STATUS_OF[error.code], headers)
