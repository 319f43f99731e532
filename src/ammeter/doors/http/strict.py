"""Strict requests: what a route does not know, it refuses, and says what was meant.

A StrictRoute looks at a request in this order: who asks, what may come back, what was sent. So a
stranger always gets 401, whatever else is wrong, and no body is read for one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import cached_property
from typing import Annotated, Any, get_origin

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ammeter.base.errors import (
    Detail,
    MalformedJson,
    NotAcceptable,
    UnsupportedMediaType,
    ValidationFailed,
)
from ammeter.base.text import did_you_mean
from ammeter.doors.http.body import parse_json
from ammeter.doors.http.call import Call
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import from_validation


class Body(BaseModel):
    """Base of every request body: camelCase names, nothing unknown, no type guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, validate_by_name=False)


class Record(BaseModel):
    """Base of every camelCase answer."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)

    @cached_property
    def as_json(self) -> bytes:
        """Made once, however often a record that is kept is given."""
        return self.__pydantic_serializer__.to_json(self, by_alias=True)


class SnakeRecord(BaseModel):
    """Base of every snake_case answer: MCP sources and insights."""

    model_config = ConfigDict(frozen=True)


class StrictRoute(APIRoute):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # A body without a content type is taken for JSON: we read it before FastAPI does.
        super().__init__(*args, **{**kwargs, "strict_content_type": False})
        if _asks_only_for_the_call(self.dependant) and _is_record(self.response_model):
            # There is nothing for FastAPI to solve, and its way there is a third of such a request.
            self.app = self._answer_plainly

    @property
    def is_plain(self) -> bool:
        """Whether requests for it are known by their path alone and need nothing of FastAPI."""
        return self.app == self._answer_plainly and not self.param_convertors

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        body_model = self.body_field.field_info.annotation if self.body_field else None
        body_required = bool(self.body_field and self.body_field.field_info.is_required())

        async def strict(request: Request) -> Response:
            await self._admit(request)
            if body_model is not None:
                request = await _with_json(request, required=body_required)
            try:
                return await handle(request)
            except RequestValidationError as error:
                # The frame that raised it holds the error, and the error that frame.
                raise from_validation(error.with_traceback(None), body_model) from None

        return strict

    async def _answer_plainly(self, scope: Scope, receive: Receive, send: Send) -> None:
        record: Record = await self.endpoint(await self._admit(Request(scope, receive)))
        body = record.as_json
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status_code or 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _admit(self, request: Request) -> Call:
        notes_of(request.scope).route = request.scope.get("root_path", "") + self.path
        call = Call(request.scope["ammeter.house"], request.scope)
        request.scope["ammeter.call"] = call
        await call.authenticate()
        await self.check_sender(request)
        _check_accept(call.headers.get("accept", "").lower())
        if request.scope["query_string"]:
            _check_query(request, self._known_query)
        return call

    @cached_property
    def _known_query(self) -> dict[str, bool]:
        return dict(sorted(_query_names(self.dependant)))

    async def check_sender(self, request: Request) -> None:
        """For routes that ask more of a sender than a key; the body may be read here, once for all."""


async def _current_call(request: Request) -> Call:
    call: Call = request.scope["ammeter.call"]
    return call


CurrentCall = Annotated[Call, Depends(_current_call)]


class _JsonRequest(Request):
    """A request whose JSON was parsed by us already."""

    def __init__(self, request: Request, body: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._ammeter_body = body
        self._ammeter_value = value

    async def body(self) -> bytes:
        return self._ammeter_body

    async def json(self) -> Any:
        return self._ammeter_value


async def _with_json(request: Request, *, required: bool) -> Request:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType(f"Send the body as application/json; it came as {kind!r}.")
    body = await request.body()
    if not body:
        if required:
            raise MalformedJson("The body is empty; a JSON object is expected.")
        return request
    return _JsonRequest(request, body, parse_json(body))


def _check_accept(accept: str) -> None:
    if not accept or "*/*" in accept or "application/json" in accept or "application/*" in accept:
        return
    raise NotAcceptable(f"Answers here are application/json; the request accepts only {accept[:200]!r}.")


def _check_query(request: Request, known: dict[str, bool]) -> None:
    problems = [
        Detail(path=f"query.{name}", message=f"unknown parameter.{did_you_mean(name, known)}")
        for name in request.query_params
        if name not in known
    ]
    problems += [
        Detail(path=f"query.{name}", message="this is given more than once")
        for name, may_repeat in known.items()
        if not may_repeat and len(request.query_params.getlist(name)) > 1
    ]
    problems += [
        Detail(path=f"query.{name}", message="a NUL character is not allowed")
        for name, value in request.query_params.multi_items()
        if "\0" in value
    ]
    if problems:
        raise ValidationFailed(problems)


def _asks_only_for_the_call(dependant: Dependant) -> bool:
    asked = (
        *dependant.path_params,
        *dependant.query_params,
        *dependant.header_params,
        *dependant.cookie_params,
        *dependant.body_params,
        dependant.request_param_name,
        dependant.response_param_name,
        dependant.background_tasks_param_name,
    )
    return not any(asked) and [inner.call for inner in dependant.dependencies] == [_current_call]


def _is_record(model: Any) -> bool:
    return isinstance(model, type) and issubclass(model, Record)


def _query_names(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Each query parameter, and whether it may be given more than once."""
    for parameter in dependant.query_params:
        yield parameter.alias, get_origin(parameter.field_info.annotation) in (list, tuple, set)
    for inner in dependant.dependencies:
        yield from _query_names(inner)
