"""From work under way to a response: plain JSON where it ends soon, a stream of events where it does not.

A stream tells how far the work is, if the client asked for that, and keeps proxies from giving up. A client
of the newest revision that goes away has cancelled; an older one may come back for its session, so its
work goes on to the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive

from ammeter.doors.mcp_protocol.answers import event_of, json_response
from ammeter.doors.mcp_protocol.messages import INTERNAL, Message, Refusal
from ammeter.doors.mcp_protocol.visit import Visit

log = logging.getLogger("ammeter.mcp")

_SOON_S = 5.0
_BEAT_S = 5.0

Work = asyncio.Future[dict[str, Any]]


async def respond(
    work: Work, message: Message, visit: Visit, *, streams: bool, gone: Receive | None
) -> Response:
    told = message.meta.get("progressToken")
    wants_progress = streams and isinstance(told, str | int) and not isinstance(told, bool)
    watcher = asyncio.ensure_future(_watch(gone)) if gone is not None else None
    try:
        if streams:
            waited: set[asyncio.Future[Any]] = {work, watcher} if watcher is not None else {work}
            await asyncio.wait(
                waited, timeout=1.0 if wants_progress else _SOON_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not work.done() and not (watcher is not None and watcher.done()):
                stream = _events(work, message, visit, told if wants_progress else None)
                return StreamingResponse(
                    stream, media_type="text/event-stream", headers={"cache-control": "no-store"}
                )
        elif watcher is not None:
            both: set[asyncio.Future[Any]] = {work, watcher}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if watcher is not None and watcher.done() and not work.done():
            work.cancel()
        return json_response(await work, headers=visit.answer_headers)
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        if watcher is not None:
            watcher.cancel()


async def _watch(gone: Receive) -> None:
    while (await gone())["type"] != "http.disconnect":
        pass


async def _events(
    work: Work, message: Message, visit: Visit, token: str | int | None
) -> AsyncIterator[bytes]:
    try:
        while not work.done():
            await asyncio.wait({work}, timeout=1.0 if token is not None else _BEAT_S)
            if not work.done():
                yield _progress(token, visit)
        yield event_of(_end(work, message))
    finally:
        # An older client that went away may come back for its session; its work is not cut off.
        if not work.done() and message.is_modern:
            work.cancel()


def _end(work: Work, message: Message) -> dict[str, Any]:
    try:
        return work.result()
    except Refusal as refusal:
        return refusal.body()
    except Exception:
        log.exception("an MCP endpoint failed in a stream")
        return Refusal(INTERNAL, "Something went wrong on our side.", of=message.id).body()


def _progress(token: str | int | None, visit: Visit) -> bytes:
    told = visit.progress() if token is not None else None
    if told is None:
        return b": still running\n\n"
    params = {"progressToken": token, **told}
    return event_of({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
