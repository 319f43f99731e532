"""A small API as its description tells of it, compiled and served: what `tests/upstream.py` answers to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import check
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.features.gateway.credentials import MissingCredential
from ammeter.features.gateway.host import ApiHost
from ammeter.features.gateway.served import ServedApi, served_api
from tests.upstream import CLIENT, CLIENT_SECRET, PASSWORD, TOKEN, USER, Upstream

T = TypeVar("T")

_ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
_ROWS = {"type": "array", "items": _ROW}
_INTEGER = {"type": "integer"}
SECRETS = {
    "secret:TOKEN": TOKEN,
    "secret:USER": USER,
    "secret:PASSWORD": PASSWORD,
    "secret:CLIENT": CLIENT,
    "secret:CLIENT_SECRET": CLIENT_SECRET,
}
BEARER = {"type": "bearer", "secretRef": "secret:TOKEN"}


def _query(name: str, schema: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema or {"type": "string"}, **more}


def _path(name: str, schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema or {"type": "string"}}


def _operation(
    operation_id: str,
    *parameters: Mapping[str, Any],
    answer: Any = None,
    body: Any = None,
    headers: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """`answer`: a schema, or a content of media types."""
    content = answer if answer and "schema" not in answer and "/" in next(iter(answer)) else None
    made: dict[str, Any] = {
        "operationId": operation_id,
        "parameters": list(parameters),
        "responses": {
            "200": {
                "description": "",
                "content": content or {"application/json": {"schema": answer or {}}},
                **({"headers": headers} if headers else {}),
            }
        },
    }
    if body is not None:
        made["requestBody"] = {"required": True, "content": body}
    return made | more


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_OBJECT = {"type": "object"}
PATHS: dict[str, Any] = {
    "/echo/{id}": {
        "get": _operation(
            "getThing",
            _path("id"),
            _query("tags", {"type": "array", "items": {"type": "string"}}),
            _query("limit", {"type": "integer", "maximum": 50}),
            {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            {"name": "X-Api-Key", "in": "header", "required": True, "schema": {"type": "string"}},
            {"name": "Host", "in": "header", "schema": {"type": "string"}},
            {"name": "session", "in": "cookie", "schema": {"type": "string"}},
            _query("api_key"),
            answer=_OBJECT,
        ),
        "post": _operation(
            "postThing",
            _path("id"),
            body=_json({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}),
            answer=_OBJECT,
        ),
        "delete": _operation("deleteThing", _path("id"), answer=_OBJECT),
    },
    "/echo/{a}/parts/{b}": {"get": _operation("getPart", _path("a"), _path("b", _INTEGER), answer=_OBJECT)},
    "/private/{kind}": {"get": _operation("getPrivate", _path("kind"), answer=_OBJECT)},
    "/pages": {
        "get": _operation(
            "listPages",
            _query("page", _INTEGER),
            _query("per_page", _INTEGER),
            answer={"type": "object", "properties": {"items": _ROWS}},
        )
    },
    "/offsets": {
        "get": _operation(
            "listOffsets",
            _query("offset", _INTEGER),
            _query("limit", _INTEGER),
            answer={"type": "object", "properties": {"data": _ROWS}},
        )
    },
    "/cursors": {
        "get": _operation(
            "listCursors",
            _query("cursor"),
            answer={
                "type": "object",
                "properties": {"results": _ROWS, "next_cursor": {"type": "string", "nullable": True}},
            },
        )
    },
    "/links": {
        "get": _operation("listLinks", answer=_ROWS, headers={"Link": {"schema": {"type": "string"}}})
    },
    "/status/{status}": {
        "post": _operation("postStatus", _path("status", _INTEGER), body=_json({}), answer=_OBJECT),
        "put": _operation("putStatus", _path("status", _INTEGER), body=_json({}), answer=_OBJECT),
    },
    "/flaky": {
        "get": _operation("getFlaky", _query("times", _INTEGER), answer=_OBJECT),
        "post": _operation("postFlaky", _query("times", _INTEGER), answer=_OBJECT),
    },
    "/flaky/key": {
        "post": _operation(
            "postFlakyOnce",
            _query("times", _INTEGER),
            {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}},
            answer=_OBJECT,
        )
    },
    "/slow": {
        "get": _operation("getSlow", answer=_OBJECT),
        "post": _operation("postSlow", answer=_OBJECT),
    },
    "/hang-up": {
        "get": _operation("getHangUp", answer=_OBJECT),
        "post": _operation("postHangUp", answer=_OBJECT),
    },
    "/huge": {"get": _operation("getHuge", answer={"text/plain": {"schema": {"type": "string"}}})},
    "/after": {"get": _operation("getAfter", _query("seen", _INTEGER), answer=_OBJECT)},
    "/garbage": {"post": _operation("postGarbage", answer=_OBJECT)},
    "/raw": {
        "post": _operation(
            "postRaw", _query("type"), body={"text/plain": {"schema": {"type": "string"}}}, answer=_OBJECT
        )
    },
    "/nothing": {"delete": _operation("deleteNothing", answer=_OBJECT)},
    "/redirect/{status}": {"get": _operation("getRedirect", _path("status", _INTEGER), answer=_OBJECT)},
}


def compiled(upstream: Upstream, **manifest: Any) -> Bundle:
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": upstream.url}],
        "paths": PATHS,
    }
    checked, faults = check(manifest)
    assert checked is not None, faults
    compilation = compile_description(
        Description(openapi=document, manifest=checked, given_manifest=manifest)
    )
    assert compilation.bundle is not None, compilation.findings
    return compilation.bundle


def served(upstream: Upstream, **manifest: Any) -> ServedApi:
    return served_api(compiled(upstream, **manifest), "production")


class Known:
    """Credentials by reference, as the secret store would give them."""

    def __init__(self, secrets: Mapping[str, str] = SECRETS) -> None:
        self.secrets = secrets
        self.asked: list[str] = []

    async def reveal(self, reference: str) -> str:
        self.asked.append(reference)
        if reference not in self.secrets:
            raise MissingCredential(f"There is no {reference}.")
        return self.secrets[reference]


def with_host(
    upstream: Upstream,
    work: Callable[[ApiHost], Awaitable[T]],
    *,
    auth: Any = None,
    manifest: Mapping[str, Any] | None = None,
    credentials: Known | None = None,
    **given: Any,
) -> T:
    told = dict(manifest or {}) | ({"auth": auth} if auth else {})

    async def go() -> T:
        egress = Egress(Guard(["127.0.0.0/8"]))
        options = {"max_calls": 50, "deadline": time.monotonic() + 20} | given
        host = ApiHost(served(upstream, **told), egress=egress, credentials=credentials or Known(), **options)
        try:
            return await work(host)
        finally:
            host.close()
            await egress.close()

    return asyncio.run(go())
