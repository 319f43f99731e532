"""A schema as one flat shape: references followed, `allOf` merged, null taken out of types and unions, unions
of constants become an enum. Two schemas written differently that allow the same have the same shape.

A term is a conjunction of schemas by identity; the empty term allows anything. Only one level is looked at:
the parts of a shape are terms again, so cycles are for the caller to see.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ammeter.engines.compiler.diff.literals import (
    MAPPING,
    escaped,
    is_annotation,
    key_of,
    ref_name,
    significant,
)
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json

UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
# Every number of a script is one of these already, so stating it narrows nothing.
_EMPTY_FORMATS = frozenset({"int64", "double", "float", "password"})
_SINGLE: Mapping[str, Json] = {
    name: {"type": name} for name in ("string", "number", "integer", "boolean", "array", "object")
}


class Atom(NamedTuple):
    key: str | int
    """The name of a referenced schema, else the identity of the value."""
    schema: Json
    pointer: str


Term = tuple[Atom, ...]


@dataclass(slots=True, kw_only=True)
class Shape:
    types: frozenset[str] | None = None
    nullable: bool | None = None
    """None: nothing is said of types at all."""
    values: dict[str, Any] | None = None
    is_const: bool = False
    bounds: dict[str, float] = field(default_factory=dict)
    patterns: frozenset[str] = frozenset()
    format: str | None = None
    properties: dict[str, Term] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    is_closed: bool = False
    """No properties but the named ones."""
    additional: Term = ()
    items: Term = ()
    prefix: tuple[Term, ...] = ()
    variants: tuple[Term, ...] = ()
    union_word: str = "oneOf"
    other_unions: frozenset[str] = frozenset()
    """Further unions of the same `allOf`; only their being equal is looked at."""
    negations: frozenset[str] = frozenset()
    multiple_of: float | None = None
    is_unique: bool = False
    default: str | None = None
    is_deprecated: bool = False
    is_read_only: bool = False
    is_write_only: bool = False

    @property
    def is_anything(self) -> bool:
        return self.types is None and self.values is None and not self.variants


def term_of(schema: Any, pointer: str) -> Term:
    if not isinstance(schema, MAPPING):
        return ()
    if all(is_annotation(key) for key in schema):
        return ()
    if (name := ref_name(schema)) and all(key == "$ref" or is_annotation(key) for key in schema):
        return (Atom(name, schema, schema_pointer(name)),)
    return (Atom(id(schema), schema, pointer),)


def schema_pointer(name: str) -> str:
    return f"/components/schemas/{escaped(name)}"


def joined(left: Term, right: Term) -> Term:
    if not left or not right:
        return left or right
    known = {atom.key for atom in left}
    return left + tuple(atom for atom in right if atom.key not in known)


def narrowed(term: Term, kind: str) -> Term:
    """The part of a term that is of one type."""
    single = _SINGLE.get(kind)
    return term if single is None else joined(term, (Atom(f"type {kind}", single, pointer_of(term)),))


def pointer_of(term: Term) -> str:
    return term[0].pointer if term else ""


def shape_of(term: Term, schemas: Mapping[str, Json]) -> Shape:
    shape = Shape()
    nulls: list[bool] = []
    for atom, lifted in _flat(term, schemas, shape, nulls):
        _merge_values(shape, atom.schema, lifted, nulls)
        _merge_members(shape, atom)
        _merge_rest(shape, atom.schema)
    if nulls:
        shape.nullable = all(nulls)
    elif not shape.is_anything:
        shape.nullable = False
    return shape


def _flat(
    term: Term, schemas: Mapping[str, Json], shape: Shape, nulls: list[bool]
) -> Iterator[tuple[Atom, bool]]:
    """Every schema of the conjunction once, and whether a union around it allows null beside it."""
    seen: set[str | int] = set()
    todo = [(atom, False) for atom in reversed(term)]
    while todo:
        atom, lifted = todo.pop()
        if atom.key in seen:
            continue
        seen.add(atom.key)
        if name := ref_name(atom.schema):
            target = schemas.get(name)
            if isinstance(target, MAPPING) and (name == atom.key or name not in seen):
                seen.add(name)
                inner = Atom(f"{SCHEMA_PREFIX}{name}", target, schema_pointer(name))
                todo.append((inner, lifted))
        for i, part in enumerate(_list(atom.schema.get("allOf"))):
            todo += [(inner, lifted) for inner in term_of(part, f"{atom.pointer}/allOf/{i}")]
        for word in ("oneOf", "anyOf"):
            todo += _union(shape, atom, word, lifted, nulls)
        yield atom, lifted


def _union(shape: Shape, atom: Atom, word: str, lifted: bool, nulls: list[bool]) -> list[tuple[Atom, bool]]:
    """Merges a union into the shape; what it comes down to where only one variant is left."""
    parts = [part for part in _list(atom.schema.get(word)) if isinstance(part, MAPPING)]
    if not parts:
        return []
    rest = [(i, part) for i, part in enumerate(parts) if part.get("type") != "null"]
    has_null = lifted or len(rest) < len(parts)
    terms = [term_of(part, f"{atom.pointer}/{word}/{i}") for i, part in rest]
    if len(terms) == 1:
        return [(inner, has_null) for inner in terms[0]]
    if any(not term for term in terms):
        return []
    if has_null:
        nulls.append(True)
    if rest and all("const" in part or "enum" in part for _, part in rest):
        _merge_enum(shape, [value for _, part in rest for value in _values(part)])
    elif shape.variants:
        shape.other_unions |= {key_of(significant(parts))}
    else:
        shape.variants, shape.union_word = tuple(terms), word
    return []


def _merge_values(shape: Shape, schema: Json, lifted: bool, nulls: list[bool]) -> None:
    kinds = _types(schema)
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = _values(schema)
        if kinds is None:
            kinds = {_type_of(value) for value in values}
        _merge_enum(shape, values)
        shape.is_const = shape.is_const or "const" in schema
    if kinds is None:
        return
    nulls.append("null" in kinds or lifted)
    plain = frozenset(kinds - {"null"})
    shape.types = plain if shape.types is None else _both(shape.types, plain)


def _merge_enum(shape: Shape, values: list[Any]) -> None:
    keyed = {key_of(value): value for value in values if value is not None}
    known = shape.values
    shape.values = keyed if known is None else {key: known[key] for key in known if key in keyed}


def _merge_members(shape: Shape, atom: Atom) -> None:
    schema, pointer = atom.schema, atom.pointer
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, MAPPING) else ():
        inner = term_of(part, f"{pointer}/properties/{escaped(name)}")
        shape.properties[name] = joined(shape.properties.get(name, ()), inner)
    shape.required |= {name for name in _list(schema.get("required")) if isinstance(name, str)}
    extra, items = schema.get("additionalProperties"), schema.get("items")
    shape.is_closed = shape.is_closed or extra is False
    if extra:
        shape.additional = joined(shape.additional, term_of(extra, f"{pointer}/additionalProperties"))
    if items:
        shape.items = joined(shape.items, term_of(items, f"{pointer}/items"))
    prefix = _list(schema.get("prefixItems"))
    if prefix and not shape.prefix:
        shape.prefix = tuple(term_of(part, f"{pointer}/prefixItems/{i}") for i, part in enumerate(prefix))


def _merge_rest(shape: Shape, schema: Json) -> None:
    for word in UPPER + LOWER:
        limit = schema.get(word)
        if isinstance(limit, int | float) and not isinstance(limit, bool) and abs(limit) < math.inf:
            tighter = min if word in UPPER else max
            shape.bounds[word] = tighter(limit, shape.bounds.get(word, limit))
    if isinstance(pattern := schema.get("pattern"), str):
        shape.patterns |= {pattern}
    if isinstance(name := schema.get("format"), str) and name not in _EMPTY_FORMATS:
        shape.format = shape.format or name
    if isinstance(step := schema.get("multipleOf"), int | float) and 0 < step < math.inf:
        shape.multiple_of = step
    if isinstance(schema.get("not"), MAPPING):
        shape.negations |= {key_of(significant(schema["not"]))}
    shape.is_unique = shape.is_unique or schema.get("uniqueItems") is True
    if "default" in schema and shape.default is None:
        shape.default = key_of(schema["default"])
    shape.is_deprecated = shape.is_deprecated or schema.get("deprecated") is True
    shape.is_read_only = shape.is_read_only or schema.get("readOnly") is True
    shape.is_write_only = shape.is_write_only or schema.get("writeOnly") is True


def _types(schema: Json) -> set[str] | None:
    given = schema.get("type")
    if isinstance(given, str):
        return {given}
    if isinstance(given, list | tuple) and given:
        return {str(kind) for kind in given}
    if "properties" in schema or isinstance(schema.get("additionalProperties"), MAPPING):
        return {"object"}
    if "items" in schema or "prefixItems" in schema:
        return {"array"}
    return None


def _values(schema: Json) -> list[Any]:
    return [schema["const"]] if "const" in schema else _list(schema.get("enum"))


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "array" if isinstance(value, list | tuple) else "object")


def _both(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    mixed = ("integer" in left and "number" in right) or ("number" in left and "integer" in right)
    return left & right | ({"integer"} if mixed else frozenset())


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
