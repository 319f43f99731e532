"""A script that calls an operation, as an agent would write it: the required arguments with likely values."""

from __future__ import annotations

import json
from typing import Any

from ammeter.engines.compiler.arguments import expected
from ammeter.engines.compiler.model import Api, Operation
from ammeter.engines.compiler.sample import BINARY, sample
from ammeter.engines.compiler.typescript import key

_MAX_CHARACTERS = 1_200


def example_arguments(api: Api, operation: Operation) -> dict[str, Any]:
    """Values for everything that is required; a body that is required as a whole has at least itself."""
    body = operation.body
    given: dict[str, Any] = {}
    for name, (schema, required) in expected(api, operation).items():
        if not required:
            continue
        if (
            body is not None
            and body.args is None
            and name == body.body_arg
            and body.kind in ("text", "binary")
        ):
            given[name] = "text" if body.kind == "text" else BINARY
        else:
            given[name] = sample(schema, api.schemas, name=name)
    return given


def example(api: Api, operation: Operation, client_name: str) -> str | None:
    """None where the arguments would be too long to be an example."""
    call = f"{client_name}.{operation.sdk_name}({_written(example_arguments(api, operation))})"
    if len(call) > _MAX_CHARACTERS:
        return None
    if operation.pagination is not None:
        lines = ["  rows.push(row);", "  if (rows.length >= 100) break;", "}", "return rows;"]
        return "\n".join(["const rows = [];", f"for await (const row of {call}) {{", *lines])
    return f"return await {call};"


def _written(arguments: dict[str, Any]) -> str:
    if not arguments:
        return ""
    parts = [f"{key(name)}: {json.dumps(value, ensure_ascii=True)}" for name, value in arguments.items()]
    return "{ " + ", ".join(parts) + " }"
