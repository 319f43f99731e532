from __future__ import annotations

from dataclasses import replace

from ammeter.engines.compiler.model import Card
from ammeter.engines.search.producers import ids_from
from tests.engines.search.shop import SHOP, card


def produced(*cards: Card) -> dict[str, str | None]:
    return {c.operation_id: name for c, name in zip(cards, ids_from(cards), strict=True)}


def test_ids_come_from_the_collection_that_the_path_stands_in() -> None:
    found = produced(*SHOP)
    assert found["getUser"] == found["deleteUser"] == "users.listUsers"
    assert found["refundOrder"] == "orders.listOrders"


def test_ids_come_from_a_search_where_there_is_no_collection() -> None:
    assert produced(*SHOP)["listReviews"] == "products.searchProducts"


def test_a_path_without_holes_needs_no_ids() -> None:
    found = produced(*SHOP)
    assert found["listUsers"] is None
    assert found["placeOrder"] is None


def test_nothing_is_named_where_nothing_gives_the_id() -> None:
    assert produced(*SHOP)["setSettings"] is None


def test_the_last_hole_is_asked_for_first() -> None:
    books = card("get", "/shelves/{shelf}/books", "listBooks")
    found = produced(
        card("get", "/shelves", "listShelves"), books, card("get", "/shelves/{s}/books/{book}", "getBook")
    )
    assert found["getBook"] == "shelves.listBooks"
    assert found["listBooks"] == "shelves.listShelves"


def test_what_is_only_made_gives_its_id_at_its_making() -> None:
    make = card("post", "/jobs", "startJob", response_fields=("id", "state"))
    ask = card("get", "/jobs/{id}", "getJob")
    assert produced(make, ask)["getJob"] == "jobs.startJob"
    assert produced(replace(make, response_fields=("state",)), ask)["getJob"] is None


def test_a_thing_of_a_thing_does_not_give_the_thing() -> None:
    locks = card("get", "/folder_locks", "listFolderLocks", response_fields=("id",))
    assert produced(locks, card("get", "/folders/{folder_id}", "getFolder"))["getFolder"] is None


def test_a_living_producer_is_preferred_to_a_deprecated_one() -> None:
    old = card("get", "/lists/movie", "oldMovies", deprecated=True, response_fields=("id",))
    new = card("get", "/search/movie", "findMovies", response_fields=("id",))
    ask = card("get", "/movie/{movie_id}", "getMovie")
    assert produced(old, new, ask)["getMovie"] == "search.findMovies"
    assert produced(old, ask)["getMovie"] == "lists.oldMovies"
