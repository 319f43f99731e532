"""The arguments of a call, checked on the host before anything is sent: what is unknown, missing or of the
wrong type, each said with its path and, where a name is near, what was meant.

Descriptions are often stricter than the APIs behind them, so what is checked is what a script gets wrong:
names, types, enums, lengths and bounds. Formats and patterns are left to the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Json, Operation
from ammeter.engines.compiler.typescript import object_parts

_MAX_PROBLEMS = 10
_MAX_DEPTH = 40
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


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
    problems = list(_top(known, arguments))
    for name, (schema, _) in known.items():
        if name in arguments and arguments[name] is not None:
            problems += _check(schema, arguments[name], f"args.{name}", api.schemas, 0)
    return tuple(problems[:_MAX_PROBLEMS])


def expected(api: Api, operation: Operation) -> dict[str, tuple[Json, bool]]:
    """By key of the argument object: its schema, and whether it must be there."""
    known = {p.arg: (p.schema, p.required) for p in operation.parameters}
    body = operation.body
    if body is None:
        return known
    if body.args is None:
        schema: Json = {} if body.kind in ("text", "binary") else body.schema
        known[body.body_arg] = (schema, body.required)
        return known
    properties, required = object_parts(body.schema, api.schemas)
    for name, arg in body.args.items():
        part = properties.get(name, {})
        known[arg] = (part, body.required and name in required and not part.get("readOnly"))
    return known


def _top(known: Mapping[str, tuple[Json, bool]], arguments: dict[str, Any]) -> Iterator[Problem]:
    for name in arguments:
        if name not in known:
            takes = f" It takes {', '.join(known)}." if known and len(known) <= 12 else ""
            meant = did_you_mean(name, known) or takes
            yield Problem(path=f"args.{name}", message=f"unknown argument.{meant or ' It takes none.'}")
    for name, (_, required) in known.items():
        if required and (name not in arguments or arguments[name] is None):
            yield Problem(path=f"args.{name}", message="this argument is required")


def _check(schema: Json, value: Any, path: str, schemas: Mapping[str, Json], depth: int) -> list[Problem]:
    if depth > _MAX_DEPTH:
        return []
    if "$ref" in schema:
        target = schemas.get(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), {})
        return _check(target, value, path, schemas, depth + 1)
    if found := _combined(schema, value, path, schemas, depth):
        return found
    if (wrong := _wrong_type(schema, value)) is not None:
        return [Problem(path=path, message=wrong)]
    if "const" in schema and value != schema["const"]:
        return [Problem(path=path, message=f"this is always {schema['const']!r}, not {_shown(value)}")]
    if schema.get("enum") and value not in schema["enum"]:
        return [Problem(path=path, message=_not_among(schema["enum"], value))]
    if isinstance(value, str | list) or _is_number(value):
        found += _bounds(schema, value, path)
    if isinstance(value, list):
        found += _items(schema, value, path, schemas, depth)
    if isinstance(value, dict):
        found += _members(schema, value, path, schemas, depth)
    return found


def _combined(schema: Json, value: Any, path: str, schemas: Mapping[str, Json], depth: int) -> list[Problem]:
    for word in ("oneOf", "anyOf"):
        tried = [_check(part, value, path, schemas, depth + 1) for part in schema.get(word, ())]
        if tried and all(tried):
            return min(tried, key=len)[:3]
    parts = schema.get("allOf", ())
    return [problem for part in parts for problem in _check(part, value, path, schemas, depth + 1)]


def _wrong_type(schema: Json, value: Any) -> str | None:
    kinds = schema.get("type")
    if kinds is None:
        return None
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if any(_is(kind, value) for kind in kinds):
        return None
    if schema.get("format") == "binary" and isinstance(value, dict) and "base64" in value:
        return None
    return f"{' or '.join(kinds)} expected, not {_kind(value)} {_shown(value)}"


def _is(kind: str, value: Any) -> bool:
    if kind == "integer":
        return _is_number(value) and float(value).is_integer()
    if kind == "number":
        return _is_number(value)
    checks = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
    return isinstance(value, checks.get(kind, object))


def _not_among(choices: list[Any], value: Any) -> str:
    shown = ", ".join(repr(choice) for choice in choices[:20]) + (", …" if len(choices) > 20 else "")
    meant = did_you_mean(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else ""
    return f"{_shown(value)} is none of {shown}.{meant}"


def _bounds(schema: Json, value: Any, path: str) -> list[Problem]:
    size = len(value) if isinstance(value, str | list) else value
    low, high, what = "minimum", "maximum", ""
    if isinstance(value, str):
        low, high, what = "minLength", "maxLength", "characters"
    elif isinstance(value, list):
        low, high, what = "minItems", "maxItems", "items"
    found: list[Problem] = []
    if _is_number(schema.get(low)) and size < schema[low]:
        found.append(Problem(path=path, message=f"at least {schema[low]} {what}".rstrip() + f", not {size}"))
    if _is_number(schema.get(high)) and size > schema[high]:
        found.append(Problem(path=path, message=f"at most {schema[high]} {what}".rstrip() + f", not {size}"))
    if not what and _is_number(schema.get("exclusiveMinimum")) and size <= schema["exclusiveMinimum"]:
        found.append(Problem(path=path, message=f"more than {schema['exclusiveMinimum']}, not {size}"))
    if not what and _is_number(schema.get("exclusiveMaximum")) and size >= schema["exclusiveMaximum"]:
        found.append(Problem(path=path, message=f"less than {schema['exclusiveMaximum']}, not {size}"))
    return found


def _items(
    schema: Json, value: list[Any], path: str, schemas: Mapping[str, Json], depth: int
) -> list[Problem]:
    found: list[Problem] = []
    for i, item in enumerate(value):
        places = schema.get("prefixItems", ())
        part = places[i] if i < len(places) else schema.get("items", {})
        found += _check(part, item, f"{path}[{i}]", schemas, depth + 1)
        if len(found) >= _MAX_PROBLEMS:
            break
    return found


def _members(
    schema: Json, value: dict[str, Any], path: str, schemas: Mapping[str, Json], depth: int
) -> list[Problem]:
    properties = schema.get("properties", {})
    found = [
        Problem(path=f"{path}.{name}", message="this is required")
        for name in schema.get("required", ())
        if name not in value and not properties.get(name, {}).get("readOnly")
    ]
    extra = schema.get("additionalProperties")
    for name, part in value.items():
        if name in properties:
            if part is not None:
                found += _check(properties[name], part, f"{path}.{name}", schemas, depth + 1)
        elif extra is False:
            found.append(
                Problem(path=f"{path}.{name}", message=f"unknown field.{did_you_mean(name, properties)}")
            )
        elif isinstance(extra, dict):
            found += _check(extra, part, f"{path}.{name}", schemas, depth + 1)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
