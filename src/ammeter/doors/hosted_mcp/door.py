"""`/product-mcp/<source-slug>`: one POST is one message, or a batch of the oldest revision. Nothing is kept
between two requests, so any node answers any of them.

It does in order: who asks, whether the origin may, where it goes, what the message is; then the answer, as
JSON or, where a script takes long and the client reads streams, as events.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ammeter.base.errors import AmmeterError, MethodNotAllowed, NotAcceptable, UnsupportedMediaType
from ammeter.doors.hosted_mcp.answers import fault_response, json_response, refused, result_of
from ammeter.doors.hosted_mcp.endpoint import Endpoint, Visit
from ammeter.doors.hosted_mcp.protocol import Message, Refusal, read_messages
from ammeter.doors.hosted_mcp.stream import respond
from ammeter.doors.http.call import Call, Caller
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import internal_error
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.engines.db.database import Tx
from ammeter.features.gateway.live import Target, find_target
from ammeter.wiring import House

log = logging.getLogger("ammeter.hosted_mcp")

HOSTED_BASE = "/product-mcp"
_ROUTE = HOSTED_BASE + "/{slug}"


class HostedMcp:
    def __init__(self, house: House, hosts: AllowedHosts) -> None:
        self._house = house
        self._hosts = hosts
        self._endpoint = Endpoint(house)
        house.recorder.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        notes = notes_of(scope)
        notes.route = _ROUTE
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Refusal as refusal:
            response = refused(refusal)
        except AmmeterError as error:
            response = fault_response(error, notes.request_id)
        except Exception:
            log.exception("hosted endpoint failed", extra={"request_id": notes.request_id})
            response = fault_response(internal_error(), notes.request_id)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return _only_post(notes_of(request.scope).request_id)
        call = Call(self._house, request)
        await call.authenticate()
        self._check_origin(request)
        query = request.query_params
        slug = request.scope["path"].removeprefix(HOSTED_BASE + "/")
        target, caller = await call.read_few(_find, slug, query.get("environment", "production"))
        _check_media(request)
        body = await request.body()
        messages, is_batch = read_messages(body, request.headers)
        visit = Visit(
            target=target,
            principal=caller.principal,
            headers=request.headers,
            request_id=notes_of(request.scope).request_id,
            read_only=query.get("mode") == "read",
            bytes_in=len(body),
        )
        if is_batch:
            return await self._answer_batch(visit, messages)
        return await self._answer_one(request, visit, messages[0])

    async def _answer_one(self, request: Request, visit: Visit, message: Message) -> Response:
        if not message.wants_answer:
            return Response(status_code=202)
        work = asyncio.ensure_future(self._result(visit, message))
        streams = "text/event-stream" in request.headers.get("accept", "")
        return await respond(
            work,
            message,
            visit,
            streams=streams,
            gone=request.receive if message.is_modern else None,
        )

    async def _answer_batch(self, visit: Visit, messages: list[Message]) -> Response:
        answers: list[dict[str, Any]] = []
        for message in messages:
            if message.wants_answer:
                try:
                    answers.append(await self._result(visit, message))
                except Refusal as refusal:
                    answers.append(refusal.body())
        return json_response(answers) if answers else Response(status_code=202)

    async def _result(self, visit: Visit, message: Message) -> dict[str, Any]:
        try:
            result = await self._endpoint.result(visit, message)
        except Refusal as refusal:
            refusal.id = message.id
            raise
        return result_of(message, result, visit.session_handle)

    def _check_origin(self, request: Request) -> None:
        """A page in someone's browser may not talk to the endpoint behind their back."""
        origin = request.headers.get("origin")
        if origin and not self._hosts.allows(origin.partition("://")[2].encode()):
            raise Refusal(-32000, "This origin is not among AMMETER_ALLOWED_HOSTS.", status=403)


def _find(tx: Tx, caller: Caller, slug: str, environment: str) -> tuple[Target, Caller]:
    return find_target(tx, caller.principal, slug, environment), caller


def _only_post(request_id: str) -> Response:
    told = "Send messages with POST. There is no stream to read with GET and no session to end with DELETE."
    response = fault_response(MethodNotAllowed(told), request_id)
    response.headers["allow"] = "POST"
    return response


def _check_media(request: Request) -> None:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(f"Send messages as application/json; this one came as {kind[:80]!r}.")
    accept = request.headers.get("accept", "*/*").lower()
    if not any(word in accept for word in ("application/json", "text/event-stream", "*/*", "application/*")):
        raise NotAcceptable(
            "Accept application/json and text/event-stream; the request accepts neither of them."
        )
