"""Which operations give their answer in pages, and how the next one is asked for.

Told by another generator's extension, else recognised from the parameters and the answer. It is taken only
where both sides fit: an argument (or a Link header) to ask with, and an array to give rows from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api, Json, Operation, PageKind, Pagination
from ammeter.engines.compiler.shapes import kinds, merged, object_parts, target

_PAGES = (
    *("page", "page_number", "pageNumber", "page_num", "pageNum", "pageNo", "page_no"),
    *("page[number]",),
)
_OFFSETS = ("offset", "skip", "startAt", "start_at", "from", "$skip", "page[offset]")
_CURSORS = (
    *("cursor", "page_token", "pageToken", "next_token", "nextToken", "after", "starting_after"),
    *("next_cursor", "continuation_token", "continuationToken", "marker", "page_cursor"),
    *("pageCursor", "page[cursor]"),
)
_SIZES = (
    *("limit", "per_page", "perPage", "page_size", "pageSize", "count", "max_results"),
    *("maxResults", "size", "$top", "page[size]", "page[limit]", "top", "pagelen"),
)
_NEXT = (
    *("next_cursor", "nextCursor", "next_page_token", "nextPageToken", "next_token", "nextToken"),
    *("cursor", "next", "continuation_token", "continuationToken", "next_marker", "nextMarker"),
    *("end_cursor", "endCursor", "after"),
)
_MORE = ("has_more", "hasMore", "has_next_page", "hasNextPage", "more", "has_next", "hasNext")
# Where pages are counted, what leads to the next one tells that there is one.
_NEXT_PAGE = ("next", "next_page", "nextPage", "next_page_url", "nextPageUrl", "next_url", "nextUrl")
_ROWS = (
    *("data", "items", "results", "rows", "values", "records", "entries", "list", "value"),
    *("content", "objects"),
)
_INNER = (
    *("meta", "metadata", "pagination", "paging", "page_info", "pageInfo", "response_metadata"),
    *("links", "_links"),
)
_STEP = re.compile(r"\.([^.\[\]*()?@ ]+)|\[(-?\d{1,4})\]|\['([^'\]]+)'\]|\[\"([^\"\]]+)\"\]")


def with_pagination(api: Api, extensions: Mapping[str, Mapping[str, Any]], findings: Findings) -> Api:
    def paged(operation: Operation) -> Operation:
        raw = extensions.get(operation.pointer, {})
        found = _told(api, operation, raw, findings) or _seen(api, operation)
        if found is None:
            return operation
        names = {p.arg: p.name for p in operation.parameters}
        return replace(
            operation, pagination=replace(found, request_name=names.get(found.request_arg or "", ""))
        )

    return replace(api, operations=tuple(map(paged, api.operations)))


def _seen(api: Api, operation: Operation) -> Pagination | None:
    if operation.method != "get":
        return None
    rows = _rows(api, operation)
    if rows is None:
        return None
    args = _query_args(operation)
    answer = _answer(operation)
    size = _size(operation)
    more = _find(api, answer, _MORE) or ()
    for name in _CURSORS:
        if name in args and (path := _cursor_path(api, answer, rows, name, more)):
            return _of("cursor", rows, args[name], size, next_path=path, more_path=more)
    if operation.success is not None and "link" in operation.success.headers:
        return _of("link", rows, None, size)
    more = more or _find(api, answer, _NEXT_PAGE) or ()
    for name in _OFFSETS:
        if name in args and _is_whole(api, operation, name):
            return _of("offset", rows, args[name], size, more_path=more)
    for name in _PAGES:
        if name in args and _is_whole(api, operation, name):
            first = _first_page(api, operation, args[name])
            return _of("page", rows, args[name], size, first=first, more_path=more)
    return None


def _cursor_path(
    api: Api, answer: Json, rows: tuple[str, ...], name: str, more: tuple[str, ...]
) -> tuple[str, ...] | None:
    if name == "starting_after":
        # Stripe's way: the cursor is the id of the last row, and another field says whether to go on.
        row = target(_row(api, answer, rows), api.schemas)
        return (*rows, "-1", "id") if more and "id" in object_parts(row, api.schemas)[0] else None
    return _find(api, answer, _NEXT)


def _told(api: Api, operation: Operation, raw: Mapping[str, Any], findings: Findings) -> Pagination | None:
    """`x-speakeasy-pagination` and `x-fern-pagination`, as their authors document them."""
    for word, read in (("x-speakeasy-pagination", _speakeasy), ("x-fern-pagination", _fern)):
        told = raw.get(word)
        if told is None or told is False:
            continue
        found = read(api, operation, told) if isinstance(told, dict) else None
        if found is not None:
            return found
        findings.warning(
            "unusable_pagination", operation.pointer, f"{word} names nothing that this operation has."
        )
    return None


def _speakeasy(api: Api, operation: Operation, told: Mapping[str, Any]) -> Pagination | None:
    inputs, outputs = told.get("inputs"), told.get("outputs")
    outputs = outputs if isinstance(outputs, dict) else {}
    by_type: dict[str, str] = {}
    for given in inputs if isinstance(inputs, list) else []:
        if isinstance(given, dict):
            args = _body_args(operation) if given.get("in") == "requestBody" else _query_args(operation)
            if (arg := args.get(str(given.get("name")))) is not None:
                by_type[str(given.get("type"))] = arg
    results = _json_path(outputs.get("results"), "$")
    items = results if results is not None else _rows(api, operation)
    following = _json_path(outputs.get("nextCursor"), "$") or ()
    size = by_type.get("limit") or _size(operation)
    for kind in _KINDS:
        if (arg := by_type.get(kind)) and items is not None and (kind != "cursor" or following):
            first = _first_page(api, operation, arg) if kind == "page" else 0
            return _of(kind, items, arg, size, next_path=following, first=first)
    return None


def _fern(api: Api, operation: Operation, told: Mapping[str, Any]) -> Pagination | None:
    results = _json_path(told.get("results"), "$response")
    items = results if results is not None else _rows(api, operation)
    following = _json_path(told.get("next_cursor"), "$response") or ()
    more = _json_path(told.get("has-next-page"), "$response") or ()
    args = {**_body_args(operation), **_query_args(operation)}
    for kind in _KINDS:
        name = str(told.get(kind, "")).removeprefix("$request.").removeprefix("body.")
        if name in args and items is not None and (kind != "cursor" or following):
            # Fern's offset may count pages: the parameter's name tells.
            counts_pages = kind == "page" or (kind == "offset" and name in _PAGES)
            first = _first_page(api, operation, args[name]) if counts_pages else 0
            real: PageKind = "page" if counts_pages else kind
            return _of(
                real, items, args[name], _size(operation), next_path=following, more_path=more, first=first
            )
    return None


_KINDS: tuple[PageKind, ...] = ("cursor", "page", "offset")


def _query_args(operation: Operation) -> dict[str, str]:
    return {p.name: p.arg for p in operation.parameters if p.location == "query"}


def _body_args(operation: Operation) -> dict[str, str]:
    return dict(operation.body.args or {}) if operation.body is not None else {}


def _size(operation: Operation) -> str | None:
    args = _query_args(operation)
    return next((args[name] for name in _SIZES if name in args), None)


def _of(
    kind: PageKind,
    items: tuple[str, ...],
    arg: str | None,
    size: str | None,
    *,
    next_path: tuple[str, ...] = (),
    more_path: tuple[str, ...] = (),
    first: int = 0,
) -> Pagination:
    return Pagination(
        kind=kind,
        items=items,
        request_arg=arg,
        size_arg=size,
        next_path=next_path,
        more_path=more_path,
        first=first,
    )


def _answer(operation: Operation) -> Json:
    success = operation.success
    return success.schema if success is not None and success.schema is not None else {}


def _rows(api: Api, operation: Operation) -> tuple[str, ...] | None:
    """Where the array of rows is in the answer."""
    answer = _answer(operation)
    if _kind(api, answer) == "array":
        return ()
    properties, _ = object_parts(answer, api.schemas)
    arrays = [name for name, part in properties.items() if _kind(api, part) == "array"]
    for name in _ROWS:
        if name in arrays:
            return (name,)
    return (arrays[0],) if len(arrays) == 1 else None


def _row(api: Api, answer: Json, rows: tuple[str, ...]) -> Json:
    schema = answer
    for step in rows:
        schema = object_parts(schema, api.schemas)[0].get(step, {})
    row: Json = merged(schema, api.schemas)[0].get("items", {})
    return row


def _find(api: Api, answer: Json, names: tuple[str, ...]) -> tuple[str, ...] | None:
    properties, _ = object_parts(answer, api.schemas)
    for name in names:
        if name in properties and _kind(api, properties[name]) not in ("array", "object"):
            return (name,)
    for outer in _INNER:
        if outer in properties:
            inner, _ = object_parts(_living(api, properties[outer]), api.schemas)
            for name in names:
                if name in inner and _kind(api, inner[name]) not in ("array", "object"):
                    return (outer, name)
    return None


def _living(api: Api, schema: Json) -> Json:
    """What a value is when it is not null."""
    schema = target(schema, api.schemas)
    for word in ("anyOf", "oneOf"):
        rest = [part for part in schema.get(word, ()) if part.get("type") != "null"]
        if len(rest) == 1:
            return target(rest[0], api.schemas)
    return schema


def _kind(api: Api, schema: Json) -> str | None:
    rest = [kind for kind in kinds(merged(_living(api, schema), api.schemas)[0]) if kind != "null"]
    return rest[0] if len(rest) == 1 else None


def _is_whole(api: Api, operation: Operation, name: str) -> bool:
    schema = next(p.schema for p in operation.parameters if p.name == name and p.location == "query")
    kind = _kind(api, schema)
    return kind in ("integer", "number") or (kind is None and name in ("page", "offset"))


def _first_page(api: Api, operation: Operation, arg: str) -> int:
    schema = next((target(p.schema, api.schemas) for p in operation.parameters if p.arg == arg), {})
    for word in ("default", "minimum"):
        if schema.get(word) in (0, 1):
            return int(schema[word])
    return 1


def _json_path(text: Any, root: str) -> tuple[str, ...] | None:
    """`$.a['b'][-1]` as keys; None for anything more than keys and places."""
    if not isinstance(text, str) or not text.startswith(root):
        return None
    rest = text.removeprefix(root).removesuffix("[*]")
    steps: list[str] = []
    while rest:
        if (step := _STEP.match(rest)) is None:
            return None
        steps.append(next(part for part in step.groups() if part is not None))
        rest = rest[step.end() :]
    return tuple(steps)
