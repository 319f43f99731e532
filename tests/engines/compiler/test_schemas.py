from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.model import Json
from tests.engines.compiler.described import codes, json_body, one, query, read


def schema_of(schema: Any, schemas: Any = None) -> Json:
    return one({"parameters": [query("a", schema)]}, schemas=schemas).parameters[0].schema


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"nullable": True, "allOf": [{"type": "string"}]},
            {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"exclusiveMaximum": 1, "maximum": 3}, {"maximum": 3, "exclusiveMaximum": 1}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
        ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}], "type": "array"}),
        (
            {"prefixItems": [True], "items": False},
            {"prefixItems": [{}], "items": {"not": {}}, "type": "array"},
        ),
        (
            {"patternProperties": {"^x": {"type": "string"}}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"required": ["a", "a", 5]}, {"required": ["a"]}),
        ({"example": 1, "description": " d "}, {"examples": [1], "description": "d"}),
    ],
)
def test_both_dialects_become_one(given: Any, read_as: Any) -> None:
    assert schema_of(given) == read_as


@pytest.mark.parametrize(
    "word",
    [
        {"enum": "a"},
        {"enum": {}},
        {"enum": []},
        {"minimum": "low"},
        {"maxLength": -1},
        {"maxItems": None},
        {"pattern": 5},
        {"multipleOf": 0},
        {"readOnly": "yes"},
        {"properties": 3},
        {"required": True},
        {"allOf": 5},
        {"oneOf": []},
        {"title": []},
        {"minimum": True},
    ],
)
def test_words_without_their_form_are_passed_over(word: Any) -> None:
    assert schema_of(word) == {}


def test_a_type_that_is_none_is_told_and_mended_where_it_is_a_known_slip() -> None:
    raw = {"parameters": [query("a", {"type": "int64"}), query("b", {"type": {"x": 1}})]}
    api, findings = read({"/x": {"get": {**raw, "responses": {"200": {}}}}})
    assert [p.schema for p in api.operations[0].parameters] == [{"type": "integer"}, {}]
    assert codes(findings) == ["unknown_type", "unknown_type"]


@pytest.mark.parametrize(
    "target", ["#nowhere", "#/components/schemas/²", "#/a/99999999999999999999", "x.json", "http://x/y"]
)
def test_a_reference_that_leads_nowhere_or_out_allows_anything_and_is_told(target: str) -> None:
    raw = {"parameters": [query("a", {"$ref": target})], "responses": {"200": {}}}
    api, findings = read({"/x": {"get": raw}}, a=[1])
    assert api.operations[0].parameters[0].schema == {}
    assert codes(findings)[0] in ("unresolved_ref", "external_ref")


def test_names_of_types_do_not_hang_on_who_refers_to_them_first() -> None:
    schemas = {name: {"type": "string", "title": name} for name in ("a b", "a-b", "a_b", "9")}
    names = ["a-b", "a b", "a_b", "9"]

    def titles(order: list[str]) -> dict[str, Any]:
        raw = {
            "parameters": [query(n, {"$ref": f"#/components/schemas/{n}"}) for n in order],
            "responses": {},
        }
        return {
            name: schema["title"] for name, schema in read({"/x": {"get": raw}}, schemas)[0].schemas.items()
        }

    assert titles(names) == titles(names[::-1]) == {"a_b": "a_b", "a_b_2": "a b", "a_b_3": "a-b", "_9": "9"}


def test_one_schema_has_one_name_however_its_reference_is_written() -> None:
    refs = ["#/components/schemas/a b", "#/components/schemas/a%20b"]
    raw = {"parameters": [query(str(i), {"$ref": ref}) for i, ref in enumerate(refs)], "responses": {}}
    assert list(read({"/x": {"get": raw}}, {"a b": {"type": "string"}})[0].schemas) == ["a_b"]


def test_a_schema_deeper_than_any_reader_needs_is_cut_with_a_finding() -> None:
    deep: Any = {"type": "string"}
    for _ in range(100):
        deep = {"type": "array", "items": deep}
    _, findings = read({"/x": {"get": {"parameters": [query("a", deep)], "responses": {"200": {}}}}})
    assert codes(findings) == ["schema_too_deep"]


def test_a_discriminators_mapping_tells_which_value_belongs_to_which_choice() -> None:
    schemas = {"Cat": {"type": "object"}, "Dog": {"type": "object"}}
    choice = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {"cat": "Cat", "lion": "#/components/schemas/Cat"},
        },
    }
    cat, dog = one(json_body(choice), method="post", schemas=schemas).body.schema["oneOf"]  # type: ignore[union-attr]
    assert cat["allOf"][1]["properties"] == {"kind": {"enum": ["cat", "lion"]}}
    assert dog == {"$ref": "#/schemas/Dog"}


def test_flags_beside_a_reference_are_kept() -> None:
    schemas = {"A": {"type": "string"}}
    given = {"$ref": "#/components/schemas/A", "readOnly": True, "description": "d", "nullable": True}
    assert schema_of(given, schemas) == {
        "anyOf": [{"$ref": "#/schemas/A", "description": "d", "readOnly": True}, {"type": "null"}]
    }
