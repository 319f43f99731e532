"""Schemas and operations as TypeScript: the declarations of the whole SDK, and the one-line signature of a
method with the types an agent needs spelled out.

Text of the description enters comments only, with whatever could end a comment or hide in it taken out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Json, Operation

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_MAX_ENUM = 60
_ANY_OBJECT = "Record<string, unknown>"

HEAD = """\
/** What a failed call throws: what the API answered. */
interface ApiError extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly body: unknown;
  readonly requestId: string | null;
}
/** An answer that is also its rows, page after page: `for await (const row of client.x.list())`. */
type Paged<Answer, Row> = Promise<Answer> & AsyncIterable<Row>;
/** Bytes: base64 text with a media type. */
type Binary = { base64: string; contentType?: string; filename?: string };
"""


class TypeWriter:
    """Writes types with named types by name (declarations), or spelled out to a depth (signatures)."""

    def __init__(
        self, schemas: Mapping[str, Json], *, spelled_depth: int | None = None, width: int = 4_000
    ) -> None:
        self._schemas = schemas
        self._depth = spelled_depth
        self._room = width

    def write(self, schema: Json, depth: int = 0, within: tuple[str, ...] = ()) -> str:
        if "$ref" in schema:
            return self._named(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), depth, within)
        if "const" in schema:
            return _literal(schema["const"])
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return _union(_literal(value) for value in schema["enum"][:_MAX_ENUM])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                choices = [self.write(part, depth, within) for part in schema[word]]
                rest = {key: value for key, value in schema.items() if key not in (word, "type")}
                base = self._object(rest, depth, within) if rest.get("properties") else ""
                return f"{base} & ({_union(choices)})" if base else _union(choices)
        if "allOf" in schema:
            parts = [self.write(part, depth, within) for part in schema["allOf"]]
            if schema.get("properties"):
                parts.append(self._object(schema, depth, within))
            kept = [_grouped(part) for part in dict.fromkeys(parts) if part != "unknown"]
            return " & ".join(kept) or "unknown"
        return self._by_type(schema, depth, within)

    def _named(self, name: str, depth: int, within: tuple[str, ...]) -> str:
        if self._depth is None:
            return type_name(name)
        if name in within:
            return "unknown /* as above */"
        return self.write(self._schemas.get(name, {}), depth, (*within, name))

    def _by_type(self, schema: Json, depth: int, within: tuple[str, ...]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union(self._by_type({**schema, "type": word}, depth, within) for word in kind)
        if kind == "string" and schema.get("format") in ("binary", "byte"):
            return "Binary" if schema["format"] == "binary" else "string"
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind == "array":
            if "prefixItems" in schema:
                return (
                    "["
                    + ", ".join(self.write(part, depth + 1, within) for part in schema["prefixItems"])
                    + "]"
                )
            return f"{_grouped(self.write(schema.get('items', {}), depth, within))}[]"
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth, within)
        return "unknown"

    def _object(self, schema: Json, depth: int, within: tuple[str, ...]) -> str:
        properties = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        if not properties:
            return (
                f"Record<string, {self.write(extra, depth + 1, within)}>"
                if isinstance(extra, dict)
                else _ANY_OBJECT
            )
        if self._depth is not None and (depth >= self._depth or self._room <= 0):
            return "{ " + ", ".join(_keys(properties)) + " }" if depth == self._depth else "object"
        required = set(schema.get("required", ()))
        members = []
        for name, part in properties.items():
            written = self.write(part, depth + 1, within)
            self._room -= len(name) + len(written)
            members.append(f"{key(name)}{'' if name in required else '?'}: {written}")
            if self._depth is not None and self._room <= 0:
                members.append(f"/* and {len(properties) - len(members)} more */")
                break
        if isinstance(extra, dict) or extra is True:
            members.append("[key: string]: unknown")
        return "{ " + "; ".join(members) + " }"


def type_name(name: str) -> str:
    """A type's name that hides none of ours or of TypeScript's."""
    return f"{name}_" if name in _RESERVED else name


_RESERVED = {
    *(
        "any",
        "unknown",
        "never",
        "void",
        "null",
        "undefined",
        "string",
        "number",
        "boolean",
        "object",
        "symbol",
    ),
    *(
        "bigint",
        "Promise",
        "Array",
        "Record",
        "Paged",
        "Binary",
        "ApiError",
        "Error",
        "AsyncIterable",
        "Client",
    ),
    *("break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else"),
    *("enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof"),
    *("new", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "while", "with"),
    *(
        "yield",
        "let",
        "static",
        "implements",
        "interface",
        "package",
        "private",
        "protected",
        "public",
        "await",
    ),
    *(
        "type",
        "declare",
        "async",
        "of",
        "Object",
        "String",
        "Number",
        "Boolean",
        "Function",
        "Symbol",
        "Date",
    ),
}


def key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def comment(text: str, limit: int = 300) -> str:
    """Words of the description that may stand in a comment: one line, nothing that ends it."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    line = line.replace("*/", "*\u200a/").replace("/*", "/\u200a*").replace("```", "'''")
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def arguments_type(operation: Operation, writer: TypeWriter, schemas: Mapping[str, Json]) -> tuple[str, bool]:
    """The type of the argument object, and whether it may be left out."""
    members = [
        (parameter.arg, parameter.required, writer.write(parameter.schema, 1))
        for parameter in operation.parameters
    ]
    body = operation.body
    if body is not None and body.args is None:
        written = (
            "string"
            if body.kind == "text"
            else "Binary"
            if body.kind == "binary"
            else writer.write(body.schema, 1)
        )
        members.append((body.body_arg, body.required, written))
    elif body is not None and body.args is not None:
        properties, required = object_parts(body.schema, schemas)
        members += [
            (arg, name in required and body.required, writer.write(properties.get(name, {}), 1))
            for name, arg in body.args.items()
            if not properties.get(name, {}).get("readOnly")
        ]
    if not members:
        return "", True
    members.sort(key=lambda member: not member[1])
    text = "; ".join(f"{key(name)}{'' if needed else '?'}: {written}" for name, needed, written in members)
    return "{ " + text + " }", not any(needed for _, needed, _ in members)


def object_parts(schema: Json, schemas: Mapping[str, Json]) -> tuple[dict[str, Json], set[str]]:
    """Properties and required names of an object, whatever it is composed of."""
    properties: dict[str, Json] = {}
    required: set[str] = set()
    todo: list[Json] = [schema]
    seen: set[str] = set()
    while todo:
        part = todo.pop(0)
        if "$ref" in part:
            name = str(part["$ref"]).removeprefix(SCHEMA_PREFIX)
            if name not in seen:
                seen.add(name)
                todo.insert(0, schemas.get(name, {}))
            continue
        todo += part.get("allOf", ())
        for name, value in part.get("properties", {}).items():
            properties.setdefault(name, value)
        required.update(part.get("required", ()))
    return properties, required


def answer_type(operation: Operation, writer: TypeWriter) -> str:
    success = operation.success
    if success is None or success.kind == "none":
        # Many descriptions leave out what a 200 holds; only 204 and its kin promise nothing.
        return "void" if success is not None and success.status in ("204", "205") else "unknown"
    if success.kind == "text":
        return "string"
    if success.kind == "binary":
        return "Binary"
    return writer.write(success.schema or {}, 1)


def row_type(answer: Json, items: tuple[str, ...], schemas: Mapping[str, Json], writer: TypeWriter) -> str:
    schema: Json = answer
    for step in items:
        schema = object_parts(schema, schemas)[0].get(step, {})
    for _ in range(20):
        if "$ref" not in schema:
            break
        schema = schemas.get(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), {})
    return writer.write(schema.get("items", {}), 1)


def method_type(operation: Operation, writer: TypeWriter, schemas: Mapping[str, Json]) -> str:
    """`(args: {…}) => answer`, as it is after the method's name."""
    written, optional = arguments_type(operation, writer, schemas)
    given = f"(args{'?' if optional else ''}: {written})" if written else "()"
    answer = answer_type(operation, writer)
    success = operation.success
    if operation.pagination is not None and success is not None and success.schema is not None:
        row = row_type(success.schema, operation.pagination.items, schemas, writer)
        return f"{given}: Paged<{answer}, {row}>"
    return f"{given}: Promise<{answer}>"


def signature(api: Api, operation: Operation, client_name: str) -> str:
    """One line with the types spelled out two levels deep, shallower where that would be long."""
    for depth, width in ((3, 1_500), (2, 1_500), (1, 1_200)):
        writer = TypeWriter(api.schemas, spelled_depth=depth, width=width)
        line = f"{client_name}.{operation.sdk_name}{method_type(operation, writer, api.schemas)}"
        if len(line) <= 1_600:
            break
    return comment(line, 2_400) if len(line) > 2_400 else line


def declarations(api: Api, client_name: str) -> str:
    """The whole SDK as a declaration file."""
    writer = TypeWriter(api.schemas)
    lines = [f"/** {comment(f'{api.title} {api.version}')} */", HEAD]
    for name, schema in api.schemas.items():
        if text := schema.get("description"):
            lines.append(f"/** {comment(text)} */")
        lines.append(f"type {type_name(name)} = {_alias(name, writer.write(schema))};")
    lines.append("interface Client {")
    lines += _groups(_tree(api.operations), writer, api, "  ")
    lines += ["}", f"declare const {client_name}: Client;", ""]
    return "\n".join(lines)


def _alias(name: str, written: str) -> str:
    # `type A = A` is no type: a schema that is only a reference to itself allows anything.
    return "unknown" if written == type_name(name) else written


def _tree(operations: Iterable[Operation]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for operation in sorted(operations, key=lambda o: (o.group, o.name)):
        place = root
        for step in operation.group:
            place = place.setdefault(step, {})
        place[operation.name] = operation
    return root


def _groups(tree: dict[str, Any], writer: TypeWriter, api: Api, indent: str) -> list[str]:
    lines: list[str] = []
    for name, part in tree.items():
        if isinstance(part, Operation):
            words = comment(part.summary or part.description or f"{part.method.upper()} {part.path}")
            lines.append(f"{indent}/** {'@deprecated ' if part.deprecated else ''}{words} */")
            lines.append(f"{indent}{name}{method_type(part, writer, api.schemas)};")
        else:
            lines += [
                f"{indent}readonly {name}: {{",
                *_groups(part, writer, api, indent + "  "),
                indent + "};",
            ]
    return lines


def _union(parts: Iterable[str]) -> str:
    kept = list(dict.fromkeys(parts))
    if "unknown" in kept:
        return "unknown"
    return " | ".join(_grouped(part) if "=>" in part else part for part in kept) or "never"


def _grouped(part: str) -> str:
    return f"({part})" if " | " in part or " & " in part else part


def _literal(value: Any) -> str:
    if value is None or isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=True)
    return _ANY_OBJECT if isinstance(value, dict) else "unknown[]"


def _keys(properties: Mapping[str, Any]) -> list[str]:
    names = [f"{key(name)}: …" for name in list(properties)[:12]]
    return [*names, "…"] if len(properties) > 12 else names
