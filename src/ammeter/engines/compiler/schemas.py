"""Schemas in one dialect: OpenAPI 3.0's and 3.1's become plain JSON Schema words, references become
`#/schemas/<name>`, and what cannot be understood becomes the schema that allows anything, with a finding.

Every schema that is referred to gets a name, so that cycles are names, not endless values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ammeter.engines.compiler.findings import Findings, pointer, shown
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json
from ammeter.engines.compiler.refs import Refs

_MAX_DEPTH = 60
_MAX_TEXT = 1_000
_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
_SLIPS = {
    **{"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number"},
    **{"double": "number", "decimal": "number", "bool": "boolean", "str": "string", "text": "string"},
    **{"date": "string", "datetime": "string", "date-time": "string", "uuid": "string", "enum": "string"},
    **{"list": "array", "dict": "object", "map": "object", "file": "string", "uri": "string"},
}
_FLAGS = ("uniqueItems", "readOnly", "writeOnly", "deprecated")
_NAME = re.compile(r"[^A-Za-z0-9_]+")


class Schemas:
    def __init__(self, refs: Refs, findings: Findings) -> None:
        self._refs = refs
        self._findings = findings
        self._names: dict[str, str] = {}
        """By pointer. Those of the components are given out at once and in order of the alphabet, so
        that nothing hangs on which of them is met first."""
        self._taken: dict[str, int] = {}
        self._named: dict[str, Json] = {}
        self._unread: dict[str, tuple[Any, str]] = {}
        for component in sorted(refs.component_schemas(), key=lambda c: (_identifier(c) != c, c)):
            self._names[pointer("components", "schemas", component)] = self._free(_identifier(component))

    def named(self) -> dict[str, Json]:
        """Every schema that was referred to, by name."""
        while self._unread:
            self._read_now(next(iter(self._unread)))
        return dict(sorted(self._named.items()))

    def find(self, reference: str) -> Json:
        """The schema behind one of our own references."""
        name = reference.removeprefix(SCHEMA_PREFIX)
        if name in self._unread:
            self._read_now(name)
        return self._named[name]

    def _read_now(self, name: str) -> None:
        value, where = self._unread.pop(name)
        self._named[name] = self.read(value, where)

    def read(self, schema: Any, where: str, depth: int = 0) -> Json:
        """A schema of the description in our dialect."""
        if schema is True or schema is None:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, dict):
            self._findings.warning(
                "bad_schema", where, f"A schema is an object, not {type(schema).__name__}."
            )
            return {}
        if depth > _MAX_DEPTH:
            message = f"This schema nests more than {_MAX_DEPTH} deep; below here anything is allowed."
            self._findings.warning("schema_too_deep", where, message)
            return {}
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema, where)
        done: dict[str, Any] = {
            word: value for word, value in schema.items() if word in _FITS and _FITS[word](value)
        }
        self._texts(schema, done)
        self._types(schema, done, where)
        self._bounds(schema, done)
        self._members(schema, done, where, depth)
        self._combinations(schema, done, where, depth)
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            return _with_null(done)
        return done

    def _reference(self, schema: dict[str, Any], where: str) -> Json:
        name = self._name_of(schema["$ref"], where)
        if name is None:
            return {}
        reference: dict[str, Any] = {"$ref": SCHEMA_PREFIX + name}
        self._texts(schema, reference)
        reference |= {word: True for word in _FLAGS if schema.get(word) is True}
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            return {"anyOf": [reference, {"type": "null"}]}
        return reference

    def _name_of(self, target: str, where: str) -> str | None:
        found = self._refs.find(target, where)
        if found is None:
            return None
        value, here = found
        name = self._names.get(here)
        if name is None:
            name = self._free(_identifier("_".join(here.split("/")[-3:])))
            self._names[here] = name
        if name not in self._named:
            self._named[name] = {}
            # Read later, one after the other: a long chain of references is not a deep recursion.
            self._unread[name] = (value, here)
        return name

    def _free(self, name: str) -> str:
        number = self._taken.get(name, 0) + 1
        free = name if number == 1 else f"{name}_{number}"
        while number > 1 and free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken[name] = number
        self._taken.setdefault(free, 1)
        return free

    def _texts(self, schema: dict[str, Any], done: dict[str, Any]) -> None:
        if isinstance(text := schema.get("description"), str) and text.strip():
            done["description"] = text.strip()[:_MAX_TEXT]
        if isinstance(schema.get("format"), str):
            done["format"] = schema["format"]
        if "example" in schema:
            done["examples"] = [schema["example"]]
        elif isinstance(schema.get("examples"), list) and schema["examples"]:
            done["examples"] = schema["examples"][:3]

    def _types(self, schema: dict[str, Any], done: dict[str, Any], where: str) -> None:
        given = schema.get("type")
        if given is None:
            return
        words = given if isinstance(given, list) else [given]
        kinds: list[str] = []
        for word in words:
            kind = str(word).lower()
            if kind not in _TYPES:
                self._findings.warning("unknown_type", where, f"{shown(word)} is no type of a schema.")
                kind = _SLIPS.get(kind, "")
            if kind and kind not in kinds:
                kinds.append(kind)
        if str(given).lower() == "file" or schema.get("contentMediaType") == "application/octet-stream":
            done["format"] = "binary"
        if kinds:
            done["type"] = kinds[0] if len(kinds) == 1 else kinds

    def _bounds(self, schema: dict[str, Any], done: dict[str, Any]) -> None:
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            limit, edge = schema.get(bound), schema.get(exclusive)
            if edge is True and _is_number(limit):
                done[exclusive] = limit
                continue
            if _is_number(limit):
                done[bound] = limit
            if _is_number(edge):
                done[exclusive] = edge

    def _members(self, schema: dict[str, Any], done: dict[str, Any], where: str, depth: int) -> None:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            done["properties"] = {
                str(name): self.read(part, where + pointer("properties", name), depth + 1)
                for name, part in properties.items()
            }
            done.setdefault("type", "object")
        required = schema.get("required")
        if isinstance(required, list):
            names = list(dict.fromkeys(name for name in required if isinstance(name, str)))
            if names:
                done["required"] = names
        extra = schema.get("additionalProperties")
        if isinstance(extra, bool):
            done["additionalProperties"] = extra
        elif isinstance(extra, dict):
            done["additionalProperties"] = self.read(extra, where + "/additionalProperties", depth + 1)
            done.setdefault("type", "object")
        self._patterns(schema, done, where, depth)
        if isinstance(schema.get("items"), list):
            done["prefixItems"] = self._list(schema["items"], where + "/items", depth)
        elif "items" in schema:
            done["items"] = self.read(schema["items"], where + "/items", depth + 1)
            done.setdefault("type", "array")
        if isinstance(schema.get("prefixItems"), list):
            done["prefixItems"] = self._list(schema["prefixItems"], where + "/prefixItems", depth)
        if "prefixItems" in done:
            done.setdefault("type", "array")

    def _patterns(self, schema: dict[str, Any], done: dict[str, Any], where: str, depth: int) -> None:
        """Properties told by pattern: any other name may be one of them."""
        given = schema.get("patternProperties")
        if not isinstance(given, dict) or not given:
            return
        done.setdefault("type", "object")
        if done.get("additionalProperties") in (None, False):
            inner = [
                self.read(part, where + pointer("patternProperties", name), depth + 1)
                for name, part in given.items()
            ]
            done["additionalProperties"] = inner[0] if len(inner) == 1 else {"anyOf": inner}

    def _combinations(self, schema: dict[str, Any], done: dict[str, Any], where: str, depth: int) -> None:
        for word in ("allOf", "anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                done[word] = self._list(schema[word], f"{where}/{word}", depth)
        if isinstance(schema.get("not"), dict):
            done["not"] = self.read(schema["not"], where + "/not", depth + 1)
        discriminator = schema.get("discriminator")
        if isinstance(discriminator, dict) and isinstance(discriminator.get("propertyName"), str):
            done["discriminator"] = discriminator["propertyName"]
            if isinstance(discriminator.get("mapping"), dict):
                self._mapped(done, discriminator["mapping"], where)

    def _mapped(self, done: dict[str, Any], mapping: dict[str, Any], where: str) -> None:
        """Choices that a property tells apart say which value of it is theirs."""
        values: dict[str, list[str]] = {}
        for value, target in mapping.items():
            if isinstance(target, str):
                local = target if target.startswith("#") else "#" + pointer("components", "schemas", target)
                values.setdefault(self._names.get(local[1:], ""), []).append(value)
        for word in ("oneOf", "anyOf"):
            for i, part in enumerate(done.get(word, ())):
                mine = values.get(str(part.get("$ref", "")).removeprefix(SCHEMA_PREFIX))
                if mine:
                    tells: Json = {"const": mine[0]} if len(mine) == 1 else {"enum": mine}
                    told = {"properties": {done["discriminator"]: tells}, "required": [done["discriminator"]]}
                    done[word][i] = {"allOf": [part, {"type": "object", **told}]}

    def _list(self, parts: list[Any], where: str, depth: int) -> list[Json]:
        return [self.read(part, f"{where}/{i}", depth + 1) for i, part in enumerate(parts)]


def _with_null(schema: dict[str, Any]) -> Json:
    kind = schema.get("type")
    if kind is None:
        return {"anyOf": [schema, {"type": "null"}]} if schema else schema
    kinds = kind if isinstance(kind, list) else [kind]
    done = {**schema, "type": [*kinds, *(["null"] if "null" not in kinds else [])]}
    if "enum" in done and None not in done["enum"]:
        done["enum"] = [*done["enum"], None]
    return done


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _identifier(text: str) -> str:
    name = _NAME.sub("_", text).strip("_") or "Schema"
    return f"_{name}" if name[0].isdigit() else name


# The words that stand for themselves, where they have the form that JSON Schema gives them.
_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("const", "default"), lambda value: True),
    **dict.fromkeys(_FLAGS, lambda value: isinstance(value, bool)),
    **dict.fromkeys(("title", "pattern"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
    "enum": lambda value: isinstance(value, list) and bool(value),
    "multipleOf": lambda value: _is_number(value) and value > 0,
}
