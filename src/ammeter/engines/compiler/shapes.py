"""What a schema comes to once its references and `allOf` are followed: the parts that must all hold, the
object they make together, the one schema they amount to.

Circles and long chains end: a reference is followed once, and only so many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json

_MAX_FOLLOWED = 1_000
# Words that say nothing of which values are allowed.
_REMARKS = {"description", "title", "examples", "default", "readOnly", "writeOnly", "deprecated"}
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def target(schema: Json, schemas: Mapping[str, Json]) -> Json:
    """What a chain of references ends at; anything at all where it goes round."""
    seen: set[str] = set()
    while "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(SCHEMA_PREFIX)
        if name in seen or len(seen) >= _MAX_FOLLOWED:
            return {}
        seen.add(name)
        schema = schemas.get(name, {})
    return schema


def parts(schema: Json, find: Callable[[str], Json]) -> Iterator[Json]:
    """The plain parts that a value must all fit, what others build on first."""
    stack: list[Json] = [schema]
    seen: set[str] = set()
    while stack:
        part = stack.pop()
        if "$ref" in part:
            name = str(part["$ref"])
            if name not in seen and len(seen) < _MAX_FOLLOWED:
                seen.add(name)
                stack.append(find(name))
        elif "allOf" in part:
            stack.append({word: value for word, value in part.items() if word != "allOf"})
            stack.extend(reversed(part["allOf"]))
        else:
            yield part


def parts_of(schema: Json, schemas: Mapping[str, Json]) -> Iterator[Json]:
    return parts(schema, lambda reference: schemas.get(reference.removeprefix(SCHEMA_PREFIX), {}))


def object_parts(schema: Json, schemas: Mapping[str, Json]) -> tuple[dict[str, Json], set[str]]:
    """Properties and required names of an object, whatever it is composed of."""
    properties: dict[str, Json] = {}
    required: set[str] = set()
    for part in parts_of(schema, schemas):
        for name, value in part.get("properties", {}).items():
            if name not in properties or value.keys() - _REMARKS:
                properties[name] = value
        required.update(part.get("required", ()))
    return properties, required


def merged(schema: Json, schemas: Mapping[str, Json]) -> tuple[Json, list[list[Json]]]:
    """One schema without references or `allOf`, and the choices that stand beside it."""
    done: dict[str, Any] = {}
    choices: list[list[Json]] = []
    for part in parts_of(schema, schemas):
        choices += [part[word] for word in ("oneOf", "anyOf") if part.get(word)]
        _narrow(done, part)
    return done, choices


def kinds(schema: Json) -> list[str]:
    """The types that a schema names; none: any."""
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [] if kind is None else [kind]


def _narrow(done: dict[str, Any], part: Json) -> None:
    for word, value in part.items():
        if word in ("oneOf", "anyOf"):
            continue
        if word not in done:
            done[word] = value
        elif word == "type":
            done[word] = _shared(kinds(done), kinds(part))
        elif word == "enum":
            done[word] = [item for item in done[word] if item in value] or value
        elif word in _LOWER:
            done[word] = max(done[word], value)
        elif word in _UPPER:
            done[word] = min(done[word], value)
        elif word == "required":
            done[word] = list(dict.fromkeys([*done[word], *value]))
        elif word == "properties":
            done[word] = {**done[word], **{n: _with(done[word].get(n), p) for n, p in value.items()}}
        elif word == "items":
            done[word] = _with(done[word], value)
        elif word == "examples":
            done[word] = [*done[word], *value]
        else:
            done[word] = value


def _with(before: Json | None, after: Json) -> Json:
    return after if before is None or before == after else {"allOf": [before, after]}


def _shared(some: list[str], others: list[str]) -> list[str]:
    wide = {"number", "integer"}
    kept = [kind for kind in some if kind in others or (kind == "integer" and "number" in others)]
    if "integer" in others and "number" in some and not wide & set(kept):
        kept.append("integer")
    return kept or others
