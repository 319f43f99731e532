from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.engines.search.index import SearchIndex, SearchResult, build_index
from tests.engines.search.shop import SHOP, card

INDEX = SearchIndex.load(build_index(SHOP))


def first(query: str) -> str:
    return INDEX.search(query).hits[0].operation_id


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("register a new customer account", "createUser"),
        ("give the money back for an order", "refundOrder"),
        ("buy what is in my basket", "placeOrder"),
        ("show me what people say about a product", "listReviews"),
        ("change the org config", "setSettings"),
    ],
)
def test_a_question_in_other_words_finds_its_operation(query: str, wanted: str) -> None:
    assert wanted in [hit.operation_id for hit in INDEX.search(query, 3).hits]


@pytest.mark.parametrize(
    "query",
    [
        "createUser",
        "create_user",
        "CREATE-USER",
        "users.createUser",
        "await client.users.createUser({ email_address: 'a@b.c' })",
        "client.users.createUser();",
    ],
)
def test_a_name_is_found_as_people_and_scripts_write_it(query: str) -> None:
    assert first(query) == "createUser"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("GET /users/{user_id}", "getUser"),
        ("get /users/{id}", "getUser"),
        ("DELETE /users/42", "deleteUser"),
        ("GET /users/:id", "getUser"),
        ("/users/{id}", "getUser"),
        ("POST https://api.example.com/v1/users?dry_run=true", "createUser"),
        ("/orders/abc/refunds", "refundOrder"),
        ("orders/refunds", "refundOrder"),
        ("what does GET /orders/{order_id} answer?", "getOrder"),
        ("/products/search/", "searchProducts"),
    ],
)
def test_a_path_is_found_filled_or_not(query: str, wanted: str) -> None:
    result = INDEX.search(query)
    assert result.hits[0].operation_id == wanted
    assert not result.miss


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("giftWrapping", "placeOrder"),
        ("gift_wrapping", "placeOrder"),
        ("tracking number", "getOrder"),
        ("shipped_after", "listOrders"),
        ("total_amount", "listOrders"),
    ],
)
def test_a_field_finds_the_operation_that_takes_or_gives_it(query: str, wanted: str) -> None:
    assert first(query) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("lsit reviws", "listReviews"), ("refnud order", "refundOrder"), ("searchprodcts", "searchProducts")],
)
def test_slips_of_the_pen_are_forgiven(query: str, wanted: str) -> None:
    assert first(query) == wanted


def test_a_known_word_is_never_taken_for_a_slip() -> None:
    cards = (
        card("get", "/forms", "listForms", "List forms"),
        card("get", "/farms", "listFarms", "List farms"),
    )
    index = SearchIndex.load(build_index(cards))
    assert index.search("farms").hits[0].operation_id == "listFarms"
    assert index.search("forms").hits[0].operation_id == "listForms"


def test_long_questions_are_heard_clause_by_clause() -> None:
    asked = "Find the cheapest products in the shop, then place an order for it and list all reviews of it"
    found = {hit.operation_id for hit in INDEX.search(asked, 5).hits}
    assert {"searchProducts", "placeOrder", "listReviews"} <= found


def test_a_deprecated_operation_ranks_below_its_living_equal_wherever_it_stands() -> None:
    old = card("get", "/v1/users", "listUsersV1", "List users", deprecated=True, tags=("users",))
    new = replace(old, path="/v2/users", operation_id="listUsersV2", deprecated=False)
    for pair in ((old, new), (new, old)):
        index = SearchIndex.load(build_index((*pair, *SHOP[3:])))
        assert [hit.operation_id for hit in index.search("list users", 2).hits] == [
            "listUsersV2",
            "listUsersV1",
        ]


def test_a_deprecated_operation_is_first_for_one_who_names_it() -> None:
    old = card("get", "/v1/users", "legacyUsers", "List users", deprecated=True)
    index = SearchIndex.load(build_index((*SHOP, old)))
    assert index.search("legacyUsers").hits[0].operation_id == "legacyUsers"
    assert index.search("GET /v1/users").hits[0].operation_id == "legacyUsers"


def test_equal_operations_stay_in_the_order_of_the_cards() -> None:
    same = [card("get", f"/things/{n}x", "thing", "A thing", sdk_name="things.thing") for n in "abc"]
    index = SearchIndex.load(build_index([replace(c, path="/things") for c in same]))
    assert [hit.position for hit in index.search("thing").hits] == [0, 1, 2]


@pytest.mark.parametrize(
    "query",
    ["qwzx blorf", "zzzzzz", "!!! ???", "🙂🙂", "\x00\x07", "will it rain in Lisbon tomorrow morning"],
)
def test_what_the_api_does_not_have_is_told_as_a_miss(query: str) -> None:
    assert INDEX.search(query).miss


@pytest.mark.parametrize(
    "query",
    ["list users", "refund", "orders of Miss Elizabeth Bennet in Hertfordshire", "email_address", "getOrder"],
)
def test_what_the_api_has_is_no_miss_whatever_values_are_named(query: str) -> None:
    assert not INDEX.search(query).miss


def test_a_miss_still_says_where_to_look() -> None:
    result = INDEX.search("orders by carrier pigeon and zeppelin qwzx")
    assert result.nearest_groups[0] == "orders"
    assert len(result.nearest_groups) <= 5


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_query_finds_nothing(query: str) -> None:
    assert INDEX.search(query) == SearchResult(hits=(), miss=True, nearest_groups=())


def test_an_api_without_operations_answers_too() -> None:
    assert SearchIndex.load(build_index(())).search("list users").miss


def test_there_are_no_more_hits_than_asked_for_and_the_best_come_first() -> None:
    hits = INDEX.search("order", 3).hits
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert INDEX.search("order", 0).hits == INDEX.search("order", -1).hits == ()


def test_the_same_query_gives_the_same_answer() -> None:
    again = SearchIndex.load(build_index(SHOP))
    for query in ("order", "creat usr", "GET /users/1"):
        assert INDEX.search(query) == INDEX.search(query) == again.search(query)


@pytest.mark.parametrize(
    "query",
    [
        "a" * 10_000,
        "order " * 2_000,
        "xqzj " * 2_000,
        "/a" * 5_000,
        "{" * 10_000,
        "(" * 10_000,
        "aB" * 5_000,
        "!?" * 5_000,
        "'" * 10_000,
        "GET " * 2_500,
        "client." * 1_500,
        "创建用户" * 2_500,
        "e\u0301\u202e\u200b" * 2_500,
        "\ud800" * 100,
        "foo and then " * 800,
    ],
    ids=lambda query: ascii(query[:6]),
)
def test_no_query_is_too_long_or_too_strange(query: str) -> None:
    begun = time.process_time()
    INDEX.search(query)
    assert time.process_time() - begun < 0.5


_CHUNKS = st.text(st.sampled_from("abzAZ09_-/{}ßéİ\u00b2\u0345ﬁ用户\u200d '\"`"), min_size=2, max_size=12)


@settings(deadline=None, max_examples=50)
@given(st.lists(_CHUNKS, min_size=8, max_size=20), st.sampled_from([", ", " and then ", ". ", " "]))
def test_no_clause_makes_the_search_fail(chunks: list[str], between: str) -> None:
    INDEX.search(between.join(f"{one} {other}" for one, other in pairwise(chunks)))


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=200))
def test_no_text_makes_the_search_fail(query: str) -> None:
    for hit in INDEX.search(query).hits:
        assert SHOP[hit.position].operation_id == hit.operation_id
