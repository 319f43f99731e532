from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator

from ammeter.engines.compiler.model import Finding
from ammeter.engines.compiler.swagger2 import to_openapi3

OK = {"200": {"description": "ok"}}


def converted(**parts: Any) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    document = {"swagger": "2.0", "info": {"title": "A", "version": "1"}, "paths": {}, **parts}
    before = copy.deepcopy(document)
    made, findings = to_openapi3(document)
    assert document == before
    return made, findings


def valid(made: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [str(error) for error in OpenAPIV30SpecValidator(made).iter_errors()] == []


def operation(body: dict[str, Any], **parts: Any) -> dict[str, Any]:
    made, findings = converted(paths={"/a": {"post": {"responses": OK, **body}}}, **parts)
    assert findings == ()
    valid(made)
    found: dict[str, Any] = made["paths"]["/a"]["post"]
    return found


def test_host_base_path_and_schemes_become_servers_with_https_first() -> None:
    made, findings = converted(host="api.x.com", basePath="/v1/", schemes=["http", "https", "wss"])
    assert made["servers"] == [{"url": "https://api.x.com/v1"}, {"url": "http://api.x.com/v1"}]
    assert made["openapi"] == "3.0.3"
    assert "swagger" not in made
    assert findings == ()


def test_a_missing_scheme_host_or_both_is_bridged() -> None:
    made, findings = converted(host="api.x.com")
    assert made["servers"] == [{"url": "https://api.x.com"}]
    assert [f.code for f in findings] == ["scheme_assumed"]
    assert converted(basePath="/v2")[0]["servers"] == [{"url": "/v2"}]
    assert "servers" not in converted(basePath="/")[0]
    made, findings = converted(host="http://api.x.com/")
    assert made["servers"] == [{"url": "http://api.x.com"}]
    assert [f.code for f in findings] == ["host_with_scheme"]
    made, _ = converted(host="{tenant}.x.com", schemes=["https"])
    assert made["servers"][0]["variables"] == {"tenant": {"default": "tenant"}}


def test_an_operation_with_schemes_of_its_own_gets_servers_of_its_own() -> None:
    found = operation({"schemes": ["http"]}, host="x.com", schemes=["https"])
    assert found["servers"] == [{"url": "http://x.com"}]
    assert "servers" not in operation({"schemes": ["https"]}, host="x.com", schemes=["https"])


def test_a_body_takes_the_types_of_the_operation_or_of_the_document() -> None:
    body = {
        "name": "pet",
        "in": "body",
        "required": True,
        "schema": {"type": "object"},
        "description": "d",
        "x-a": 1,
    }
    found = operation({"parameters": [body], "consumes": ["application/xml"]}, consumes=["application/json"])
    assert found["parameters"] == []
    assert found["requestBody"] == {
        "description": "d",
        "x-a": 1,
        "x-codegen-request-body-name": "pet",
        "required": True,
        "content": {"application/xml": {"schema": {"type": "object"}}},
    }
    assert list(operation({"parameters": [body]}, consumes=["text/plain"])["requestBody"]["content"]) == [
        "text/plain"
    ]
    assert list(operation({"parameters": [body]})["requestBody"]["content"]) == ["application/json"]


def test_form_fields_become_one_schema_and_a_file_makes_it_multipart() -> None:
    fields = [
        {"name": "a", "in": "formData", "type": "string", "required": True, "description": "d", "x-b": 1},
        {
            "name": "b",
            "in": "formData",
            "type": "array",
            "items": {"type": "integer"},
            "collectionFormat": "multi",
        },
        {"name": "c", "in": "formData", "type": "array", "items": {"type": "integer"}},
    ]
    body = operation({"parameters": fields})["requestBody"]
    assert body["required"] is True
    media = body["content"]["application/x-www-form-urlencoded"]
    assert media["schema"]["required"] == ["a"]
    assert media["schema"]["properties"]["a"] == {"type": "string", "description": "d", "x-b": 1}
    assert media["encoding"] == {
        "b": {"style": "form", "explode": True},
        "c": {"style": "form", "explode": False},
    }
    upload = {"name": "f", "in": "formData", "type": "file"}
    both = ["application/x-www-form-urlencoded", "multipart/form-data"]
    body = operation({"parameters": [fields[0], upload], "consumes": both})["requestBody"]
    assert list(body["content"]) == ["multipart/form-data"]
    assert body["content"]["multipart/form-data"]["schema"]["properties"]["f"] == {
        "type": "string",
        "format": "binary",
    }
    assert list(operation({"parameters": [fields[0]], "consumes": both})["requestBody"]["content"]) == both


def test_shared_body_and_form_parameters_reach_the_operations_that_refer_to_them() -> None:
    shared = {
        "Body/x": {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/D"}},
        "My Body": {"name": "b", "in": "body", "schema": {"type": "string"}},
        "Field": {"name": "f", "in": "formData", "type": "string"},
        "Page": {"name": "page", "in": "query", "type": "integer"},
    }
    parts: dict[str, Any] = {"parameters": shared, "definitions": {"D": {"type": "object"}}}
    body, page, field = ({"$ref": f"#/parameters/{name}"} for name in ("Body~1x", "Page", "Field"))
    found = operation({"parameters": [page, body]}, **parts)
    assert found["parameters"] == [{"$ref": "#/components/parameters/Page"}]
    assert found["requestBody"] == {"$ref": "#/components/requestBodies/Body~1x"}
    found = operation({"parameters": [body], "consumes": ["text/csv"]}, **parts)
    assert found["requestBody"]["content"] == {"text/csv": {"schema": {"$ref": "#/components/schemas/D"}}}
    found = operation({"parameters": [{"$ref": "#/parameters/My%20Body"}]}, **parts)
    assert found["requestBody"] == {"$ref": "#/components/requestBodies/My%20Body"}
    found = operation({"parameters": [field]}, **parts)
    assert found["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]["properties"] == {
        "f": {"type": "string"}
    }


def test_body_parameters_of_a_path_reach_its_operations_unless_these_have_their_own() -> None:
    shared = [
        {"name": "b", "in": "body", "schema": {"type": "string"}},
        {"name": "id", "in": "query", "type": "string"},
    ]
    own = [{"name": "c", "in": "body", "schema": {"type": "integer"}}]
    item = {"parameters": shared, "post": {"responses": OK}, "put": {"parameters": own, "responses": OK}}
    made, findings = converted(paths={"/a": item})
    valid(made)
    path = made["paths"]["/a"]
    assert path["parameters"] == [{"name": "id", "in": "query", "schema": {"type": "string"}}]
    schema_of = {
        m: path[m]["requestBody"]["content"]["application/json"]["schema"]["type"] for m in ("post", "put")
    }
    assert schema_of == {"post": "string", "put": "integer"}
    assert findings == ()


def test_two_bodies_or_a_body_beside_a_form_are_findings_at_the_operation() -> None:
    body = {"name": "b", "in": "body", "schema": {}}
    form = {"name": "f", "in": "formData", "type": "string"}
    for parameters, code in (([body, body], "several_bodies"), ([body, form], "body_and_form")):
        _, findings = converted(paths={"/a/{b}": {"post": {"parameters": parameters, "responses": OK}}})
        assert [(f.level, f.code, f.pointer) for f in findings] == [("error", code, "/paths/~1a~1{b}/post")]


@pytest.mark.parametrize(
    ("place", "given", "style", "explode", "lost"),
    [
        ("query", None, "form", False, False),
        ("query", "csv", "form", False, False),
        ("query", "multi", "form", True, False),
        ("query", "ssv", "spaceDelimited", False, False),
        ("query", "pipes", "pipeDelimited", False, False),
        ("query", "tsv", "form", False, True),
        ("header", "csv", "simple", False, False),
        ("header", "pipes", "simple", False, True),
    ],
)
def test_collection_formats_become_styles(
    place: str, given: str | None, style: str, explode: bool, lost: bool
) -> None:
    parameter: dict[str, Any] = {
        "name": "a",
        "in": place,
        "type": "array",
        "items": {"type": "string", "enum": ["x"]},
    }
    if given:
        parameter["collectionFormat"] = given
    made, findings = converted(paths={"/a": {"get": {"parameters": [parameter], "responses": OK}}})
    valid(made)
    assert made["paths"]["/a"]["get"]["parameters"] == [
        {
            **{"name": "a", "in": place, "style": style, "explode": explode},
            "schema": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
        }
    ]
    assert [f.code for f in findings] == (["collection_format_lost"] if lost else [])


def test_the_type_words_of_a_parameter_move_into_its_schema() -> None:
    parameter = {
        **{"name": "n", "in": "query", "type": "integer", "format": "int64", "minimum": 1, "default": 2},
        **{"description": "d", "required": True, "allowEmptyValue": True, "x-example": 3, "x-nullable": True},
    }
    assert operation({"parameters": [parameter]})["parameters"] == [
        {
            **{"name": "n", "in": "query", "description": "d", "required": True, "allowEmptyValue": True},
            "x-example": 3,
            "schema": {"type": "integer", "format": "int64", "minimum": 1, "default": 2, "nullable": True},
        }
    ]


def test_responses_get_content_headers_and_examples() -> None:
    response = {
        "description": "d",
        "schema": {"$ref": "#/definitions/D"},
        "headers": {"X-Rate": {"type": "integer", "description": "h"}},
        "examples": {"application/json": {"a": 1}, "text/csv": "a"},
        "x-c": 1,
    }
    parts: dict[str, Any] = {"definitions": {"D": {"type": "object"}}, "produces": ["application/json"]}
    made = operation({"responses": {"200": response, "x-d": 1}}, **parts)["responses"]
    reference = {"schema": {"$ref": "#/components/schemas/D"}}
    assert made["x-d"] == 1
    assert made["200"] == {
        "description": "d",
        "x-c": 1,
        "headers": {"X-Rate": {"description": "h", "schema": {"type": "integer"}}},
        "content": {
            "application/json": {**reference, "example": {"a": 1}},
            "text/csv": {**reference, "example": "a"},
        },
    }
    file = {"200": {"description": "d", "schema": {"type": "file"}}}
    content = operation({"responses": file})["responses"]["200"]["content"]
    assert content == {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    assert "content" not in operation({})["responses"]["200"]


def test_shared_responses_are_referred_to_or_copied_where_the_types_differ() -> None:
    shared = {"R": {"description": "r", "schema": {"type": "string"}}}
    ref = {"responses": {"200": {"$ref": "#/responses/R"}}}
    assert operation(ref, responses=shared)["responses"]["200"] == {"$ref": "#/components/responses/R"}
    own = operation({**ref, "produces": ["text/plain"]}, responses=shared)["responses"]["200"]
    assert own["content"] == {"text/plain": {"schema": {"type": "string"}}}


def test_schemas_lose_their_swagger_words_at_any_depth_and_values_stay() -> None:
    definitions = {
        "Pet": {
            "type": "object",
            "discriminator": "kind",
            "properties": {
                "kind": {"type": "string", "x-nullable": True},
                "owner": {"$ref": "#/definitions/Own~1er%20x", "x-nullable": True},
                "example": {"items": {"$ref": "#/definitions/Pet"}, "type": "array"},
            },
            "additionalProperties": {"allOf": [{"$ref": "#/definitions/Pet"}]},
            "example": {"$ref": "#/definitions/Pet"},
            "x-more": {"$ref": "#/definitions/Pet"},
        }
    }
    pet = converted(definitions=definitions)[0]["components"]["schemas"]["Pet"]
    to_pet = {"$ref": "#/components/schemas/Pet"}
    assert pet["discriminator"] == {"propertyName": "kind"}
    assert pet["properties"]["kind"] == {"type": "string", "nullable": True}
    assert pet["properties"]["owner"] == {
        "allOf": [{"$ref": "#/components/schemas/Own~1er%20x"}],
        "nullable": True,
    }
    assert pet["properties"]["example"]["items"] == to_pet
    assert pet["additionalProperties"] == {"allOf": [to_pet]}
    assert pet["example"] == pet["x-more"] == {"$ref": "#/definitions/Pet"}


def test_security_definitions_become_schemes() -> None:
    oauth = {
        "type": "oauth2",
        "tokenUrl": "https://x/t",
        "authorizationUrl": "https://x/a",
        "scopes": {"r": "read"},
    }
    made, findings = converted(
        security=[{"k": []}],
        securityDefinitions={
            "b": {"type": "basic", "description": "d"},
            "k": {"type": "apiKey", "name": "X-Key", "in": "header", "x-e": 1},
            "i": {**oauth, "flow": "implicit"},
            "p": {**oauth, "flow": "password"},
            "a": {**oauth, "flow": "application"},
            "c": {**oauth, "flow": "accessCode"},
        },
    )
    schemes = made["components"]["securitySchemes"]
    assert findings == ()
    assert made["security"] == [{"k": []}]
    assert schemes["b"] == {"type": "http", "scheme": "basic", "description": "d"}
    assert schemes["k"] == {"type": "apiKey", "name": "X-Key", "in": "header", "x-e": 1}
    flows = [list(schemes[name]["flows"]) for name in "ipac"]
    assert flows == [["implicit"], ["password"], ["clientCredentials"], ["authorizationCode"]]
    assert schemes["a"]["flows"]["clientCredentials"]["tokenUrl"] == "https://x/t"
    _, findings = converted(
        securityDefinitions={"x": {"type": "magic"}, "y": {"type": "oauth2", "flow": "?"}}
    )
    assert [f.code for f in findings] == ["security_type_unknown", "oauth_flow_unknown"]


def test_extensions_and_unknown_words_stay_where_they_were() -> None:
    made, _ = converted(
        **{"x-root": 1, "tags": [{"name": "t"}]},
        paths={"x-p": 1, "/a": {"x-i": 2, "get": {"x-o": 3, "responses": OK}}},
    )
    assert made["x-root"] == 1
    assert made["tags"] == [{"name": "t"}]
    assert made["paths"] == {"x-p": 1, "/a": {"x-i": 2, "get": {"x-o": 3, "responses": OK}}}


@pytest.mark.parametrize("junk", [None, 1, "text", [], [1, None], {"a": None}, {"a": 1}, {"a": []}])
def test_junk_in_any_place_passes_without_an_exception(junk: Any) -> None:
    for place in (
        "host",
        "basePath",
        "schemes",
        "consumes",
        "produces",
        "definitions",
        "parameters",
        "responses",
    ):
        converted(**{place: junk})
    converted(securityDefinitions=junk)
    converted(paths=junk)
    converted(paths={"/a": junk})
    for place in ("parameters", "responses", "consumes", "produces", "schemes"):
        converted(host="x", paths={"/a": {"get": {place: junk}, "parameters": junk}})
    for word in ("schema", "items", "type", "in", "name", "collectionFormat", "$ref", "required", "enum"):
        for place in ("query", "body", "formData", "nowhere"):
            converted(
                paths={
                    "/a": {"get": {"parameters": [{"name": "x", "in": place, "type": "array", word: junk}]}}
                }
            )
    for word in ("schema", "headers", "examples", "$ref"):
        converted(paths={"/a": {"get": {"responses": {"200": {word: junk}}}}})
    for word in ("properties", "items", "allOf", "additionalProperties", "discriminator", "$ref", "type"):
        converted(definitions={"D": {word: junk}})


def test_references_in_a_circle_end() -> None:
    circle = {"A": {"$ref": "#/parameters/B"}, "B": {"$ref": "#/parameters/A"}}
    made, _ = converted(
        parameters=circle, paths={"/a": {"get": {"parameters": [{"$ref": "#/parameters/A"}]}}}
    )
    assert made["paths"]["/a"]["get"]["parameters"] == [{"$ref": "#/components/parameters/A"}]
