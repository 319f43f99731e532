from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.cards import make_cards
from ammeter.engines.compiler.index import BUDGET_TOKENS, sdk_index, tokens
from tests.engines.compiler.described import ANSWER, query, read


def index_of(count: int, groups: int, words: str = "Does a thing") -> str:
    paths: dict[str, Any] = {
        f"/g{i % groups}/t{i}": {
            "get": {
                "tags": [f"group{i % groups}"],
                "summary": words,
                "operationId": f"getThing{i}",
                "parameters": [query("limit")],
                "responses": ANSWER,
            }
        }
        for i in range(count)
    }
    api, _ = read(paths)
    return sdk_index(api, make_cards(api, "client"), "client")


@pytest.mark.parametrize("count", [1, 5, 30, 60, 100, 300, 1_000, 3_000])
def test_the_index_keeps_to_its_budget_and_names_every_group(count: int) -> None:
    text = index_of(count, min(count, 40))
    assert tokens(text) <= BUDGET_TOKENS
    assert text == index_of(count, min(count, 40))
    for group in range(min(count, 40)):
        assert f"client.group{group}" in text


def test_a_small_api_shows_every_signature_and_a_large_one_uses_its_room() -> None:
    assert index_of(5, 2).count("): Promise<") == 5
    assert tokens(index_of(3_000, 40)) > BUDGET_TOKENS * 0.8


def test_more_groups_than_there_is_room_for_are_counted() -> None:
    text = index_of(3_000, 1_500)
    assert tokens(text) <= BUDGET_TOKENS
    assert "more groups; find any operation with search_sdk" in text


def test_texts_of_any_language_are_counted_for_what_they_cost() -> None:
    assert tokens(index_of(200, 20, "取得する" * 20)) <= BUDGET_TOKENS


def test_deprecated_operations_are_counted_and_not_listed() -> None:
    paths = {"/a": {"get": {"responses": ANSWER}}, "/b": {"get": {"deprecated": True, "responses": ANSWER}}}
    api, _ = read(paths)
    text = sdk_index(api, make_cards(api, "c"), "c")
    assert text.splitlines() == [
        "T 1: 2 operations on the global `c` (1 deprecated, not listed).",
        "c.a.list(): Promise<unknown>",
    ]


def test_an_api_without_operations_has_an_index_too() -> None:
    api, _ = read({})
    assert sdk_index(api, (), "c") == "T 1: 0 operations on the global `c`."
