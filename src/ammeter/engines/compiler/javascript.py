"""The SDK as JavaScript for the sandbox: one fixed program and a table of the API's operations.

The table holds names, ids and how pages follow each other: data, never code from the description. What a
request looks like is the host's business alone.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from ammeter.engines.compiler.model import Api, Pagination


def sdk_source(api: Api) -> str:
    """An expression whose value is a function: the host's `call` in, the client out."""
    # JSON is JavaScript but for two line separators, which ASCII escapes cover.
    written = json.dumps(sdk_table(api), separators=(",", ":"), ensure_ascii=True)
    return f"((call) => ({_program()})(call, {written}))"


def sdk_table(api: Api) -> list[Any]:
    """By row: the steps to a method, the id of its operation, and how its pages follow each other."""
    return [
        [[*operation.group, operation.name], operation.id, _paging(operation.pagination)]
        for operation in sorted(api.operations, key=lambda o: (o.group, o.name))
    ]


def _paging(pagination: Pagination | None) -> dict[str, Any] | None:
    if pagination is None:
        return None
    return {
        "kind": pagination.kind,
        "items": list(pagination.items),
        "arg": pagination.request_arg,
        "name": pagination.request_name,
        "size": pagination.size_arg,
        "next": list(pagination.next_path),
        "more": list(pagination.more_path),
        "first": pagination.first,
    }


@cache
def _program() -> str:
    text = resources.files(__package__).joinpath("sdk.js").read_text()
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")).strip()
