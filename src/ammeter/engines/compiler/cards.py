"""One card per operation: what `search_sdk` shows of it, and the words by which it is found."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ammeter.engines.compiler.examples import example
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Card, Json, Operation
from ammeter.engines.compiler.typescript import comment, signature

_BODY_DEPTH = 3
_ANSWER_DEPTH = 2
_MAX_FIELDS = 400
_MAX_ANSWER_FIELDS = 200
_TAG = re.compile(r"<[^>]+>")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_ADDRESS = re.compile(r"https?://\S+")


def make_card(api: Api, operation: Operation, client_name: str) -> Card:
    body = _Words(api.schemas, _MAX_FIELDS)
    if operation.body is not None:
        body.read(operation.body.schema, _BODY_DEPTH)
    answer = _Words(api.schemas, _MAX_ANSWER_FIELDS)
    if operation.success is not None and operation.success.schema is not None:
        answer.read(operation.success.schema, _ANSWER_DEPTH)
    return Card(
        operation_id=operation.id,
        sdk_name=operation.sdk_name,
        method=operation.method,
        path=operation.path,
        signature=signature(api, operation, client_name),
        summary=comment(plain(operation.summary) or _first_sentence(plain(operation.description)), 300),
        example=example(api, operation, client_name),
        deprecated=operation.deprecated,
        tags=operation.tags,
        description=comment(plain(operation.description), 2_500),
        parameter_texts=tuple((p.name, plain(p.description)[:240]) for p in operation.parameters),
        body_fields=tuple(body.fields.items()),
        body_types=tuple(body.types),
        response_fields=tuple(answer.fields),
        response_types=tuple(answer.types),
        enums=tuple(_enums(api, operation)),
    )


def plain(text: str) -> str:
    """Text without markup."""
    text = _ADDRESS.sub(" ", _LINK.sub(r"\1", text))
    return " ".join(html.unescape(_TAG.sub(" ", text)).replace("`", "").replace("*", "").split())


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


@dataclass(slots=True)
class _Words:
    """Names of fields and types in a schema, nearest first, down to a depth."""

    schemas: Mapping[str, Json]
    limit: int
    fields: dict[str, str] = field(default_factory=dict)
    types: dict[str, None] = field(default_factory=dict)

    def read(self, schema: Json, depth: int) -> None:
        level = [schema]
        for _ in range(depth):
            level = self._level(level)

    def _level(self, todo: list[Json]) -> list[Json]:
        deeper: list[Json] = []
        seen: set[str] = set()
        todo = list(todo)
        while todo:
            part = todo.pop(0)
            if "$ref" in part:
                name = str(part["$ref"]).removeprefix(SCHEMA_PREFIX)
                if name not in seen:
                    seen.add(name)
                    self.types.setdefault(name)
                    todo.insert(0, self.schemas.get(name, {}))
                continue
            for word in ("allOf", "oneOf", "anyOf"):
                todo += part.get(word, ())
            if isinstance(part.get("items"), dict):
                todo.append(part["items"])
            if isinstance(part.get("additionalProperties"), dict):
                todo.append(part["additionalProperties"])
            for name, inner in part.get("properties", {}).items():
                if len(self.fields) >= self.limit:
                    return []
                self.fields.setdefault(name, plain(str(inner.get("description", "")))[:160])
                deeper.append(inner)
        return deeper


def _enums(api: Api, operation: Operation) -> list[str]:
    found: dict[str, None] = {}
    for parameter in operation.parameters:
        schema: Json = parameter.schema
        for _ in range(5):
            if "$ref" not in schema:
                break
            schema = api.schemas.get(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), {})
        found.update(dict.fromkeys(value for value in schema.get("enum", ())[:20] if isinstance(value, str)))
    return list(found)
