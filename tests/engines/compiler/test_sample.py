from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.engines.compiler.arguments import check_arguments, check_value
from ammeter.engines.compiler.examples import example, example_arguments
from ammeter.engines.compiler.sample import sample
from tests.engines.compiler.described import json_body, query, whole

SMALL = st.integers(-50, 50)
SCALAR = st.one_of(
    st.builds(
        lambda a, b: {"type": "string", "minLength": min(a, b), "maxLength": max(a, b)},
        st.integers(0, 40),
        st.integers(0, 40),
    ),
    st.builds(lambda a, b: {"type": "integer", "minimum": min(a, b), "maximum": max(a, b)}, SMALL, SMALL),
    st.builds(
        lambda a, b: {"type": "number", "exclusiveMinimum": a, "exclusiveMaximum": a + b},
        SMALL,
        st.floats(0.1, 9),
    ),
    st.builds(lambda a: {"type": "integer", "multipleOf": a, "minimum": 3}, st.integers(1, 20)),
    st.builds(lambda v: {"enum": v}, st.lists(st.none() | st.text(max_size=3) | SMALL, min_size=1)),
    st.builds(lambda v: {"const": v}, st.none() | st.booleans() | SMALL),
    st.builds(lambda v: {"type": "string", "example": 5, "default": v}, st.text(max_size=3) | SMALL),
    st.sampled_from(
        [
            {},
            {"type": "boolean"},
            {"type": ["null", "integer"]},
            {"type": "string", "format": "binary"},
            {"$ref": "#/schemas/Tree"},
            {"$ref": "#/schemas/Short"},
        ]
    ),
)
SCHEMA = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.builds(
            lambda i, a, b: {"type": "array", "items": i, "minItems": min(a, b), "maxItems": max(a, b)},
            inner,
            st.integers(0, 4),
            st.integers(0, 4),
        ),
        st.builds(
            lambda p: {"type": "array", "prefixItems": p, "items": {"not": {}}}, st.lists(inner, max_size=3)
        ),
        st.builds(
            lambda p, n: {"type": "object", "properties": p, "required": list(p)[:n]},
            st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
            st.integers(0, 3),
        ),
        st.builds(
            lambda i, n: {"type": "object", "additionalProperties": i, "minProperties": n},
            inner,
            st.integers(0, 3),
        ),
        st.builds(lambda c: {"oneOf": c}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda c: {"anyOf": [{"not": {}}, *c]}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda a, b: {
                "allOf": [
                    {"type": "object", "properties": {"x": a}, "required": ["x"]},
                    {"properties": {"y": b}, "required": ["y"]},
                ]
            },
            inner,
            inner,
        ),
        st.builds(lambda a: {"allOf": [a]}, inner),
    ),
    max_leaves=8,
)
SCHEMAS: dict[str, Any] = {
    "Tree": {
        "type": "object",
        "required": ["kids"],
        "properties": {
            "kids": {"type": "array", "items": {"$ref": "#/schemas/Tree"}},
            "up": {"$ref": "#/schemas/Tree"},
        },
    },
    "Short": {"allOf": [{"type": "string"}, {"maxLength": 3}, {"minLength": 2}]},
}


@settings(max_examples=120, deadline=None)
@given(schema=SCHEMA, whole_value=st.booleans())
def test_a_sample_fits_its_schema(schema: Any, whole_value: bool) -> None:
    value = sample(schema, SCHEMAS, name="name", whole=whole_value)
    assert check_value(schema, value, SCHEMAS) == ()
    assert sample(schema, SCHEMAS, name="name", whole=whole_value) == value


def test_schemas_that_no_value_ends_are_given_up_in_bounded_time() -> None:
    endless = {
        "A": {
            "type": "object",
            "required": list("abcdefghij"),
            "properties": {n: {"$ref": "#/schemas/A"} for n in "abcdefghij"},
        }
    }
    sample({"$ref": "#/schemas/A"}, endless)
    sample({"$ref": "#/schemas/A"}, endless, whole=True)
    chain = {f"C{i}": {"$ref": f"#/schemas/C{i + 1}"} for i in range(5_000)}
    sample({"$ref": "#/schemas/C0"}, chain)
    knot = {"K": {"oneOf": [{"$ref": "#/schemas/K"}] * 3}}
    sample({"$ref": "#/schemas/K"}, knot)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "examples": ["Rex"]}, "Rex"),
        ({"type": "string", "examples": [5], "default": "d"}, "d"),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string"}, "name"),
        ({"type": "string", "enum": [None, "a"]}, "a"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"type": "object", "properties": {"a": {}}}, {}),
    ],
)
def test_a_sample_is_what_a_person_would_write(schema: Any, value: Any) -> None:
    assert sample(schema, {}, name="name") == value


def test_an_example_gives_what_is_required_and_one_field_where_nothing_is() -> None:
    fields = {"id": {"type": "string", "readOnly": True}, "b-c": {"type": "string"}, "d": {"type": "string"}}
    api = whole(
        {"parameters": [query("q")], **json_body({"properties": fields})}, path="/pets/{id}", method="patch"
    )
    assert (
        example(api, api.operations[0], "shop")
        == 'return await shop.pets.update({ id: "id", "b-c": "b-c" });'
    )


@settings(max_examples=100, deadline=None)
@given(schema=SCHEMA)
def test_the_arguments_of_an_example_pass_the_check_of_the_host(schema: Any) -> None:
    api = whole(
        {"parameters": [query("q", schema, required=True)], **json_body(schema)},
        method="post",
        schemas=SCHEMAS,
    )
    assert check_arguments(api, api.operations[0], example_arguments(api, api.operations[0])) == ()
