"""Which operations of two descriptions are the same one, and what becomes of the others."""

from __future__ import annotations

import pytest

from ammeter.engines.compiler.diff import diff_apis
from tests.engines.compiler.diff.building import api, operation, rules

OTHER = operation(id="getOrder", path="/orders/{id}", name="get", pointer="/paths/~1orders~1{id}/get")


def test_without_an_old_description_everything_is_added() -> None:
    diff = diff_apis(None, api(operation(), OTHER))
    assert [entry.sdk_name for entry in diff.added] == ["orders.get", "orders.list"]
    assert (diff.removed, diff.signature_changed, diff.breaking) == ((), (), ())


def test_a_new_operation_is_added_and_breaks_nothing() -> None:
    diff = diff_apis(api(operation()), api(operation(), OTHER))
    assert [change.rule for entry in diff.added for change in entry.changes] == ["endpoint-added"]
    assert diff.breaking == ()


@pytest.mark.parametrize("is_deprecated", [False, True])
@pytest.mark.parametrize("is_path_left", [False, True])
def test_a_removed_operation_breaks(is_deprecated: bool, is_path_left: bool) -> None:
    left = operation(id="drop", method="delete", path="/orders/{key}", name="drop")
    old = api(
        operation(), operation(id="getOrder", path="/orders/{id}", name="get", deprecated=is_deprecated)
    )
    diff = diff_apis(old, api(operation(), *([left] if is_path_left else [])))
    rule = (
        f"api-{'' if is_path_left else 'path-'}removed-{'with' if is_deprecated else 'without'}-deprecation"
    )
    assert [change.rule for entry in diff.removed for change in entry.changes] == [rule]
    assert diff.breaking == diff.removed


def test_a_renamed_method_is_one_change_and_neither_added_nor_removed() -> None:
    diff = diff_apis(api(operation()), api(operation(name="all", id="allOrders")))
    assert (diff.added, diff.removed) == ((), ())
    assert [change.rule for change in diff.breaking[0].changes] == [
        "sdk-name-changed",
        "operation-id-changed",
    ]
    assert "call `orders.all`" in diff.breaking[0].changes[0].message


def test_a_moved_operation_is_found_by_its_id_and_breaks_nothing() -> None:
    diff = diff_apis(api(operation()), api(operation(path="/v2/orders")))
    assert (diff.added, diff.removed, diff.breaking) == ((), (), ())
    assert [change.rule for change in diff.signature_changed[0].changes] == ["path-changed"]


def test_an_operation_with_nothing_left_but_its_sdk_name_is_found_by_it() -> None:
    assert rules(operation(), operation(id="search", method="post", path="/search")) == {
        "path-changed",
        "method-changed",
        "operation-id-changed",
    }


def test_a_path_is_the_same_whatever_its_parameters_are_called() -> None:
    diff = diff_apis(api(operation(path="/o/{id}/x", id="a")), api(operation(path="/o/{orderId}/x", id="a")))
    assert diff.signature_changed == ()


def test_entries_and_changes_come_in_one_order_whatever_the_order_of_operations() -> None:
    olds = [operation(id=f"o{n}", path=f"/{n}", name=f"o{n}") for n in range(5)]
    news = [operation(id=f"p{n}", path=f"/{n}", name=f"p{n}", deprecated=True) for n in range(5)]
    one, other = diff_apis(api(*olds), api(*news)), diff_apis(api(*olds[::-1]), api(*news[::-1]))
    assert one == other
