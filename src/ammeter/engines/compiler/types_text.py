"""Schemas as TypeScript types: with named types by name, for declarations, or spelled out to a depth, for
signatures. A type is written for one direction: what a script gives has no read-only fields, what it gets
has no write-only ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json
from ammeter.engines.compiler.shapes import kinds, object_parts, parts_of
from ammeter.engines.compiler.text import key, literal

_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_TOLD_FORMATS = {"date", "date-time", "time", "duration", "uuid", "email", "uri", "byte"}
_ANY_OBJECT = "Record<string, unknown>"
_SPELLED_ENUM = 40
_SPELLED_KEYS = 12
_MAX_UNROLLED = 3
# Texts, as one sign each; brackets; operators.
_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{\[(<}\])>]| [|&]')
# Every object has these; an optional one must allow what is inherited.
_INHERITED = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
    *("toString", "valueOf"),
}


class Names:
    """The names of an API's types in TypeScript, and which of them differ by direction."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self.schemas = schemas
        self._targets = {name: _final(name, schemas) for name in schemas}
        self._names: dict[str, str] = {}
        taken = set(schemas) | RESERVED
        for name in schemas:
            free = name
            while name in RESERVED and free in taken:
                free += "_"
            taken.add(free)
            self._names[name] = free
        self._given: dict[str, str] = {}
        for name in sorted(_reaching(schemas, _has_one_way_fields)):
            free = f"{name}Input"
            while free in taken:
                free += "_"
            taken.add(free)
            self._given[name] = free
        self._circles = _circles(schemas)

    def of(self, name: str, *, asking: bool) -> str:
        name = self._targets.get(name, name)
        return self._given[name] if asking and name in self._given else self._names.get(name, "unknown")

    def is_split(self, name: str) -> bool:
        return name in self._given

    def final(self, name: str) -> str:
        return self._targets.get(name, name)

    def is_circle(self, name: str, other: str) -> bool:
        """Whether a type would be defined by itself, without an object or array between."""
        return name in self._circles and self._targets.get(other, other) in self._circles


class TypeWriter:
    def __init__(
        self, names: Names, *, asking: bool, spelled_depth: int | None = None, width: int = 0
    ) -> None:
        self._names = names
        self._schemas = names.schemas
        self._asking = asking
        self._depth = spelled_depth
        self._room = width
        self.used: dict[str, None] = {}
        """The types that were written by name."""

    def write(self, schema: Json, depth: int = 0, within: tuple[str, ...] = (), alias: str = "") -> str:
        """`alias`: the type that this is the definition of, as long as nothing stands between."""
        self._room -= 4
        if self._depth is not None and self._room < 0:
            return "unknown"
        if "$ref" in schema:
            return self._named(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), depth, within, alias)
        if schema.get("not") == {}:
            return "never"
        if "const" in schema:
            return _value_type(schema["const"])
        if "enum" in schema:
            return self._enum(schema["enum"])
        if "allOf" in schema:
            return self._all(schema, depth, within, alias)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self._choice(schema, word, depth, within, alias)
        return self._by_type(schema, depth, within)

    def _named(self, name: str, depth: int, within: tuple[str, ...], alias: str) -> str:
        if self._depth is None:
            if not alias or not self._names.is_circle(alias, name):
                self.used.setdefault(self._names.final(name))
                return self._names.of(name, asking=self._asking)
            # A definition that leads back to itself is written out, without the way back.
            if self._is_own({"$ref": name}, alias, within) or len(within) > _MAX_UNROLLED:
                return "unknown"
            return self.write(self._schemas[name], depth, (*within, name), alias)
        if name in within:
            kind = "object" if self._schemas[name].get("type") == "object" else "unknown"
            return f"{kind} /* {name}, as above */"
        return self.write(self._schemas.get(name, {}), depth, (*within, name))

    def _enum(self, values: list[Any]) -> str:
        if self._depth is None or len(values) <= _SPELLED_ENUM:
            return union(map(_value_type, values))
        return (
            f"{union(map(_value_type, values[:_SPELLED_ENUM]))} /* or {len(values) - _SPELLED_ENUM} more */"
        )

    def _choice(self, schema: Json, word: str, depth: int, within: tuple[str, ...], alias: str) -> str:
        choices = [part for part in schema[word] if not self._is_own(part, alias, within)]
        if schema.get("properties") and all(not part.keys() - _TOGETHER for part in choices):
            # `anyOf: [{required: [a]}, {required: [b]}]` tells which fields go together, not what they are.
            return self._object(schema, depth, within)
        written = union(self.write(part, depth, within, alias) for part in choices)
        if not schema.get("properties"):
            return written
        return f"{self._object(schema, depth, within)} & {grouped(written)}"

    def _is_own(self, part: Json, alias: str, within: tuple[str, ...]) -> bool:
        name = str(part.get("$ref", "")).removeprefix(SCHEMA_PREFIX)
        return self._depth is None and bool(alias and name) and name in (alias, *within)

    def _all(self, schema: Json, depth: int, within: tuple[str, ...], alias: str) -> str:
        if self._depth is not None:
            pieces = list(parts_of(schema, self._schemas))
            if all(kinds(p) in ([], ["object"]) and not p.keys() & {"oneOf", "anyOf"} for p in pieces):
                properties, required = object_parts(schema, self._schemas)
                if properties:
                    return self._object(
                        {"properties": properties, "required": sorted(required)}, depth, within
                    )
        written = [self.write(part, depth, within, alias) for part in schema["allOf"]]
        own = {word: value for word, value in schema.items() if word != "allOf"}
        if own.keys() & {"properties", "oneOf", "anyOf", "enum", "const", "additionalProperties"}:
            written.append(self.write(own, depth, within, alias))
        elif own.get("required") and self._depth is None:
            written.append(self._required(schema, own["required"], depth, within))
        kept = [part for part in dict.fromkeys(written) if part not in ("unknown", _ANY_OBJECT)]
        if len(kept) < 2:
            return kept[0] if kept else written[0] if written else "unknown"
        return " & ".join(map(grouped, kept))

    def _required(self, schema: Json, names: Iterable[str], depth: int, within: tuple[str, ...]) -> str:
        """`allOf: [base], required: [a]` makes a field of the base needed."""
        properties, _ = object_parts(schema, self._schemas)
        held = {name: properties[name] for name in names if name in properties}
        return (
            self._object({"properties": held, "required": list(held)}, depth, within) if held else "unknown"
        )

    def _by_type(self, schema: Json, depth: int, within: tuple[str, ...]) -> str:
        words = kinds(schema)
        if len(words) > 1:
            return union(self._by_type({**schema, "type": word}, depth, within) for word in words)
        kind = words[0] if words else None
        if kind == "string":
            return self._string(schema.get("format"))
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind == "array":
            return self._array(schema, depth, within)
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth, within)
        return "unknown"

    def _string(self, form: Any) -> str:
        if form == "binary" and self._asking:
            return "Binary"
        if self._depth is not None and self._asking and form in _TOLD_FORMATS:
            return f"string /* {form} */"
        return "string"

    def _array(self, schema: Json, depth: int, within: tuple[str, ...]) -> str:
        if "prefixItems" not in schema:
            return f"{grouped(self.write(schema.get('items', {}), depth, within))}[]"
        places = [self.write(part, depth + 1, within) for part in schema["prefixItems"]]
        rest = schema.get("items")
        if isinstance(rest, Mapping) and rest.get("not") != {}:
            places.append(f"...{grouped(self.write(rest, depth + 1, within))}[]")
        return f"[{', '.join(places)}]"

    def _object(self, schema: Json, depth: int, within: tuple[str, ...]) -> str:
        hidden = "readOnly" if self._asking else "writeOnly"
        given: Mapping[str, Json] = schema.get("properties", {})
        properties = {name: part for name, part in given.items() if part.get(hidden) is not True}
        extra = schema.get("additionalProperties")
        if not properties:
            inner = self.write(extra, depth + 1, within) if isinstance(extra, Mapping) else "unknown"
            return _ANY_OBJECT if inner == "unknown" else f"{{ [key: string]: {inner} }}"
        if self._depth is not None and depth >= self._depth:
            return "{ " + ", ".join(_keys(properties)) + " }"
        required = set(schema.get("required", ()))
        members = []
        for place, (name, part) in enumerate(properties.items()):
            if self._depth is not None and self._room < 0:
                members.append(f"/* and {len(properties) - place} more */")
                break
            written = self.write(part, depth + 1, within)
            self._room -= len(name) + len(written)
            members.append(self.member(name, name in required, written))
        if isinstance(extra, Mapping) or extra is True:
            members.append("[key: string]: unknown")
        return "{ " + "; ".join(members) + " }"

    def member(self, name: str, needed: bool, written: str) -> str:
        if self._depth is None and not needed and name in _INHERITED:
            written = f"{grouped(written)} | Function"
        return f"{key(name)}{'' if needed else '?'}: {written}"


def union(written: Iterable[str]) -> str:
    kept = list(dict.fromkeys(part for part in written if part != "never"))
    # A choice that is the whole again adds nothing to it.
    kept = [part for part in kept if not part.startswith("unknown /*")] or kept
    return "unknown" if "unknown" in kept else " | ".join(kept) or "never"


def grouped(written: str) -> str:
    """In brackets where an operator stands outside of any bracket."""
    if " | " not in written and " & " not in written:
        return written
    depth = 0
    for sign in _SIGNS.findall(written):
        if sign in "{[(<":
            depth += 1
        elif sign in "}])>":
            depth -= 1
        elif sign[0] == " " and depth == 0:
            return f"({written})"
    return written


def _value_type(value: Any) -> str:
    if isinstance(value, dict | list):
        return _ANY_OBJECT if isinstance(value, dict) else "unknown[]"
    return literal(value)


def _keys(properties: Mapping[str, Any]) -> list[str]:
    names = [f"{key(name)}: …" for name in list(properties)[:_SPELLED_KEYS]]
    return [*names, "…"] if len(properties) > _SPELLED_KEYS else names


def _final(name: str, schemas: Mapping[str, Json]) -> str:
    """A type that only refers to another is that other: long chains of names are none."""
    seen = {name}
    here = name
    while "$ref" in (schema := schemas.get(here, {})):
        here = str(schema["$ref"]).removeprefix(SCHEMA_PREFIX)
        if here in seen:
            return name
        seen.add(here)
    return here


def _has_one_way_fields(schema: Json) -> bool:
    fields = schema.get("properties", {}).values()
    return any(part.get("readOnly") is True or part.get("writeOnly") is True for part in fields)


def _inside(schema: Any) -> Iterator[Json]:
    """A schema and all that stand in it, references not followed."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            yield part
            todo += part.get("properties", {}).values()
            todo += [part[word] for word in ("items", "additionalProperties") if word in part]
            for word in ("allOf", "anyOf", "oneOf", "prefixItems"):
                todo += part.get(word, ())


def _reaching(schemas: Mapping[str, Json], is_wanted: Callable[[Json], bool]) -> set[str]:
    """The named schemas that hold, or refer to, one that is wanted."""
    users: dict[str, set[str]] = defaultdict(set)
    found: set[str] = set()
    for name, schema in schemas.items():
        for part in _inside(schema):
            if "$ref" in part:
                users[str(part["$ref"]).removeprefix(SCHEMA_PREFIX)].add(name)
            if is_wanted(part):
                found.add(name)
    todo = list(found)
    while todo:
        for user in users[todo.pop()] - found:
            found.add(user)
            todo.append(user)
    return found


def _circles(schemas: Mapping[str, Json]) -> set[str]:
    """Types between which definitions go round through nothing but references, unions and intersections:
    what is left when everything that leads nowhere, or comes from nowhere, is taken away."""
    uses = {name: _directly(schema) & schemas.keys() for name, schema in schemas.items()}
    left = set(schemas)
    for graph in (uses, _turned(uses)):
        count = {name: len(graph[name] & left) for name in left}
        back = _turned({name: graph[name] & left for name in left})
        todo = [name for name in left if count[name] == 0]
        while todo:
            name = todo.pop()
            left.discard(name)
            for other in back[name]:
                count[other] -= 1
                if count[other] == 0:
                    todo.append(other)
    return left


def _directly(schema: Json) -> set[str]:
    found: set[str] = set()
    todo = [schema]
    while todo:
        part = todo.pop()
        if "$ref" in part:
            found.add(str(part["$ref"]).removeprefix(SCHEMA_PREFIX))
        for word in ("allOf", "anyOf", "oneOf"):
            todo += part.get(word, ())
    return found


def _turned(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    turned: dict[str, set[str]] = {name: set() for name in graph}
    for name, others in graph.items():
        for other in others:
            turned[other].add(name)
    return turned


_TOGETHER = {"required", "type", "title", "description"}
# Names that TypeScript keeps for itself, and those that the declarations use.
RESERVED = {
    *("any", "unknown", "never", "void", "null", "undefined", "string", "number", "boolean"),
    *("object", "symbol", "bigint", "Promise", "Record", "Paged", "Binary", "ApiError", "Error"),
    *("AsyncIterable", "Client", "break", "case", "catch", "class", "const", "continue"),
    *("debugger", "default", "delete", "do", "else", "enum", "export", "extends", "false"),
    *("finally", "for", "function", "if", "import", "in", "instanceof", "new", "return", "super"),
    *("switch", "this", "throw", "true", "try", "typeof", "var", "while", "with", "yield", "let"),
    *("static", "implements", "interface", "package", "private", "protected", "public", "await"),
    *("type", "declare", "async", "of", "keyof", "readonly", "infer", "is", "asserts", "unique"),
    "global",
}
