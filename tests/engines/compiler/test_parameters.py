from __future__ import annotations

from typing import Any

import pytest

from tests.engines.compiler.described import ANSWER, codes, one, query, read


@pytest.mark.parametrize(
    ("style", "explode"),
    [("form", True), ("spaceDelimited", False), ("pipeDelimited", False), ("deepObject", True)],
)
def test_every_query_style_is_kept_with_its_usual_explode(style: str, explode: bool) -> None:
    parameter = one({"parameters": [query("a", style=style)]}).parameters[0]
    assert (parameter.style, parameter.explode) == (style, explode)
    turned = one({"parameters": [query("a", style=style, explode=not explode)]}).parameters[0]
    assert turned.explode is not explode


def test_header_and_cookie_parameters_are_arguments_and_what_the_client_sets_is_not() -> None:
    parameters = [
        {"name": name, "in": place, "schema": {"type": "string"}}
        for name, place in (
            ("X-A", "header"),
            ("authorization", "header"),
            ("Accept", "header"),
            ("s", "cookie"),
        )
    ]
    assert [(p.arg, p.location) for p in one({"parameters": parameters}).parameters] == [
        ("X-A", "header"),
        ("s", "cookie"),
    ]


@pytest.mark.parametrize("name", ["a b", "a\r\nEvil: 1", "ä", "a:b"])
def test_a_name_that_no_header_can_have_is_dropped_with_a_finding(name: str) -> None:
    raw = {"parameters": [{"name": name, "in": "header", "schema": {}}], "responses": ANSWER}
    api, findings = read({"/x": {"get": raw}})
    assert api.operations[0].parameters == ()
    assert codes(findings) == ["bad_header_name"]


def test_parameters_of_one_name_in_several_places_get_keys_of_their_own() -> None:
    parameters: list[Any] = [
        {"name": "id", "in": place, "schema": {}} for place in ("cookie", "header", "query", "path")
    ]
    args = [p.arg for p in one({"parameters": parameters}, path="/x/{id}").parameters]
    assert args == ["id", "id_query", "id_header", "id_cookie"]


def test_an_operations_own_parameter_replaces_that_of_its_path() -> None:
    item = {
        "parameters": [query("a", {"type": "string"}), query("b")],
        "get": {"parameters": [query("a", {"type": "integer"})], "responses": ANSWER},
    }
    api, _ = read({"/x": item})
    assert {p.name: p.schema.get("type") for p in api.operations[0].parameters} == {
        "a": "integer",
        "b": "string",
    }


def test_a_placeholder_nobody_declares_is_a_string_and_a_parameter_without_placeholder_is_dropped() -> None:
    raw = {"parameters": [{"name": "other", "in": "path", "schema": {}}], "responses": ANSWER}
    api, findings = read({"/x/{id}": {"get": raw}})
    assert [(p.name, p.required, p.schema) for p in api.operations[0].parameters] == [
        ("id", True, {"type": "string"})
    ]
    assert codes(findings) == ["unused_path_parameter", "undeclared_path_parameter"]


def test_a_parameter_may_be_a_document_and_one_without_schema_allows_anything() -> None:
    parameters = [
        {"name": "a", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "b", "in": "query"},
    ]
    first, second = one({"parameters": parameters}).parameters
    assert (first.content_type, first.schema) == ("application/json", {"type": "object"})
    assert (second.content_type, second.schema) == (None, {})


def test_the_one_key_that_sets_a_prototype_is_renamed_and_others_keep_their_names() -> None:
    names = ["__proto__", "constructor", "proto"]
    assert [p.arg for p in one({"parameters": [query(n) for n in names]}).parameters] == [
        "proto",
        "constructor",
        "proto_query",
    ]


def test_parameters_that_are_no_list_are_told() -> None:
    _, findings = read({"/x": {"get": {"parameters": {"a": 1}, "responses": ANSWER}}})
    assert codes(findings) == ["bad_parameters"]


def test_an_unreadable_parameter_leaves_the_operation_out_by_name() -> None:
    api, findings = read({"/x": {"get": {"parameters": [{"$ref": "#/no"}], "responses": ANSWER}}})
    assert api.operations == ()
    assert [(f.code, f.pointer) for f in findings if f.level == "error"] == [
        ("operation_left_out", "/paths/~1x/get")
    ]
    assert "GET /x" in findings[-1].message
