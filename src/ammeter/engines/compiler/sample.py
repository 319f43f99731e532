"""A value that a schema allows, the same each time: for examples that people read and mocks that answer.

The description's own example comes first, then default, enum, a word for the format or the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json
from ammeter.engines.compiler.typescript import object_parts

_MAX_DEPTH = 6
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "ada@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com",
    "url": "https://example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "aGVsbG8=",
}
BINARY = {"base64": "aGVsbG8=", "contentType": "application/octet-stream"}


def sample(
    schema: Json, schemas: Mapping[str, Json], *, name: str = "", whole: bool = False, depth: int = 0
) -> Any:
    """`whole`: optional properties too, as an answer has them; else only what is required."""
    if "$ref" in schema:
        target = str(schema["$ref"]).removeprefix(SCHEMA_PREFIX)
        return (
            sample(schemas.get(target, {}), schemas, name=name, whole=whole, depth=depth + 1)
            if depth < 20
            else None
        )
    for value in _given(schema):
        if fits_roughly(value, schema):
            return value
    for word in ("oneOf", "anyOf"):
        if schema.get(word):
            choices = [part for part in schema[word] if part.get("type") != "null"] or schema[word]
            return sample(choices[0], schemas, name=name, whole=whole, depth=depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((word for word in kind if word != "null"), "null")
    if "allOf" in schema or kind == "object" or "properties" in schema:
        return _object(schema, schemas, whole, depth)
    if kind == "array":
        return _array(schema, schemas, whole, depth, name)
    if kind in ("integer", "number"):
        return _number(schema, whole_number=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return _string(schema, name)


def _given(schema: Json) -> list[Any]:
    found = list(schema.get("examples", ()))
    found += [schema[word] for word in ("const", "default") if word in schema]
    return found + [value for value in schema.get("enum", ()) if value is not None][:1]


def fits_roughly(value: Any, schema: Json) -> bool:
    """Whether a given example has the type that its schema asks for; many do not."""
    kinds = schema.get("type")
    if kinds is None:
        return not ("properties" in schema or "items" in schema) or isinstance(value, dict | list)
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in schema and value not in schema["enum"]:
        return False
    if kinds in (["object"], ["array"]):
        # Examples of whole objects are often stale; built from their parts they fit.
        return False
    return any(_IS[kind](value) for kind in kinds if kind in _IS)


_IS = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def _object(schema: Json, schemas: Mapping[str, Json], whole: bool, depth: int) -> dict[str, Any]:
    properties, required = object_parts(schema, schemas)
    if depth > _MAX_DEPTH and not required:
        return {}
    return {
        name: sample(part, schemas, name=name, whole=whole and depth < 3, depth=depth + 1)
        for name, part in properties.items()
        if (name in required or whole) and depth <= _MAX_DEPTH * 2
    }


def _array(schema: Json, schemas: Mapping[str, Json], whole: bool, depth: int, name: str) -> list[Any]:
    if "prefixItems" in schema:
        return [sample(part, schemas, whole=whole, depth=depth + 1) for part in schema["prefixItems"]]
    wanted = max(int(schema.get("minItems", 0) or 0), 1 if depth <= _MAX_DEPTH else 0)
    item = sample(schema.get("items", {}), schemas, name=name.rstrip("s"), whole=whole, depth=depth + 1)
    return [item] * min(wanted, 10)


def _number(schema: Json, *, whole_number: bool) -> int | float:
    low = schema.get("minimum")
    if low is None and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + 1
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value = 1 if low is None or low <= 1 else low
    if high is not None and value > high:
        value = high if low is None else low
    step = schema.get("multipleOf")
    if step:
        value = step * max(1, round(value / step))
    return int(value) if whole_number or float(value).is_integer() else float(value)


def _string(schema: Json, name: str) -> Any:
    kind = str(schema.get("format", ""))
    if kind == "binary":
        return BINARY
    text = _FORMATS.get(kind) or name or "string"
    if (least := schema.get("minLength")) and len(text) < least:
        text = (text + "x" * least)[: min(least, 1_000)]
    if (most := schema.get("maxLength")) is not None and len(text) > most:
        text = text[:most]
    return text
