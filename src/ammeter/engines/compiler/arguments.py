"""The arguments of a call, checked on the host before anything is sent: what is unknown, missing or of the
wrong type, each said with its path and, where a name is near, what was meant.

Descriptions are often stricter than the APIs behind them, so what is checked is what a script gets wrong:
names, types, enums, lengths and bounds. Formats and patterns are left to the API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Json, Operation
from ammeter.engines.compiler.shapes import kinds, object_parts

_MAX_PROBLEMS = 10
_MAX_DEPTH = 40
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
_EXACT = {"string": str, "boolean": bool, "integer": int, "object": dict, "array": list}
_CHECKS = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
_COMBINING = frozenset({"oneOf", "anyOf", "allOf"})
_BOUNDS = frozenset(
    {
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)
_TEXT: Json = {"type": "string"}
_BINARY: Json = {"type": "string", "format": "binary"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    path: str
    message: str


def check_arguments(api: Api, operation: Operation, arguments: Any) -> tuple[Problem, ...]:
    """What is wrong with the one argument of a method; nothing where it can be sent."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return (Problem(path="args", message=f"a method takes one object, not {_kind(arguments)}"),)
    known = expected(api, operation)
    check = _Check(api.schemas)
    problems = list(_unknown(known, operation, arguments))
    for name, (schema, required) in known.items():
        value = arguments.get(name)
        path = _step("args", name)
        if value is not None:
            problems += check.value(schema, value, path, 0)
        elif required and (name not in arguments or check.value(schema, None, path, 0)):
            problems.append(Problem(path=path, message="this argument is required"))
    return tuple(problems[:_MAX_PROBLEMS])


def check_value(schema: Json, value: Any, schemas: Mapping[str, Json]) -> tuple[Problem, ...]:
    """What is wrong with one value."""
    return tuple(_Check(schemas).value(schema, value, "value", 0)[:_MAX_PROBLEMS])


def expected(api: Api, operation: Operation) -> dict[str, tuple[Json, bool]]:
    """By key of the argument object: its schema, and whether it must be there."""
    known = {p.arg: (p.schema, p.required) for p in operation.parameters}
    body = operation.body
    if body is None:
        return known
    if body.args is None:
        schema = _TEXT if body.kind == "text" else _BINARY if body.kind == "binary" else body.schema
        known[body.body_arg] = (schema, body.required)
        return known
    properties, required = object_parts(body.schema, api.schemas)
    for name, arg in body.args.items():
        part = properties.get(name, {})
        known[arg] = (part, body.required and name in required and not part.get("readOnly"))
    return known


def _unknown(
    known: Mapping[str, tuple[Json, bool]], operation: Operation, arguments: dict[str, Any]
) -> Iterator[Problem]:
    takes = f" It takes {', '.join(known)}." if len(known) <= 12 else ""
    for name in arguments:
        if name in known:
            continue
        hint = did_you_mean(name, known) or (takes if known else " It takes none.")
        if name in ("body", "requestBody", "data") and operation.body is not None and operation.body.args:
            hint = " The fields of the body stand in the argument object itself."
        yield Problem(path=_step("args", name), message=f"unknown argument.{hint}")


class _Check:
    """One check of one value. A named schema is tried once at each place, so that schemas which refer to
    each other many times over do not multiply."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._schemas = schemas
        self._tried: dict[tuple[str, str, bool], list[Problem]] = {}

    def value(self, schema: Json, value: Any, path: str, depth: int, *, closed: bool = True) -> list[Problem]:
        """`closed`: fields that the schema excludes are unknown; not so in a part of an `allOf`, where
        descriptions often forget the other parts."""
        if depth > _MAX_DEPTH:
            return []
        if "$ref" in schema:
            return self._named(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), value, path, depth, closed)
        if schema.get("not") == {}:
            return [Problem(path=path, message="no value is allowed here")]
        if not _COMBINING.isdisjoint(schema) and (found := self._combined(schema, value, path, depth)):
            return found
        if (wrong := _wrong_type(schema, value)) is not None:
            return [Problem(path=path, message=wrong)]
        if "const" in schema and not _same(value, schema["const"]):
            told = f"this is always {_shown(schema['const'])}, not {_shown(value)}"
            return [Problem(path=path, message=told)]
        if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
            return [Problem(path=path, message=_not_among(schema["enum"], value))]
        found = [] if _BOUNDS.isdisjoint(schema) else _bounds(schema, value, path)
        if isinstance(value, list):
            found += self._items(schema, value, path, depth)
        if isinstance(value, dict) and not _is_bytes(schema, value):
            found += self._members(schema, value, path, depth, closed)
        return found

    def _named(self, name: str, value: Any, path: str, depth: int, closed: bool) -> list[Problem]:
        place = (name, path, closed)
        if place not in self._tried:
            # While it is being tried it is taken to fit: what refers only to itself forbids nothing.
            self._tried[place] = []
            self._tried[place] = self.value(
                self._schemas.get(name, {}), value, path, depth + 1, closed=closed
            )
        return self._tried[place]

    def _combined(self, schema: Json, value: Any, path: str, depth: int) -> list[Problem]:
        for word in ("oneOf", "anyOf"):
            tried: list[list[Problem]] = []
            for part in schema.get(word, ()):
                tried.append(self.value(part, value, path, depth + 1))
                if not tried[-1]:
                    break
            else:
                if tried:
                    return _nearest_choice(tried, path, schema.get("discriminator"))
        found: list[Problem] = []
        for part in schema.get("allOf", ()):
            found += self.value(part, value, path, depth + 1, closed=False)
        return list(dict.fromkeys(found))

    def _items(self, schema: Json, value: list[Any], path: str, depth: int) -> list[Problem]:
        found: list[Problem] = []
        places = schema.get("prefixItems", ())
        for i, item in enumerate(value):
            part = places[i] if i < len(places) else schema.get("items", {})
            if part:
                found += self.value(part, item, f"{path}[{i}]", depth + 1)
            if len(found) >= _MAX_PROBLEMS:
                break
        return found

    def _members(
        self, schema: Json, value: dict[str, Any], path: str, depth: int, closed: bool
    ) -> list[Problem]:
        properties = schema.get("properties", {})
        found = [
            Problem(path=_step(path, name), message="this is required")
            for name in schema.get("required", ())
            if name not in value and not properties.get(name, {}).get("readOnly")
        ]
        extra = schema.get("additionalProperties")
        needed = schema.get("required", ())
        for name, part in value.items():
            here = _step(path, name)
            if name in properties:
                if part is not None or name in needed:
                    found += self.value(properties[name], part, here, depth + 1)
            elif extra is False and closed:
                hint = did_you_mean(name, properties)
                found.append(Problem(path=here, message=f"unknown field.{hint}"))
            elif isinstance(extra, dict):
                found += self.value(extra, part, here, depth + 1)
            if len(found) >= _MAX_PROBLEMS:
                break
        return found


def _nearest_choice(tried: list[list[Problem]], path: str, told_by: Any) -> list[Problem]:
    """What is wrong by the choice that was most likely meant."""
    messages = [problem.message for problems in tried for problem in problems]
    if all(" expected, not " in message for message in messages) and all(
        problem.path == path for problems in tried for problem in problems
    ):
        wanted = dict.fromkeys(message.partition(" expected")[0] for message in messages)
        _, _, got = messages[0].partition(" expected, ")
        return [Problem(path=path, message=f"{' or '.join(wanted)} expected, {got}")]
    mark = _step(path, str(told_by))
    # A wrong type right here is further off than a fault inside.
    nearest = min(tried, key=lambda found: (any(p.path in (mark, path) for p in found), len(found)))
    return nearest[:3]


def _wrong_type(schema: Json, value: Any) -> str | None:
    words = kinds(schema)
    if len(words) == 1 and type(value) is _EXACT.get(words[0]):
        return None
    if not words or any(_is(kind, value) for kind in words) or _is_bytes(schema, value):
        return None
    what = "text or { base64 }" if schema.get("format") == "binary" else " or ".join(words)
    told = _kind(value) if isinstance(value, dict | list | None) else f"{_kind(value)} {_shown(value)}"
    return f"{what} expected, not {told}"


def _is_bytes(schema: Json, value: Any) -> bool:
    return (
        schema.get("format") == "binary" and isinstance(value, dict) and isinstance(value.get("base64"), str)
    )


def _is(kind: str, value: Any) -> bool:
    if kind == "integer":
        return _is_number(value) and (isinstance(value, int) or value.is_integer())
    if kind == "number":
        return _is_number(value)
    return isinstance(value, _CHECKS.get(kind, object))


def _same(value: Any, other: Any) -> bool:
    """As JSON compares: true is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _not_among(choices: list[Any], value: Any) -> str:
    listed = ", ".join(map(_shown, choices[:20])) + (", …" if len(choices) > 20 else "")
    meant = did_you_mean(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else ""
    return f"{_shown(value)} is none of {listed}.{meant}"


def _bounds(schema: Json, value: Any, path: str) -> list[Problem]:
    if isinstance(value, str):
        low, high, what, size = "minLength", "maxLength", " characters", len(value)
    elif isinstance(value, list):
        low, high, what, size = "minItems", "maxItems", " items", len(value)
    elif isinstance(value, dict):
        low, high, what, size = "minProperties", "maxProperties", " fields", len(value)
    elif _is_number(value):
        low, high, what, size = "minimum", "maximum", "", value
    else:
        return []
    told: list[str] = []
    if low in schema and size < schema[low]:
        told.append(f"at least {schema[low]}{what} expected, not {size}")
    if high in schema and size > schema[high]:
        told.append(f"at most {schema[high]}{what} expected, not {size}")
    if not what and "exclusiveMinimum" in schema and size <= schema["exclusiveMinimum"]:
        told.append(f"more than {schema['exclusiveMinimum']} expected, not {size}")
    if not what and "exclusiveMaximum" in schema and size >= schema["exclusiveMaximum"]:
        told.append(f"less than {schema['exclusiveMaximum']} expected, not {size}")
    return [Problem(path=path, message=message) for message in told]


def _step(path: str, name: str) -> str:
    name = name if len(name) <= 80 else name[:79] + "…"
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list) and len(value) > 20:
        return _kind(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
