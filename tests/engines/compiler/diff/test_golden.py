"""Two versions of one API, written by hand: the diff names the thirty known changes and nothing else. The
new one is also in another dialect and other words, with a renamed scheme and a field moved into a base.
"""

from __future__ import annotations

from pathlib import Path

from ammeter.engines.compiler.diff import ApiDiff, diff_apis
from ammeter.engines.compiler.document import read_document
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api
from ammeter.engines.compiler.naming import with_names
from ammeter.engines.compiler.operations import extensions, read_api

GOLDEN = Path(__file__).parent / "golden"
KNOWN = """
health.readHealth error api-security-added
items.getItem error response-property-format-changed made
items.getItem error response-property-one-of-added number
items.getItem error response-property-type-changed id
items.getPicture error response-media-type-removed application/json
orders.createOrder error new-required-request-property address
orders.createOrder error request-body-became-required item
orders.createOrder error request-property-became-not-nullable ship
orders.createOrder error request-property-became-required count
orders.createOrder error request-property-min-increased count
orders.createOrder error request-property-removed coupon
orders.createOrder warning response-success-status-changed 201
orders.deleteOrder error api-removed-without-deprecation orders.deleteOrder
orders.listOrders error new-required-request-parameter region
orders.listOrders error request-parameter-default-value-changed limit
orders.listOrders error request-parameter-enum-value-removed status
orders.listOrders error request-parameter-format-added since
orders.listOrders error request-parameter-max-decreased limit
orders.listOrders error request-parameter-removed shop
orders.listOrders error response-optional-property-removed items[].note
orders.listOrders error response-property-became-nullable items[].buyer.email
orders.listOrders error response-property-became-optional items[].total.currency
orders.listOrders warning endpoint-deprecated orders.listOrders
orders.listOrders warning request-parameter-pattern-changed sort
orders.listOrders warning response-property-enum-value-added items[].state
orders.updateOrder error argument-renamed orderId
orders.updateOrder error request-property-max-length-decreased note
users.createUser info endpoint-added users.createUser
users.search error response-property-became-nullable users[].email
users.search error sdk-name-changed users.search
"""


def described(name: str) -> Api:
    document = read_document((GOLDEN / name).read_bytes()).document
    assert document is not None
    findings = Findings()
    return with_names(read_api(document, findings), extensions(document), findings)


def golden_diff() -> ApiDiff:
    return diff_apis(described("old.yaml"), described("new.yaml"))


def test_the_diff_names_all_thirty_known_changes_and_nothing_else() -> None:
    known = [line.split() for line in KNOWN.strip().splitlines()]
    diff = golden_diff()
    told = sorted(
        (entry.sdk_name, change.level, change.rule, change.message)
        for entry in (*diff.added, *diff.removed, *diff.signature_changed)
        for change in entry.changes
    )
    assert len(known) == 30
    assert [entry[:3] for entry in told] == [tuple(entry[:3]) for entry in known]
    for (_, _, _, message), words in zip(told, known, strict=True):
        assert all(f"`{word}`" in message for word in words[3:]), message


def test_what_breaks_is_what_was_removed_or_has_an_error() -> None:
    diff = golden_diff()
    assert [entry.sdk_name for entry in diff.added] == ["users.createUser"]
    assert [entry.sdk_name for entry in diff.removed] == ["orders.deleteOrder"]
    assert {entry.sdk_name for entry in diff.breaking} == {
        entry.sdk_name for entry in (*diff.removed, *diff.signature_changed)
    }


def test_a_pointer_leads_into_the_new_description_or_into_the_old_one_for_what_is_gone() -> None:
    pointers = {
        change.rule: change.pointer
        for entry in golden_diff().signature_changed
        for change in entry.changes
        if entry.sdk_name in ("orders.listOrders", "orders.updateOrder")
    }
    assert pointers["response-optional-property-removed"] == "/components/schemas/Order/properties/note"
    assert pointers["response-property-enum-value-added"] == (
        "/components/schemas/Order/allOf/1/properties/state"
    )
    assert pointers["argument-renamed"] == "/paths/~1orders~1{orderId}/patch"
