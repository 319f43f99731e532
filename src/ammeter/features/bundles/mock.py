"""A stand-in for the API, made from its description: it checks a call as the real host will and answers
with a value that the answer's schema allows.

Where answers come in pages it has two of them, so that a script which asks for all rows turns a page and
comes to an end; one mock is for one reading of each operation's pages. Absent: HTTP, credentials, faults
of the API.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ammeter.engines.compiler.arguments import check_arguments, expected
from ammeter.engines.compiler.model import Api, Operation, Pagination
from ammeter.engines.compiler.sample import BINARY, sample
from ammeter.engines.sandbox.port import HostError

PAGES = 2


class Mock:
    def __init__(self, api: Api, operations: Mapping[str, Operation]) -> None:
        self._api = api
        self._operations = operations
        self.pages_given: Counter[str] = Counter()
        """Pages with rows, by operation."""

    async def call(self, operation_id: str, arguments: Any) -> Any:
        operation = self._operations.get(operation_id)
        if operation is None:
            return HostError(name="TypeError", message=f"There is no operation {operation_id!r}.")
        problems = check_arguments(self._api, operation, arguments)
        if problems:
            told = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
            return HostError(name="TypeError", message=told)
        body = mock_answer(self._api, operation)
        if operation.pagination is None:
            return {"body": body, "next": None}
        return self._page(operation, operation.pagination, arguments or {}, body)

    def _page(self, operation: Operation, how: Pagination, arguments: dict[str, Any], body: Any) -> Any:
        if self.pages_given[operation.id] == PAGES:
            return {"body": _with(body, how.items, []), "next": None}
        self.pages_given[operation.id] += 1
        has_more = self.pages_given[operation.id] < PAGES
        rows = _at(body, how.items)
        body = _with(body, how.items, rows if isinstance(rows, list) and rows else [{}])
        if how.kind == "cursor":
            cursor = self._cursor(operation, how, arguments, _at(body, how.next_path)) if has_more else None
            body = _with(body, how.next_path, cursor)
        if how.more_path and how.more_path != how.next_path:
            body = _with(body, how.more_path, _more(_at(body, how.more_path), has_more))
        return {"body": body, "next": {} if how.kind == "link" and has_more else None}

    def _cursor(self, operation: Operation, how: Pagination, arguments: dict[str, Any], told: Any) -> Any:
        """A value for the argument that asks for the next page; as a link where the answer gives links."""
        name = how.request_arg or ""
        schema, _ = expected(self._api, operation).get(name, ({}, False))
        cursor = sample(schema, self._api.schemas, name=name)
        if cursor == arguments.get(name):
            # The same cursor again would be the end.
            cursor = cursor + 1 if isinstance(cursor, int) else f"{cursor}2"
        if isinstance(told, str) and told.startswith(("https://", "http://", "/", "?")):
            return f"https://example.com/?{quote(how.request_name, safe='')}={quote(str(cursor), safe='')}"
        return cursor


def mock_answer(api: Api, operation: Operation) -> Any:
    """What the API would answer, by its description."""
    success = operation.success
    if success is None or success.kind == "none":
        return None
    if success.kind == "text":
        return "text"
    if success.kind == "binary":
        return BINARY
    return sample(success.schema or {}, api.schemas, whole=True)


def _more(now: Any, has_more: bool) -> Any:
    """Said as the answer says it: by a boolean, or by naming a next page or none."""
    if isinstance(now, bool) or now is None:
        return has_more
    return (now or 1) if has_more else None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and _is_place(step, value):
            value = value[int(step)]
        else:
            return None
    return value


def _with(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """A copy of `value` with `new` at a path; objects on the way that are missing are made."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        if not _is_place(step, value):
            return value
        items = list(value)
        items[int(step)] = _with(items[int(step)], rest, new)
        return items
    inner = dict(value) if isinstance(value, dict) else {}
    inner[step] = _with(inner.get(step), rest, new)
    return inner


def _is_place(step: str, items: list[Any]) -> bool:
    return step.removeprefix("-").isdecimal() and -len(items) <= int(step) < len(items)
