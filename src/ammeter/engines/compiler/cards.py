"""One card per operation: what `search_sdk` shows of it, and the words by which it is found."""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ammeter.engines.compiler.examples import example
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Card, Json, Operation, Parameter
from ammeter.engines.compiler.shapes import target
from ammeter.engines.compiler.text import comment
from ammeter.engines.compiler.types_text import Names
from ammeter.engines.compiler.typescript import signature

_BODY_DEPTH = 3
_ANSWER_DEPTH = 2
_MAX_FIELDS = 400
_MAX_ANSWER_FIELDS = 200
_MAX_TEXT = 20_000
# A key in a header says nothing of what an operation does.
_UNTOLD_HEADERS = {"x-api-key"}
# Each stops at the next opening sign, so that a text of nothing but those is read once, not squared.
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")
_ADDRESS = re.compile(r"https?://\S+")


def make_cards(api: Api, client_name: str, names: Names | None = None) -> tuple[Card, ...]:
    names = names or Names(api.schemas)
    return tuple(make_card(api, operation, client_name, names) for operation in api.operations)


def make_card(api: Api, operation: Operation, client_name: str, names: Names | None = None) -> Card:
    """`names`: those of the API's types, where many cards are made."""
    body = _Words(api.schemas, _MAX_FIELDS, with_texts=True)
    if operation.body is not None:
        body.read(operation.body.schema, _BODY_DEPTH)
    answer = _Words(api.schemas, _MAX_ANSWER_FIELDS, with_texts=False)
    if operation.success is not None and operation.success.schema is not None:
        answer.read(operation.success.schema, _ANSWER_DEPTH)
    return Card(
        operation_id=operation.id,
        sdk_name=operation.sdk_name,
        method=operation.method,
        path=operation.path,
        signature=signature(api, operation, client_name, names),
        summary=comment(plain(operation.summary) or _first_sentence(plain(operation.description)), 300),
        example=example(api, operation, client_name),
        deprecated=operation.deprecated,
        tags=operation.tags,
        description=comment(plain(operation.description), 2_500),
        parameter_texts=tuple((p.name, plain(p.description)[:240]) for p in _told_parameters(operation)),
        body_fields=tuple(body.fields.items()),
        body_types=tuple(body.types),
        response_fields=tuple(answer.fields),
        response_types=tuple(answer.types),
        enums=tuple(_enums(api, operation)),
    )


def _told_parameters(operation: Operation) -> Iterator[Parameter]:
    for parameter in operation.parameters:
        if parameter.location != "header" or parameter.name.lower() not in _UNTOLD_HEADERS:
            yield parameter


def plain(text: str) -> str:
    """Text without markup."""
    text = _ADDRESS.sub(" ", _LINK.sub(r"\1", text[:_MAX_TEXT]))
    return " ".join(html.unescape(_TAG.sub(" ", text)).replace("`", "").replace("*", "").split())


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


@dataclass(slots=True)
class _Words:
    """Names of fields and types in a schema, nearest first, down to a depth."""

    schemas: Mapping[str, Json]
    limit: int
    with_texts: bool
    fields: dict[str, str] = field(default_factory=dict)
    types: dict[str, None] = field(default_factory=dict)

    def read(self, schema: Json, depth: int) -> None:
        level = [schema]
        seen: set[str] = set()
        for _ in range(depth):
            level = self._level(level, seen)

    def _level(self, level: list[Json], seen: set[str]) -> list[Json]:
        deeper: list[Json] = []
        todo = deque(level)
        while todo:
            part = todo.popleft()
            if "$ref" in part:
                name = str(part["$ref"]).removeprefix(SCHEMA_PREFIX)
                if name not in seen:
                    seen.add(name)
                    self.types.setdefault(name)
                    todo.appendleft(self.schemas.get(name, {}))
                continue
            for word in ("allOf", "oneOf", "anyOf", "prefixItems"):
                todo.extend(part.get(word, ()))
            for word in ("items", "additionalProperties"):
                if isinstance(part.get(word), dict):
                    todo.append(part[word])
            for name, inner in part.get("properties", {}).items():
                if len(self.fields) >= self.limit:
                    return []
                if name not in self.fields:
                    text = str(inner.get("description", "")) if self.with_texts else ""
                    self.fields[name] = plain(text)[:160] if text else ""
                deeper.append(inner)
        return deeper


def _enums(api: Api, operation: Operation) -> list[str]:
    found: dict[str, None] = {}
    for parameter in operation.parameters:
        schema = target(parameter.schema, api.schemas)
        for part in (schema, target(schema.get("items", {}), api.schemas)):
            found.update(
                dict.fromkeys(value for value in part.get("enum", ())[:20] if isinstance(value, str))
            )
    return list(found)
