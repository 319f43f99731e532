"""Small descriptions for the tests of the diff: one operation, or one schema at one place of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.diff import ApiDiff, Change, diff_apis
from ammeter.engines.compiler.diff.schema_rules import Place
from ammeter.engines.compiler.model import Api, Body, Json, Location, Operation, Parameter, Response

JSON = "application/json"


def api(*operations: Operation, schemas: Mapping[str, Json] | None = None, **more: Any) -> Api:
    return Api(
        title="Shop",
        version="1",
        description="",
        servers=(),
        operations=operations,
        schemas=schemas or {},
        security_schemes=more.get("security_schemes", {}),
    )


def operation(**more: Any) -> Operation:
    plain = Operation(
        id="listOrders",
        method="get",
        path="/orders",
        pointer="/paths/~1orders/get",
        group=("orders",),
        name="list",
        summary="",
        description="",
        tags=(),
        deprecated=False,
        parameters=(),
        body=None,
        responses=(answer({"type": "object"}),),
        security=(),
    )
    return replace(plain, **more)


def parameter(
    name: str,
    schema: Json | None = None,
    *,
    location: Location = "query",
    required: bool = False,
    **more: Any,
) -> Parameter:
    plain = Parameter(
        name=name,
        arg=name,
        location=location,
        required=required,
        schema={"type": "string"} if schema is None else schema,
        style="form",
        explode=True,
    )
    return replace(plain, **more)


def body(schema: Json, **more: Any) -> Body:
    plain = Body(content_type=JSON, kind="json", required=True, schema=schema, args=None)
    return replace(plain, **more)


def flat(*names: str, **more: Any) -> Body:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return body(schema, args={name: name for name in names}, **more)


def answer(schema: Json | None, status: str = "200", **more: Any) -> Response:
    return replace(Response(status=status, kind="json", content_type=JSON, schema=schema), **more)


def placed(place: Place, schema: Json) -> Operation:
    inner = {"type": "object", "properties": {"x": schema}}
    return {
        "request-parameter": operation(parameters=(parameter("p", schema),)),
        "request-parameter-property": operation(parameters=(parameter("p", inner),)),
        "request-body": operation(body=body(schema)),
        "request-property": operation(body=body(inner)),
        "response-body": operation(responses=(answer(schema),)),
        "response-property": operation(responses=(answer(inner),)),
    }[place]


def changes(diff: ApiDiff) -> list[Change]:
    return [change for entry in diff.signature_changed for change in entry.changes]


def compared(old: Operation, new: Operation) -> list[Change]:
    return changes(diff_apis(api(old), api(new)))


def rules(old: Operation, new: Operation) -> set[str]:
    return {change.rule for change in compared(old, new)}


def answers_compared(old: Json, new: Json, **schemas: tuple[Json, Json]) -> list[Change]:
    """The changes between two answers, with named schemas as pairs of old and new."""
    before = {name: pair[0] for name, pair in schemas.items()}
    after = {name: pair[1] for name, pair in schemas.items()}
    olds, news = operation(responses=(answer(old),)), operation(responses=(answer(new),))
    return changes(diff_apis(api(olds, schemas=before), api(news, schemas=after)))
