"""Every rule on operations, arguments and answers: one pair of operations per rule, and that rule alone is
found.
"""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.diff import diff_apis
from ammeter.engines.compiler.diff.operation_rules import ANSWER_RULES, ARGUMENT_RULES, OPERATION_RULES
from ammeter.engines.compiler.diff.registry import RULES
from ammeter.engines.compiler.model import Operation, Pagination
from tests.engines.compiler.diff.building import (
    answer,
    api,
    body,
    compared,
    flat,
    operation,
    parameter,
    rules,
)

Case = tuple[Operation, Operation]

STRING = {"type": "string"}
PAGES = Pagination(kind="cursor", items=("items",))


def there_and_back(there: str, back: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Case]:
    return {
        there: (operation(**old), operation(**new)),
        back: (operation(**new), operation(**old)),
    }


def pair(old: dict[str, Any], new: dict[str, Any]) -> Case:
    return operation(**old), operation(**new)


OPERATIONS: dict[str, Case] = {
    "sdk-name-changed": pair({}, {"name": "all"}),
    "path-changed": pair({}, {"path": "/v2/orders"}),
    "method-changed": pair({}, {"method": "post"}),
    "operation-id-changed": pair({}, {"id": "getOrders"}),
    **there_and_back("endpoint-deprecated", "endpoint-reactivated", {}, {"deprecated": True}),
    **there_and_back("api-security-added", "api-security-removed", {}, {"security": (("key",),)}),
    "api-security-changed": pair({"security": (("key",),)}, {"security": (("token",),)}),
    **there_and_back(
        "api-security-alternative-added",
        "api-security-alternative-removed",
        {"security": (("key",),)},
        {"security": (("key",), ("token",))},
    ),
}
ARGUMENTS: dict[str, Case] = {
    **there_and_back(
        "new-optional-request-parameter", "request-parameter-removed", {}, {"parameters": (parameter("p"),)}
    ),
    "new-required-request-parameter": pair({}, {"parameters": (parameter("p", required=True),)}),
    **there_and_back(
        "request-parameter-became-required",
        "request-parameter-became-optional",
        {"parameters": (parameter("p"),)},
        {"parameters": (parameter("p", required=True),)},
    ),
    "request-parameter-moved": pair(
        {"parameters": (parameter("p"),)}, {"parameters": (parameter("X-P", location="header", arg="p"),)}
    ),
    "argument-renamed": pair(
        {"path": "/orders/{id}", "parameters": (parameter("id", location="path", required=True),)},
        {"path": "/orders/{order}", "parameters": (parameter("order", location="path", required=True),)},
    ),
    "request-parameter-deprecated": pair(
        {"parameters": (parameter("p"),)}, {"parameters": (parameter("p", deprecated=True),)}
    ),
    **there_and_back("request-body-added-required", "request-body-removed", {}, {"body": flat("a")}),
    "request-body-added-optional": pair({}, {"body": flat("a", required=False)}),
    **there_and_back(
        "request-body-became-required",
        "request-body-became-optional",
        {"body": flat("a", required=False)},
        {"body": flat("a")},
    ),
    "request-body-arguments-changed": pair({"body": flat("a")}, {"body": body(flat("a").schema)}),
    "request-body-media-type-removed": pair(
        {"body": flat("a")}, {"body": flat("a", content_type="multipart/form-data", kind="multipart")}
    ),
    "request-body-media-type-name-changed": pair(
        {"body": flat("a")}, {"body": flat("a", content_type="application/merge-patch+json")}
    ),
    **there_and_back(
        "request-body-media-type-added",
        "request-body-other-media-type-removed",
        {"body": flat("a")},
        {"body": flat("a", other_content_types=("text/csv",))},
    ),
}
ANSWERS: dict[str, Case] = {
    "response-success-status-removed": pair({}, {"responses": ()}),
    "response-success-status-changed": pair({}, {"responses": (answer({"type": "object"}, "201"),)}),
    **there_and_back(
        "response-success-status-added",
        "response-other-success-status-removed",
        {},
        {"responses": (answer({"type": "object"}), answer({"type": "object"}, "202"))},
    ),
    **there_and_back(
        "response-non-success-status-added",
        "response-non-success-status-removed",
        {},
        {"responses": (answer({"type": "object"}), answer({"type": "object"}, "404"))},
    ),
    **there_and_back(
        "response-media-type-added",
        "response-media-type-removed",
        {"responses": (answer(None, kind="none", content_type=None),)},
        {},
    ),
    "response-media-type-name-changed": pair(
        {}, {"responses": (answer({"type": "object"}, content_type="application/hal+json"),)}
    ),
    "error-response-body-changed": pair(
        {"responses": (answer({}), answer({"type": "object"}, "404"))},
        {"responses": (answer({}), answer(STRING, "404"))},
    ),
    **there_and_back("pagination-added", "pagination-removed", {}, {"pagination": PAGES}),
    "pagination-items-changed": pair(
        {"pagination": PAGES}, {"pagination": Pagination(kind="cursor", items=("rows",))}
    ),
    "pagination-kind-changed": pair(
        {"pagination": PAGES}, {"pagination": Pagination(kind="page", items=("items",))}
    ),
}
CASES = {**OPERATIONS, **ARGUMENTS, **ANSWERS}
FOUND_BY_OTHER_TESTS = {
    "endpoint-added",
    "api-removed-without-deprecation",
    "api-removed-with-deprecation",
    "api-path-removed-without-deprecation",
    "api-path-removed-with-deprecation",
    "new-request-path-parameter",
}


@pytest.mark.parametrize("rule", CASES)
def test_a_changed_operation_is_named_by_its_rule_alone(rule: str) -> None:
    found = compared(*CASES[rule])
    assert [(change.rule, change.level) for change in found] == [(rule, RULES[rule].level)]


def test_every_rule_on_operations_has_a_case() -> None:
    told = {rule.id for rule in (*OPERATION_RULES, *ARGUMENT_RULES, *ANSWER_RULES)}
    assert told <= CASES.keys() | FOUND_BY_OTHER_TESTS


def test_every_error_tells_what_a_script_must_do() -> None:
    assert [rule.id for rule in RULES.values() if (rule.level == "error") != bool(rule.todo)] == []


def test_a_further_parameter_of_the_path_is_an_error() -> None:
    new = operation(path="/{shop}/orders", parameters=(parameter("shop", location="path", required=True),))
    assert rules(operation(), new) == {"path-changed", "new-request-path-parameter"}


def test_a_renamed_path_parameter_with_the_same_argument_changes_nothing() -> None:
    old = operation(path="/o/{id}", parameters=(parameter("id", location="path", required=True),))
    new = operation(path="/o/{ID}", parameters=(parameter("ID", location="path", required=True, arg="id"),))
    assert compared(old, new) == []


def test_a_field_of_the_body_under_another_argument_is_a_renamed_argument() -> None:
    old, new = flat("id"), body(flat("id").schema, args={"id": "body_id"})
    (change,) = compared(operation(body=old), operation(body=new))
    assert change.message == "The argument `id` is now called `body_id`; pass `body_id`."


def test_a_change_in_a_body_that_is_one_argument_is_told_below_that_argument() -> None:
    old, new = ({"type": "array", "items": {"type": kind}} for kind in ("string", "integer"))
    (change,) = compared(operation(body=body(old)), operation(body=body(new)))
    assert "`body[]`" in change.message


def test_headers_are_the_same_in_any_case() -> None:
    old, new = (parameter(name, location="header", arg="trace") for name in ("X-Trace", "x-trace"))
    assert compared(operation(parameters=(old,)), operation(parameters=(new,))) == []


def test_a_security_scheme_under_another_name_is_the_same() -> None:
    scheme = {"type": "http", "scheme": "bearer"}
    old = api(operation(security=(("a",),)), security_schemes={"a": scheme})
    new = api(operation(security=(("b",),)), security_schemes={"b": {**scheme, "description": "new"}})
    assert diff_apis(old, new).signature_changed == ()
