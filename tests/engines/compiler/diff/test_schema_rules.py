"""Every rule on schemas at every place where it can be met: one pair of schemas per kind, and that rule
alone is found, at the level of its direction.
"""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.diff import diff_apis
from ammeter.engines.compiler.diff.registry import PLACED
from ammeter.engines.compiler.diff.schema_rules import BOUND_KINDS, Place
from tests.engines.compiler.diff.building import api, changes, compared, operation, parameter, placed

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
UNION = [{"type": "string"}, {"type": "object", "properties": {"a": STRING}}]


def there_and_back(there: str, back: str, old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    return {there: (old, new), back: (new, old)}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def array(**more: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, **more}


VALUES: dict[str, tuple[Any, Any]] = {
    "type-changed": (STRING, INTEGER),
    **there_and_back("type-generalized", "type-specialized", INTEGER, NUMBER),
    **there_and_back(
        "list-of-types-widened", "list-of-types-narrowed", STRING, {"type": ["string", "integer"]}
    ),
    **there_and_back("became-nullable", "became-not-nullable", STRING, {"type": ["string", "null"]}),
    **there_and_back("enum-value-added", "enum-value-removed", text(enum=["a"]), text(enum=["a", "b"])),
    **there_and_back("became-enum", "enum-opened", STRING, text(enum=["a", "b"])),
    **there_and_back("const-added", "const-removed", STRING, text(const="a")),
    "const-changed": (text(const="a"), text(const="b")),
    **there_and_back("pattern-added", "pattern-removed", STRING, text(pattern="^a")),
    "pattern-changed": (text(pattern="^a"), text(pattern="^b")),
    **there_and_back("format-added", "format-removed", STRING, text(format="uuid")),
    "format-changed": (text(format="date"), text(format="date-time")),
    **there_and_back(
        "multiple-of-narrowed",
        "multiple-of-widened",
        {"type": "number", "multipleOf": 0.05},
        {"type": "number", "multipleOf": 0.1},
    ),
    **there_and_back("unique-items-added", "unique-items-removed", array(), array(uniqueItems=True)),
    **there_and_back("not-added", "not-removed", STRING, text(**{"not": {"const": "x"}})),
    **there_and_back("one-of-added", "one-of-removed", {"oneOf": UNION}, {"oneOf": [*UNION, INTEGER]}),
    **there_and_back("any-of-added", "any-of-removed", {"anyOf": UNION}, {"anyOf": [*UNION, INTEGER]}),
    **there_and_back(
        "prefix-items-added",
        "prefix-items-removed",
        {"type": "array", "prefixItems": [STRING]},
        {"type": "array", "prefixItems": [STRING, INTEGER]},
    ),
    **there_and_back(
        "additional-properties-forbidden",
        "additional-properties-allowed",
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
    ),
    "union-changed": (
        {"type": "object", "properties": {"a": STRING}},
        {"type": "object", "properties": {"a": STRING}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ),
}
TYPE_OF = {"Length": "string", "Items": "array", "Properties": "object"}
for word, kind in BOUND_KINDS.items():
    base = {"type": next((name for end, name in TYPE_OF.items() if word.endswith(end)), "number")}
    VALUES |= there_and_back(f"{kind}-set", f"{kind}-unset", base, {**base, word: 5})
    VALUES |= there_and_back(f"{kind}-increased", f"{kind}-decreased", {**base, word: 5}, {**base, word: 10})


def holder(required: bool, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": ["x"]} if required else {})}


PARTS: dict[str, tuple[Any, Any]] = {
    **there_and_back(
        "required-property-added", "required-property-removed", holder(False), holder(True, x=STRING)
    ),
    **there_and_back(
        "optional-property-added", "optional-property-removed", holder(False), holder(False, x=STRING)
    ),
    **there_and_back("became-required", "became-optional", holder(False, x=STRING), holder(True, x=STRING)),
    "became-read-only": (holder(False, x=STRING), holder(False, x=text(readOnly=True))),
    "default-value-changed": (holder(False, x=text(default="a")), holder(False, x=text(default="b"))),
    **there_and_back(
        "default-value-added",
        "default-value-removed",
        holder(False, x=STRING),
        holder(False, x=text(default="a")),
    ),
    **there_and_back(
        "deprecated", "reactivated", holder(False, x=STRING), holder(False, x=text(deprecated=True))
    ),
}
ROOT_OF: dict[Place, Place] = {
    "request-parameter-property": "request-parameter",
    "request-property": "request-body",
    "response-property": "response-body",
}
IS_FOUND_ELSEWHERE = {"comparison-cut-short"}


@pytest.mark.parametrize(("place", "kind"), [key for key in PLACED if key[1] in VALUES], ids="-".join)
def test_a_changed_value_is_named_by_its_rule_alone(place: Place, kind: str) -> None:
    old, new = VALUES[kind]
    found = compared(placed(place, old), placed(place, new))
    rule = PLACED[(place, kind)]
    assert [(change.rule, change.level) for change in found] == [(rule.id, rule.level)]


@pytest.mark.parametrize(
    ("place", "kind"), [key for key in PLACED if key[1] in PARTS and key[0] in ROOT_OF], ids="-".join
)
def test_a_changed_property_is_named_by_its_rule_alone(place: Place, kind: str) -> None:
    old, new = PARTS[kind]
    found = compared(placed(ROOT_OF[place], old), placed(ROOT_OF[place], new))
    rule = PLACED[(place, kind)]
    assert [(change.rule, change.level) for change in found] == [(rule.id, rule.level)]
    assert "x`" in found[0].message


def test_every_kind_of_change_has_a_case() -> None:
    assert {kind for _, kind in PLACED} == VALUES.keys() | PARTS.keys() | IS_FOUND_ELSEWHERE


@pytest.mark.parametrize(("default", "rule"), [("b", "changed"), (None, "removed")])
def test_another_default_of_a_parameter_is_a_change(default: str | None, rule: str) -> None:
    new = text(default=default) if default else STRING
    found = compared(
        operation(parameters=(parameter("p", text(default="a")),)),
        operation(parameters=(parameter("p", new),)),
    )
    assert [change.rule for change in found] == [f"request-parameter-default-value-{rule}"]


def test_another_default_of_a_required_parameter_changes_nothing() -> None:
    old, new = (operation(parameters=(parameter("p", text(default=value), required=True),)) for value in "ab")
    assert compared(old, new) == []


def test_what_only_explains_a_schema_is_no_change() -> None:
    old = text(description="a", title="A", examples=["x"], **{"x-order": 1})
    assert compared(placed("response-property", old), placed("response-property", STRING)) == []


@pytest.mark.parametrize("name", ["int64", "double"])
def test_a_format_that_every_number_has_is_no_change(name: str) -> None:
    found = compared(
        placed("request-property", NUMBER), placed("request-property", {**NUMBER, "format": name})
    )
    assert found == []


def test_a_message_says_from_what_to_what_and_what_to_do() -> None:
    old, new = {"type": "integer", "maximum": 100}, {"type": "integer", "maximum": 50}
    (change,) = compared(placed("request-parameter", old), placed("request-parameter", new))
    assert change.message == "The largest value of argument `p` went from 100 to 50; stay at or below 50."


def test_braces_in_a_description_do_not_disturb_a_message() -> None:
    old, new = text(pattern="^{a}"), text(pattern="^{where}{0}")
    (change,) = changes(
        diff_apis(api(placed("request-parameter", old)), api(placed("request-parameter", new)))
    )
    assert "`^{where}{0}`" in change.message
