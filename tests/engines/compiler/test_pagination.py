from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.model import Pagination
from tests.engines.compiler.described import ANSWER, codes, json_answer, json_body, one, query, read

ROWS = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
WHOLE = {"type": "integer"}


def answer(**fields: Any) -> dict[str, Any]:
    return json_answer({"type": "object", "properties": {"items": ROWS, **fields}})


def paged(names: list[dict[str, Any]], given: dict[str, Any], **raw: Any) -> Pagination | None:
    return one({"parameters": names, **given, **raw}).pagination


def test_a_cursor_needs_a_parameter_and_a_field_that_tells_the_next() -> None:
    found = paged(
        [query("cursor"), query("limit", WHOLE)],
        answer(next_cursor={"type": "string"}, has_more={"type": "boolean"}),
    )
    assert found == Pagination(
        kind="cursor",
        items=("items",),
        request_arg="cursor",
        request_name="cursor",
        size_arg="limit",
        next_path=("next_cursor",),
        more_path=("has_more",),
    )
    inner = {"anyOf": [{"type": "object", "properties": {"nextToken": {"type": "string"}}}, {"type": "null"}]}
    found = paged([query("nextToken")], answer(meta=inner))
    assert found is not None
    assert found.next_path == ("meta", "nextToken")
    assert paged([query("cursor")], answer()) is None


def test_the_last_rows_id_is_a_cursor_where_the_parameter_says_so() -> None:
    found = paged([query("starting_after")], answer(has_more={"type": "boolean"}))
    assert found is not None
    assert found.next_path == ("items", "-1", "id")


@pytest.mark.parametrize(
    ("name", "schema", "kind", "first"),
    [
        ("page", WHOLE, "page", 1),
        ("page", {"type": "integer", "minimum": 0}, "page", 0),
        ("page", {}, "page", 1),
        ("offset", WHOLE, "offset", 0),
        ("skip", WHOLE, "offset", 0),
    ],
)
def test_counted_pages_and_offsets_are_recognised(name: str, schema: Any, kind: str, first: int) -> None:
    found = paged([{"name": name, "in": "query", "schema": schema}], json_answer(ROWS))
    assert found is not None
    assert (found.kind, found.items, found.request_arg, found.first) == (kind, (), name, first)


def test_where_pages_are_counted_a_link_to_the_next_tells_that_there_is_one() -> None:
    found = paged([query("page", WHOLE)], answer(next={"type": ["string", "null"]}))
    assert found is not None
    assert found.more_path == ("next",)


def test_a_link_header_goes_before_counting() -> None:
    found = paged([query("page", WHOLE)], json_answer(ROWS, headers={"Link": {}}))
    assert found is not None
    assert (found.kind, found.request_arg) == ("link", None)


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ([query("from", {"type": "string", "format": "date"})], json_answer(ROWS)),
        ([query("page", {"type": "string"})], json_answer(ROWS)),
        ([query("page", WHOLE)], json_answer({"type": "object", "properties": {"name": {"type": "string"}}})),
        ([query("page", WHOLE)], {}),
        ([], json_answer(ROWS)),
    ],
)
def test_what_fits_only_on_one_side_is_not_paged(parameters: Any, given: Any) -> None:
    assert paged(parameters, given) is None


def test_a_post_is_paged_only_where_an_extension_says_so() -> None:
    raw = {"parameters": [query("page", WHOLE)], **answer()}
    assert one(raw, method="post").pagination is None
    told = {
        "inputs": [{"name": "after", "in": "requestBody", "type": "cursor"}],
        "outputs": {"nextCursor": "$.items[-1]['id']"},
    }
    body = json_body({"properties": {"after": {"type": "string"}}})
    found = one({**answer(), **body, "x-speakeasy-pagination": told}, method="post").pagination
    assert found is not None
    assert (found.request_arg, found.items, found.next_path) == ("after", ("items",), ("items", "-1", "id"))


def test_ferns_words_are_understood() -> None:
    told = {"cursor": "$request.c", "next_cursor": "$response.page.next", "results": "$response.data.rows"}
    found = paged([query("c")], answer(), **{"x-fern-pagination": told})
    assert found is not None
    assert (found.kind, found.next_path, found.items) == ("cursor", ("page", "next"), ("data", "rows"))
    found = paged([query("page", WHOLE)], answer(), **{"x-fern-pagination": {"offset": "$request.page"}})
    assert found is not None
    assert (found.kind, found.first) == ("page", 1)


@pytest.mark.parametrize(
    "told",
    [
        True,
        5,
        [],
        {},
        {"inputs": None},
        {"inputs": [5, {"in": "parameters", "name": "c", "type": "cursor"}]},
        {"cursor": "$request.c"},
        {"cursor": 5},
        {"inputs": [{"name": "no", "type": "page"}]},
    ],
)
@pytest.mark.parametrize("word", ["x-speakeasy-pagination", "x-fern-pagination"])
def test_an_extension_that_names_nothing_usable_is_told(word: str, told: Any) -> None:
    raw = {"parameters": [query("c")], **answer(), word: told}
    api, findings = read({"/x": {"get": raw}})
    assert api.operations[0].pagination is None
    assert codes(findings) == ["unusable_pagination"]


def test_no_answer_at_all_is_not_paged() -> None:
    assert one({"parameters": [query("page", WHOLE)], "responses": ANSWER}).pagination is None
