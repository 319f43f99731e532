"""A script that calls an operation, as an agent would write it: the required arguments with likely values."""

from __future__ import annotations

from typing import Any

from ammeter.engines.compiler.arguments import expected
from ammeter.engines.compiler.model import Api, Operation
from ammeter.engines.compiler.sample import BINARY, sample
from ammeter.engines.compiler.shapes import object_parts
from ammeter.engines.compiler.text import literal

_MAX_CHARACTERS = 1_200


def example_arguments(api: Api, operation: Operation) -> dict[str, Any]:
    """Values for everything that is required, and one field of a body that requires none: to change
    nothing is no example."""
    known = expected(api, operation)
    wanted = [name for name, (_, required) in known.items() if required]
    wanted += _one_field(api, operation, wanted)
    given: dict[str, Any] = {}
    body = operation.body
    for name in wanted:
        if body is not None and body.args is None and name == body.body_arg and body.kind == "text":
            given[name] = "text"
        elif body is not None and body.args is None and name == body.body_arg and body.kind == "binary":
            given[name] = BINARY
        else:
            given[name] = sample(known[name][0], api.schemas, name=name)
    return given


def _one_field(api: Api, operation: Operation, wanted: list[str]) -> list[str]:
    body = operation.body
    if body is None or body.args is None or set(body.args.values()) & set(wanted):
        return []
    properties, _ = object_parts(body.schema, api.schemas)
    writable = [arg for name, arg in body.args.items() if not properties.get(name, {}).get("readOnly")]
    return writable[:1]


def example(api: Api, operation: Operation, client_name: str) -> str | None:
    """None where the arguments would be too long to be an example."""
    arguments = example_arguments(api, operation)
    call = f"{client_name}.{operation.sdk_name}({literal(arguments) if arguments else ''})"
    if len(call) > _MAX_CHARACTERS:
        return None
    if operation.pagination is not None:
        lines = ["  rows.push(row);", "  if (rows.length >= 100) break;", "}", "return rows;"]
        return "\n".join(["const rows = [];", f"for await (const row of {call}) {{", *lines])
    return f"return await {call};"
