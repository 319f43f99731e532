"""What all MCP endpoints do alike: one POST is one message, or a batch of the oldest revision. Nothing is
kept between two requests, so any node answers any of them.

It does in order: who asks, whether the origin may, where it goes, what the message is; then the answer, as
JSON or, where it takes long and the client reads streams, as events. Which tools there are is the endpoint's.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ammeter.base.errors import AmmeterError, MethodNotAllowed, NotAcceptable, UnsupportedMediaType
from ammeter.doors.http.body import read_whole
from ammeter.doors.http.call import Call
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import internal_error
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.mcp_protocol.answers import fault_response, json_response, refused, result_of
from ammeter.doors.mcp_protocol.messages import Message, Refusal, read_messages
from ammeter.doors.mcp_protocol.stream import respond
from ammeter.doors.mcp_protocol.visit import Visit
from ammeter.wiring import House

log = logging.getLogger("ammeter.mcp")

V = TypeVar("V", bound=Visit)


class McpDoor(ABC, Generic[V]):
    def __init__(self, house: House, hosts: AllowedHosts, *, route: str) -> None:
        self._house = house
        self._hosts = hosts
        self._route = route

    @abstractmethod
    async def admit(self, request: Request, call: Call) -> V:
        """The visit of a caller who is known; raises where it leads nowhere."""

    @abstractmethod
    async def result(self, visit: V, message: Message) -> dict[str, Any]:
        """The result of one message; Refusal where it is none of ours."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        notes = notes_of(scope)
        notes.route = self._route
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Refusal as refusal:
            # The task that raised it holds the error, and the frames of the error hold the task.
            response = refused(refusal.with_traceback(None))
        except AmmeterError as error:
            response = fault_response(error.with_traceback(None), notes.request_id)
        except Exception:
            log.exception("an MCP endpoint failed", extra={"request_id": notes.request_id})
            response = fault_response(internal_error(), notes.request_id)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return _only_post(notes_of(request.scope).request_id)
        call = Call(self._house, request.scope)
        await call.authenticate()
        self._check_origin(call.headers)
        visit = await self.admit(request, call)
        _check_media(call.headers)
        body = await read_whole(request.receive)
        messages, is_batch = read_messages(body, call.headers)
        visit.bytes_in = len(body)
        if is_batch:
            return await self._answer_batch(visit, messages)
        return await self._answer_one(request, visit, messages[0])

    async def _answer_one(self, request: Request, visit: V, message: Message) -> Response:
        if not message.wants_answer:
            return Response(status_code=202)
        work = asyncio.ensure_future(self._result(visit, message))
        streams = "text/event-stream" in visit.headers.get("accept", "")
        return await respond(
            work,
            message,
            visit,
            streams=streams,
            gone=request.receive if message.is_modern else None,
        )

    async def _answer_batch(self, visit: V, messages: list[Message]) -> Response:
        answers: list[dict[str, Any]] = []
        for message in messages:
            if message.wants_answer:
                try:
                    answers.append(await self._result(visit, message))
                except Refusal as refusal:
                    answers.append(refusal.body())
        return json_response(answers) if answers else Response(status_code=202)

    async def _result(self, visit: V, message: Message) -> dict[str, Any]:
        try:
            result = await self.result(visit, message)
        except Refusal as refusal:
            refusal.id = message.id
            raise
        return result_of(message, result, visit.session_handle)

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """A page in someone's browser may not talk to the endpoint behind their back."""
        origin = headers.get("origin")
        if origin and not self._hosts.allows(origin.partition("://")[2].encode()):
            raise Refusal(-32000, "This origin is not among AMMETER_ALLOWED_HOSTS.", status=403)


def _only_post(request_id: str) -> Response:
    told = "Send messages with POST. There is no stream to read with GET and no session to end with DELETE."
    response = fault_response(MethodNotAllowed(told), request_id)
    response.headers["allow"] = "POST"
    return response


def _check_media(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(f"Send messages as application/json; this one came as {kind[:80]!r}.")
    accept = headers.get("accept", "*/*").lower()
    if not any(word in accept for word in ("application/json", "text/event-stream", "*/*", "application/*")):
        raise NotAcceptable(
            "Accept application/json and text/event-stream; the request accepts neither of them."
        )
