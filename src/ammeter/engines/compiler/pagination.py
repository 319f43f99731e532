"""Which operations give their answer in pages, and how the next one is asked for.

Told by another generator's extension, else recognised from the parameters and the answer. It is taken only
where both sides fit: an argument (or a Link header) to ask with, and an array to give rows from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Api, Json, Operation, PageKind, Pagination

_PAGES = ("page", "page_number", "pageNumber", "page_num", "pageNum", "pageNo", "page_no", "page[number]")
_OFFSETS = ("offset", "skip", "startAt", "start_at", "from", "$skip", "page[offset]")
_CURSORS = (
    *(
        "cursor",
        "page_token",
        "pageToken",
        "next_token",
        "nextToken",
        "after",
        "starting_after",
        "next_cursor",
    ),
    *("continuation_token", "continuationToken", "marker", "page_cursor", "pageCursor", "page[cursor]"),
)
_SIZES = (
    *("limit", "per_page", "perPage", "page_size", "pageSize", "count", "max_results", "maxResults", "size"),
    *("$top", "page[size]", "page[limit]", "top", "pagelen"),
)
_NEXT = (
    *(
        "next_cursor",
        "nextCursor",
        "next_page_token",
        "nextPageToken",
        "next_token",
        "nextToken",
        "cursor",
        "next",
    ),
    *(
        "continuation_token",
        "continuationToken",
        "next_marker",
        "nextMarker",
        "end_cursor",
        "endCursor",
        "after",
    ),
)
_MORE = ("has_more", "hasMore", "has_next_page", "hasNextPage", "more", "has_next", "hasNext")
_ROWS = (
    "data",
    "items",
    "results",
    "rows",
    "values",
    "records",
    "entries",
    "list",
    "value",
    "content",
    "objects",
)
_INNER = (
    "meta",
    "metadata",
    "pagination",
    "paging",
    "page_info",
    "pageInfo",
    "response_metadata",
    "links",
    "_links",
)


def with_pagination(api: Api, extensions: Mapping[str, Mapping[str, Any]], findings: Findings) -> Api:
    def paged(operation: Operation) -> Operation:
        found = _told(api, operation, extensions.get(operation.pointer, {}), findings) or _seen(
            api, operation
        )
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
    args = {p.name: p.arg for p in operation.parameters if p.location == "query"}
    answer = _resolved(api, _answer(operation))
    size = next((args[name] for name in _SIZES if name in args), None)
    for name in _CURSORS:
        if name in args and (path := _find(api, answer, _NEXT)):
            return _of(
                "cursor", rows, args[name], size, next_path=path, more_path=_find(api, answer, _MORE) or ()
            )
    for name in _OFFSETS:
        if name in args and _is_whole(api, operation, name):
            return _of("offset", rows, args[name], size, more_path=_find(api, answer, _MORE) or ())
    for name in _PAGES:
        if name in args and _is_whole(api, operation, name):
            first = _first_page(api, operation, name)
            return _of("page", rows, args[name], size, first=first, more_path=_find(api, answer, _MORE) or ())
    if operation.success is not None and "link" in operation.success.headers:
        return _of("link", rows, None, size)
    return None


def _told(api: Api, operation: Operation, raw: Mapping[str, Any], findings: Findings) -> Pagination | None:
    """`x-speakeasy-pagination` and `x-fern-pagination`, as their authors document them."""
    args = {p.name: p.arg for p in operation.parameters if p.location == "query"}
    rows = _rows(api, operation)
    size = next((args[name] for name in _SIZES if name in args), None)
    if isinstance(told := raw.get("x-speakeasy-pagination"), dict):
        inputs = [i for i in told.get("inputs", ()) if isinstance(i, dict) and i.get("in") == "parameters"]
        by_type = {str(i.get("type")): args.get(str(i.get("name"))) for i in inputs}
        outputs = told.get("outputs") if isinstance(told.get("outputs"), dict) else {}
        path = _json_path(outputs.get("results")) if outputs else None
        items = path if path is not None else rows
        kinds: dict[str, PageKind] = {"cursor": "cursor", "page": "page", "offset": "offset"}
        for word, kind in kinds.items():
            if (arg := by_type.get(word)) and items is not None:
                following = _json_path(outputs.get("nextCursor")) if outputs else None
                return _of(
                    kind,
                    items,
                    arg,
                    by_type.get("limit") or size,
                    next_path=following or (),
                    first=1 if kind == "page" else 0,
                )
    if isinstance(told := raw.get("x-fern-pagination"), dict):
        items = _fern_path(told.get("results"))
        items = items if items is not None else rows
        for word, kind in (("cursor", "cursor"), ("offset", "offset")):
            name = str(told.get(word, "")).removeprefix("$request.")
            if name in args and items is not None:
                following = _fern_path(told.get("next_cursor"))
                return _of(
                    "cursor" if kind == "cursor" else "offset",
                    items,
                    args[name],
                    size,
                    next_path=following or (),
                )
    for word in ("x-speakeasy-pagination", "x-fern-pagination"):
        if word in raw:
            findings.warning(
                "unusable_pagination", operation.pointer, f"{word} names nothing that this operation has."
            )
    return None


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
    answer = _resolved(api, _answer(operation))
    if _kind(answer) == "array":
        return ()
    properties = _properties(api, answer)
    arrays = [name for name, part in properties.items() if _kind(_resolved(api, part)) == "array"]
    for name in _ROWS:
        if name in arrays:
            return (name,)
    return (arrays[0],) if len(arrays) == 1 else None


def _find(api: Api, answer: Json, names: tuple[str, ...]) -> tuple[str, ...] | None:
    properties = _properties(api, answer)
    for name in names:
        if name in properties and _kind(_resolved(api, properties[name])) != "array":
            return (name,)
    for outer in _INNER:
        if outer in properties:
            inner = _properties(api, _resolved(api, properties[outer]))
            for name in names:
                if name in inner:
                    return (outer, name)
    return None


def _resolved(api: Api, schema: Json) -> Json:
    for _ in range(20):
        if "$ref" in schema:
            schema = api.schemas.get(str(schema["$ref"]).removeprefix(SCHEMA_PREFIX), {})
        elif len(schema.get("allOf", ())) == 1 and "properties" not in schema:
            schema = schema["allOf"][0]
        else:
            break
    return schema


def _properties(api: Api, schema: Json) -> dict[str, Json]:
    found: dict[str, Json] = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ())[:10]:
        found |= _resolved(api, part).get("properties", {})
    return found


def _kind(schema: Json) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        rest = [word for word in kind if word != "null"]
        return str(rest[0]) if len(rest) == 1 else None
    return kind


def _is_whole(api: Api, operation: Operation, name: str) -> bool:
    schema = next(p.schema for p in operation.parameters if p.name == name and p.location == "query")
    return _kind(_resolved(api, schema)) in ("integer", "number", None)


def _first_page(api: Api, operation: Operation, name: str) -> int:
    schema = _resolved(api, next(p.schema for p in operation.parameters if p.name == name))
    for word in ("default", "minimum"):
        if schema.get(word) in (0, 1):
            return int(schema[word])
    return 1


def _json_path(text: Any) -> tuple[str, ...] | None:
    """`$.a.b` as keys; None for anything more than keys."""
    if not isinstance(text, str) or not text.startswith("$"):
        return None
    keys = [key for key in text[1:].split(".") if key]
    return None if any(c in key for key in keys for c in "[]*()") else tuple(keys)


def _fern_path(text: Any) -> tuple[str, ...] | None:
    if not isinstance(text, str) or not text.startswith("$response"):
        return None
    return tuple(key for key in text.removeprefix("$response").split(".") if key)
