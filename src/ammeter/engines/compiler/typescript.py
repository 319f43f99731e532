"""Operations as TypeScript: the declarations of the whole SDK, and the one-line signature of a method with
the types an agent needs spelled out.

Text of the description enters comments only, with whatever could end a comment or hide in it taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.engines.compiler.model import Api, Json, Operation
from ammeter.engines.compiler.shapes import merged, object_parts
from ammeter.engines.compiler.text import comment, cut, key
from ammeter.engines.compiler.types_text import Names, TypeWriter

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


@dataclass(frozen=True, slots=True)
class _Writers:
    """One for what a script gives, one for what it gets."""

    given: TypeWriter
    got: TypeWriter
    schemas: Mapping[str, Json]
    are_spelled: bool = False


def signature(api: Api, operation: Operation, client_name: str, names: Names | None = None) -> str:
    """One line with the types spelled out three levels deep, shallower where that would be long. `names`:
    those of the API, where many signatures are written."""
    names = names or Names(api.schemas)
    line = ""
    for depth, width in ((3, 1_500), (2, 1_500), (1, 1_200)):
        writers = _Writers(
            TypeWriter(names, asking=True, spelled_depth=depth, width=width),
            TypeWriter(names, asking=False, spelled_depth=depth, width=width),
            api.schemas,
            are_spelled=True,
        )
        line = f"{client_name}.{operation.sdk_name}{_method_type(operation, writers)}"
        if len(line) <= 1_600:
            break
    return cut(line, 2_400)


def declarations(api: Api, client_name: str, names: Names | None = None) -> str:
    """The whole SDK as a declaration file. Its types stand in a namespace, so that one called `Event` or
    `Map` does not meet TypeScript's own."""
    names = names or Names(api.schemas)
    writers = _Writers(TypeWriter(names, asking=True), TypeWriter(names, asking=False), api.schemas)
    methods = _groups(_tree(api.operations), writers, "    ")
    lines = [f"/** {comment(f'{api.title} {api.version}') or 'The API'} */", "declare namespace sdk {"]
    lines += [f"  {line}" for line in HEAD.splitlines()]
    lines += _types(api, names, writers)
    lines += ["  interface Client {", *methods, "  }", "}", f"declare const {client_name}: sdk.Client;", ""]
    return "\n".join(lines)


def _types(api: Api, names: Names, writers: _Writers) -> list[str]:
    """Every type that is used, written for each direction in which it is."""
    written: dict[tuple[str, bool], list[str]] = {}
    todo = [(writer, name) for writer in (writers.given, writers.got) for name in writer.used]
    while todo:
        writer, name = todo.pop()
        asking = writer is writers.given and names.is_split(name)
        if (name, asking) in written or name not in api.schemas:
            continue
        schema = api.schemas[name]
        writer.used.clear()
        text = writer.write(schema, alias=name)
        about = [f"  /** {comment(schema['description'])} */"] if schema.get("description") else []
        written[(name, asking)] = [*about, f"  type {names.of(name, asking=asking)} = {text};"]
        todo += [(writer, other) for other in writer.used]
    return [line for place in sorted(written) for line in written[place]]


def _method_type(operation: Operation, writers: _Writers) -> str:
    """`(args: {…}): answer`, as it is after the method's name."""
    written, optional = _arguments_type(operation, writers)
    given = f"(args{'?' if optional else ''}: {written})" if written else "()"
    answer = _answer_type(operation, writers.got)
    success = operation.success
    if operation.pagination is not None and success is not None and success.schema is not None:
        row = _row_type(success.schema, operation.pagination.items, writers)
        if writers.are_spelled and len(row) > 20 and row in answer:
            return f"{given}: Paged<{answer.replace(row, 'Row')}, Row = {row}>"
        return f"{given}: Paged<{answer}, {row}>"
    return f"{given}: Promise<{answer}>"


def _arguments_type(operation: Operation, writers: _Writers) -> tuple[str, bool]:
    """The type of the argument object, and whether it may be left out."""
    writer = writers.given
    members = [(p.arg, p.required, writer.write(p.schema, 1)) for p in operation.parameters]
    body = operation.body
    if body is not None and body.args is None:
        whole = {"text": "string", "binary": "Binary"}.get(body.kind) or writer.write(body.schema, 1)
        members.append((body.body_arg, body.required, whole))
    elif body is not None and body.args is not None:
        properties, required = object_parts(body.schema, writers.schemas)
        members += [
            (arg, name in required and body.required, writer.write(properties.get(name, {}), 1))
            for name, arg in body.args.items()
            if not properties.get(name, {}).get("readOnly")
        ]
    if not members:
        return "", True
    members.sort(key=lambda member: not member[1])
    text = "; ".join(writer.member(*member) for member in members)
    return "{ " + text + " }", not any(needed for _, needed, _ in members)


def _answer_type(operation: Operation, writer: TypeWriter) -> str:
    success = operation.success
    if operation.method == "head":
        return "void"
    if success is None or success.kind == "none":
        # Many descriptions leave out what a 200 holds; only 204 and its kin promise nothing.
        return "void" if success is not None and success.status in ("204", "205") else "unknown"
    if success.kind == "text":
        return "string"
    if success.kind == "binary":
        return "Binary"
    return writer.write(success.schema or {}, 1)


def _row_type(answer: Json, items: tuple[str, ...], writers: _Writers) -> str:
    schema: Json = answer
    for step in items:
        schema = object_parts(_living(schema, writers.schemas), writers.schemas)[0].get(step, {})
    plain, _ = merged(_living(schema, writers.schemas), writers.schemas)
    return writers.got.write(plain.get("items", {}), 1)


def _living(schema: Json, schemas: Mapping[str, Json]) -> Json:
    """What a value is when it is not null."""
    _, choices = merged(schema, schemas)
    rest = [part for part in choices[0] if part.get("type") != "null"] if len(choices) == 1 else []
    return rest[0] if len(rest) == 1 else schema


def _tree(operations: Iterable[Operation]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for operation in sorted(operations, key=lambda o: (o.group, o.name)):
        place = root
        for step in operation.group:
            place = place.setdefault(step, {})
        place[operation.name] = operation
    return root


def _groups(tree: dict[str, Any], writers: _Writers, indent: str) -> list[str]:
    lines: list[str] = []
    for name, part in tree.items():
        if isinstance(part, Operation):
            words = comment(part.summary or part.description or f"{part.method.upper()} {part.path}")
            lines.append(f"{indent}/** {'@deprecated ' if part.deprecated else ''}{words} */")
            # Unquoted, `new` would declare a constructor.
            shown = '"new"' if name == "new" else key(name)
            lines.append(f"{indent}{shown}{_method_type(part, writers)};")
        else:
            inner = _groups(part, writers, indent + "  ")
            lines += [f"{indent}readonly {key(name)}: {{", *inner, indent + "};"]
    return lines
