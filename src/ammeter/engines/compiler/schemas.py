"""Schemas in one dialect: OpenAPI 3.0's and 3.1's become plain JSON Schema words, references become
`#/schemas/<name>`, and what cannot be understood becomes the schema that allows anything, with a finding.

Every schema that is referred to gets a name, so that cycles are names, not endless values.
"""

from __future__ import annotations

import re
from typing import Any

from ammeter.engines.compiler.findings import Findings, pointer
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
_COPIED = (
    *("enum", "const", "default", "title", "pattern", "minLength", "maxLength", "minItems", "maxItems"),
    *("uniqueItems", "minProperties", "maxProperties", "multipleOf", "readOnly", "writeOnly", "deprecated"),
)
_NAME = re.compile(r"[^A-Za-z0-9_]+")


class Schemas:
    def __init__(self, refs: Refs, findings: Findings) -> None:
        self._refs = refs
        self._findings = findings
        self._names: dict[str, str] = {}
        self._named: dict[str, Json] = {}
        self._unread: list[tuple[str, Any, str]] = []

    def named(self) -> dict[str, Json]:
        """Every schema that was referred to, by name."""
        while self._unread:
            name, value, where = self._unread.pop()
            self._named[name] = self.read(value, where)
        return dict(sorted(self._named.items()))

    def find(self, reference: str) -> Json:
        """The schema behind one of our own references."""
        name = reference.removeprefix(SCHEMA_PREFIX)
        for i, (unread, value, where) in enumerate(self._unread):
            if unread == name:
                del self._unread[i]
                self._named[name] = self.read(value, where)
                break
        return self._named[name]

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
        done: dict[str, Any] = {key: schema[key] for key in _COPIED if key in schema}
        self._texts(schema, done)
        self._types(schema, done, where)
        self._bounds(schema, done)
        self._members(schema, done, where, depth)
        self._combinations(schema, done, where, depth)
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            return _with_null(done)
        return done

    def _reference(self, schema: dict[str, Any], where: str) -> Json:
        target = schema["$ref"]
        name = self._names.get(target) or self._name_of(target, where)
        if name is None:
            return {}
        reference: dict[str, Any] = {"$ref": SCHEMA_PREFIX + name}
        self._texts(schema, reference)
        if schema.get("nullable") is True:
            return {"anyOf": [reference, {"type": "null"}]}
        return reference

    def _name_of(self, target: str, where: str) -> str | None:
        found = self._refs.find(target, where)
        if found is None:
            return None
        value, here = found
        steps = here.split("/")
        is_component = steps[:3] == ["", "components", "schemas"] and len(steps) == 4
        name = _free(_identifier(steps[-1] if is_component else "_".join(steps[-3:])), self._named)
        self._names[target] = name
        self._named[name] = {}
        # Read later, one after the other: a long chain of references is not a deep recursion.
        self._unread.append((name, value, here))
        return name

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
                self._findings.warning("unknown_type", where, f"{word!r} is no type of a schema.")
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
            names = [name for name in required if isinstance(name, str)]
            if names:
                done["required"] = names
        extra = schema.get("additionalProperties")
        if isinstance(extra, bool):
            done["additionalProperties"] = extra
        elif isinstance(extra, dict):
            done["additionalProperties"] = self.read(extra, where + "/additionalProperties", depth + 1)
            done.setdefault("type", "object")
        if isinstance(schema.get("items"), list):
            done["prefixItems"] = self._list(schema["items"], where + "/items", depth)
        elif "items" in schema:
            done["items"] = self.read(schema["items"], where + "/items", depth + 1)
            done.setdefault("type", "array")
        if isinstance(schema.get("prefixItems"), list):
            done["prefixItems"] = self._list(schema["prefixItems"], where + "/prefixItems", depth)

    def _combinations(self, schema: dict[str, Any], done: dict[str, Any], where: str, depth: int) -> None:
        for word in ("allOf", "anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                done[word] = self._list(schema[word], f"{where}/{word}", depth)
        if isinstance(schema.get("not"), dict):
            done["not"] = self.read(schema["not"], where + "/not", depth + 1)
        discriminator = schema.get("discriminator")
        if isinstance(discriminator, dict) and isinstance(discriminator.get("propertyName"), str):
            done["discriminator"] = discriminator["propertyName"]

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
    return isinstance(value, int | float) and not isinstance(value, bool)


def _identifier(text: str) -> str:
    name = _NAME.sub("_", text).strip("_") or "Schema"
    return f"_{name}" if name[0].isdigit() else name


def _free(name: str, taken: dict[str, Json]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
