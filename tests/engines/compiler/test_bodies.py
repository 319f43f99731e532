from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.bodies import body_kind
from ammeter.engines.compiler.model import Body
from tests.engines.compiler.described import ANSWER, codes, json_body, one, query, read


def body_of(raw: dict[str, Any], schemas: Any = None) -> Body:
    body = one(raw, method="post", schemas=schemas).body
    assert body is not None
    return body


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/json", "json"),
        ("application/vnd.api+json; charset=utf-8", "json"),
        ("*/*", "json"),
        ("application/x-ndjson", "text"),
        ("application/x-www-form-urlencoded", "form"),
        ("multipart/form-data", "multipart"),
        ("text/csv", "text"),
        ("application/xml", "text"),
        ("application/octet-stream", "binary"),
        ("image/png", "binary"),
    ],
)
def test_a_media_type_tells_how_a_body_is_given(content_type: str, kind: str) -> None:
    assert body_kind(content_type) == kind


def test_an_object_gives_its_fields_to_the_argument_object_whatever_it_is_composed_of() -> None:
    schemas = {"Base": {"type": "object", "properties": {"id": {"type": "string"}}}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"name": {"type": "string"}}}]}
    assert body_of(json_body(schema), schemas).args == {"id": "id", "name": "name"}


def test_fields_that_go_together_are_still_fields() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert body_of(json_body(schema)).args == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {}},
        {"type": "string"},
        {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object"},
        {},
    ],
)
def test_any_other_body_is_one_argument(schema: Any) -> None:
    body = body_of(json_body(schema))
    assert (body.args, body.body_arg) == (None, "body")


def test_a_field_that_is_also_a_parameter_says_that_it_is_the_bodys() -> None:
    raw = {"parameters": [query("a"), query("body_a")], **json_body({"properties": {"a": {}}})}
    assert body_of(raw).args == {"a": "body_a2"}
    whole = {"parameters": [query("body"), query("request_body")], **json_body({"type": "string"})}
    assert body_of(whole).body_arg == "request_body2"


def test_of_several_media_types_json_is_taken_and_the_others_are_told() -> None:
    content = {
        "text/plain": {},
        "multipart/form-data": {},
        "application/json": {"schema": {"type": "string"}},
    }
    api, findings = read({"/x": {"post": {"requestBody": {"content": content}, "responses": ANSWER}}})
    body = api.operations[0].body
    assert body is not None
    assert (body.content_type, body.other_content_types) == (
        "application/json",
        ("text/plain", "multipart/form-data"),
    )
    assert codes(findings) == ["other_media_types"]


def test_five_thousand_references_in_a_row_are_one_argument_and_no_fault() -> None:
    schemas: dict[str, Any] = {f"S{i}": {"$ref": f"#/components/schemas/S{i + 1}"} for i in range(5_000)}
    schemas["S5000"] = {"type": "object", "properties": {"a": {}}}
    assert body_of(json_body({"$ref": "#/components/schemas/S0"}), schemas).args is None
    assert body_of(json_body({"$ref": "#/components/schemas/S4500"}), schemas).args == {"a": "a"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (None, "none"),
        ({}, "none"),
        ({"application/json": 5}, "json"),
        ({"text/html": {}}, "text"),
        ({"image/png": {}}, "binary"),
    ],
)
def test_an_answer_has_the_kind_of_its_media_type(content: Any, kind: str) -> None:
    success = one({"responses": {"200": {"description": "y", "content": content}}}).success
    assert success is not None
    assert success.kind == kind


def test_the_answer_a_script_gets_is_the_first_good_one_that_holds_something() -> None:
    content = {"application/json": {"schema": {"type": "string"}}}
    responses = {
        "204": {"description": "n"},
        "2XX": {"content": content},
        "default": {"content": {}},
        "404": {},
    }
    success = one({"responses": responses}).success
    assert success is not None
    assert success.status == "2XX"
