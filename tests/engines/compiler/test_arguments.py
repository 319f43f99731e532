from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.arguments import check_arguments, check_value
from tests.engines.compiler.described import json_body, query, whole

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 40},
        "kind": {"type": "string", "enum": ["cat", "dog"]},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "home": {
            "type": "object",
            "required": ["zip"],
            "properties": {"zip": {"type": "string"}},
            "additionalProperties": False,
        },
        "photo": {"type": "string", "format": "binary"},
        "note": {"type": ["string", "null"]},
        "id": {"type": "string", "readOnly": True},
    },
}
KNOWN = "It takes dryRun, name, age, kind, tags, home, photo, note, id."
API = whole({"parameters": [query("dryRun", {"type": "boolean"})], **json_body(PET)}, method="post")


def problems(arguments: Any) -> list[str]:
    return [f"{p.path}: {p.message}" for p in check_arguments(API, API.operations[0], arguments)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "Rex"}, []),
        ({"name": "Rex", "dryRun": None, "age": None, "note": None}, []),
        ({"name": "Rex", "age": 3.0}, []),
        ({}, ["args.name: this argument is required"]),
        (None, ["args.name: this argument is required"]),
        ({"name": None}, ["args.name: this argument is required"]),
        ([1], ["args: a method takes one object, not array"]),
        ({"name": "Rex", "dryrun": True}, ['args.dryrun: unknown argument. Did you mean "dryRun"?']),
        (
            {"name": "Rex", "body": {}},
            ["args.body: unknown argument. The fields of the body stand in the argument object itself."],
        ),
        ({"name": "Rex", "__proto__": 1}, ['args.__proto__: unknown argument. Did you mean "photo"?']),
        ({"name": "Rex", "x\ny": 1}, ['args["x\\ny"]: unknown argument. ' + KNOWN]),
        ({"name": 5}, ["args.name: string expected, not integer 5"]),
        ({"name": {}}, ["args.name: string expected, not object"]),
        ({"name": "R"}, ["args.name: at least 2 characters expected, not 1"]),
        ({"name": "Rexana"}, ["args.name: at most 5 characters expected, not 6"]),
        ({"name": "Rex", "age": "3"}, ['args.age: integer expected, not string "3"']),
        ({"name": "Rex", "age": True}, ["args.age: integer expected, not boolean true"]),
        ({"name": "Rex", "age": 3.5}, ["args.age: integer expected, not number 3.5"]),
        ({"name": "Rex", "age": -1}, ["args.age: at least 0 expected, not -1"]),
        ({"name": "Rex", "age": 40}, ["args.age: less than 40 expected, not 40"]),
        ({"name": "Rex", "kind": "Cat"}, ['args.kind: "Cat" is none of "cat", "dog". Did you mean "cat"?']),
        ({"name": "Rex", "tags": ["a", 1]}, ["args.tags[1]: string expected, not integer 1"]),
        ({"name": "Rex", "tags": ["a"] * 3}, ["args.tags: at most 2 items expected, not 3"]),
        ({"name": "Rex", "home": {"zip": "1"}}, []),
        (
            {"name": "Rex", "home": {"zi": "1"}},
            ["args.home.zip: this is required", 'args.home.zi: unknown field. Did you mean "zip"?'],
        ),
        ({"name": "Rex", "photo": {"base64": "AA=="}}, []),
        ({"name": "Rex", "photo": "text"}, []),
        ({"name": "Rex", "photo": {"base64": 5}}, ["args.photo: text or { base64 } expected, not object"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(arguments: Any, told: list[str]) -> None:
    assert problems(arguments) == told


def wrong(schema: Any, value: Any, schemas: Any = None) -> list[str]:
    return [f"{p.path}: {p.message}" for p in check_value(schema, value, schemas or {})]


def test_of_choices_the_nearest_is_told() -> None:
    scalars = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert wrong(scalars, True) == ["value: string or integer expected, not boolean true"]
    assert wrong(scalars, 1) == []
    cat = {"type": "object", "required": ["kind", "a", "b"], "properties": {"kind": {"const": "cat"}}}
    dog = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "dog"}}}
    choice = {"oneOf": [dog, cat], "discriminator": "kind"}
    assert wrong(choice, {"kind": "cat", "a": 1}) == ["value.b: this is required"]


def test_parts_of_a_whole_do_not_forbid_each_others_fields() -> None:
    parts = [{"type": "object", "properties": {n: {}}, "additionalProperties": False} for n in "ab"]
    assert wrong({"allOf": parts}, {"a": 1, "b": 2}) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 1}, True),
        ({"enum": [1]}, True),
        ({"enum": [False]}, 0),
        ({"not": {}}, 1),
        ({"type": "null"}, 0),
    ],
)
def test_true_is_not_one_and_nothing_fits_the_false_schema(schema: Any, value: Any) -> None:
    assert len(wrong(schema, value)) == 1


def test_numbers_of_any_size_are_numbers() -> None:
    assert wrong({"type": "integer"}, 10**400) == []
    assert wrong({"type": "integer", "maximum": 5}, 10**400) != []


def test_schemas_that_refer_to_each_other_many_times_are_tried_once_each() -> None:
    layers: dict[str, Any] = {f"L{i}": {"oneOf": [{"$ref": f"#/schemas/L{i + 1}"}] * 4} for i in range(15)}
    layers["L15"] = {"type": "string"}
    assert len(wrong({"$ref": "#/schemas/L0"}, 5, layers)) == 1
    knot = {"A": {"oneOf": [{"$ref": "#/schemas/A"}, {"$ref": "#/schemas/A"}]}}
    assert wrong({"$ref": "#/schemas/A"}, 5, knot) == []


def test_a_required_value_may_be_null_where_null_is_allowed() -> None:
    api = whole(
        json_body({"required": ["a"], "properties": {"a": {"type": ["string", "null"]}}}), method="post"
    )
    assert check_arguments(api, api.operations[0], {"a": None}) == ()
    assert len(check_arguments(api, api.operations[0], {})) == 1
