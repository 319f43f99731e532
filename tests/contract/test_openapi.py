"""The published description of the REST API: OpenAPI 3.0, complete, and equal to the live routes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fastapi.routing import APIRoute
from openapi_spec_validator import OpenAPIV30SpecValidator
from starlette.routing import BaseRoute, Route

from ammeter import __version__
from ammeter.doors.rest.app import API_BASE, rest_app
from tests.household import API, Household, make_client, make_household, make_settings, opened_house

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
ALWAYS = {"401", "406", "422", "429", "500", "503"}
NOT_IN_3_0 = {
    *("const", "examples", "prefixItems", "$defs", "$schema", "$id", "$comment", "if", "then", "else"),
    *("patternProperties", "propertyNames", "contains", "dependentRequired", "dependentSchemas"),
    *("unevaluatedProperties", "unevaluatedItems", "contentMediaType", "contentSchema", "jsonSchemaDialect"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    folder = tmp_path_factory.mktemp("openapi")
    settings = make_settings(f"sqlite:///{folder}/ammeter.db", folder)
    with opened_house(settings) as house, make_client(house) as client:
        yield make_household(house, client)


@pytest.fixture(scope="module")
def document(served: Household) -> dict[str, Any]:
    answer = served.client.get(f"{API}/openapi")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS & set(item):
            yield f"{method.upper()} {path}", item[method]


def test_the_description_is_valid_openapi_3_0(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.0.3"
    assert document["info"]["version"] == __version__
    assert [str(error) for error in OpenAPIV30SpecValidator(document).iter_errors()] == []


def test_no_word_of_a_later_openapi_is_in_it(document: dict[str, Any]) -> None:
    wrong = [f"{where}: {fault}" for where, schema in _schemas(document) for fault in _later(schema)]
    assert wrong == []


def test_null_is_said_where_it_may_stand_and_nowhere_else(document: dict[str, Any]) -> None:
    """By 3.0 `nullable` beside an `enum` allows null only if it is among the values; a query has no null."""
    seen = [schema for _, schema in _schemas(document) if schema.get("nullable") and "enum" in schema]
    assert seen
    assert [schema for schema in seen if None not in schema["enum"]] == []
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            assert "nullable" not in parameter["schema"], name
            assert None not in parameter["schema"].get("enum", []), name


def test_a_text_in_a_query_is_described_without_nul(document: dict[str, Any]) -> None:
    texts = [
        (name, part)
        for name, operation in operations(document)
        for parameter in operation.get("parameters", [])
        for part in [parameter["schema"].get("items", parameter["schema"])]
        if parameter["in"] == "query" and part["type"] == "string" and "enum" not in part
    ]
    assert texts
    for name, part in texts:
        assert re.search(part["pattern"], "a word"), name
        assert not re.search(part["pattern"], "a\0word"), name


def test_no_schema_is_named_after_a_module(document: dict[str, Any]) -> None:
    """As happens where two records have one name."""
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


def test_the_description_and_the_live_routes_are_the_same(
    document: dict[str, Any], served: Household
) -> None:
    routes = list(_live(rest_app(served.house).routes))
    live = {
        f"{method} {route.path}": route.operation_id
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    described = {name: operation["operationId"] for name, operation in operations(document)}
    assert described == live
    assert [route.path for route in routes if not isinstance(route, APIRoute)] == ["/openapi"]


def test_what_is_not_described_is_not_there(document: dict[str, Any], served: Household) -> None:
    for path, item in document["paths"].items():
        filled = re.sub(r"{\w+}", "X", path)
        for method in sorted(METHODS - {"head"}):
            answer = served.call(method.upper(), filled)
            assert (answer.status_code == 405) == (method not in item), f"{method} {path}"


def test_every_operation_is_described_whole(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"]}
    for name, operation in operations(document):
        assert re.fullmatch(r"[a-z][A-Za-z0-9]+", operation["operationId"]), name
        assert len(operation["tags"]) == 1, name
        assert set(operation["tags"]) <= tags, name
        assert operation["summary"], name
        in_path = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", name)), name
        for parameter in operation.get("parameters", []):
            assert parameter["schema"].get("type"), name
            assert parameter["in"] == "query" or parameter["required"], name
        if "requestBody" in operation:
            # A dispatch needs no body at all: all of its fields may be absent.
            required = operation["operationId"] != "dispatchWorkflow"
            assert operation["requestBody"].get("required", False) == required, name
            assert set(operation["requestBody"]["content"]) == {"application/json"}, name
            assert _body_schema(document, operation)["additionalProperties"] is False, name
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(ids)) == len(ids)


def test_every_answer_is_described_with_its_schema_and_headers(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        answers = operation["responses"]
        assert set(answers) >= ALWAYS, name
        assert any(status.startswith("2") for status in answers), name
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= set(answers), name
        for status, answer in answers.items():
            assert answer["description"], (name, status)
            assert "x-request-id" in answer["headers"], (name, status)
            schema = answer["content"]["application/json"]["schema"]
            if status.startswith("2"):
                assert schema.get("$ref") or schema.get("type"), (name, status)
            else:
                assert schema == {"$ref": "#/components/schemas/ErrorRecord"}, (name, status)
        assert "Retry-After" in answers["429"]["headers"], name
        assert {"RateLimit", "RateLimit-Policy"} <= set(answers["429"]["headers"]), name
        assert "Retry-After" in answers["503"]["headers"], name


def test_an_error_has_the_one_shape(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert set(schemas["ErrorRecord"]["required"]) == {"error"}
    assert set(schemas["ErrorContent"]["required"]) == {"code", "message", "details", "requestId"}
    assert set(schemas["ErrorDetail"]["required"]) == {"path", "message"}
    assert not {"HTTPValidationError", "ValidationError"} & set(schemas)


def test_a_bearer_key_is_the_only_way_in(document: dict[str, Any]) -> None:
    assert list(document["components"]["securitySchemes"]) == ["bearerAuth"]
    scheme = document["components"]["securitySchemes"]["bearerAuth"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert document["security"] == [{"bearerAuth": []}]
    for name, operation in operations(document):
        assert operation.get("security", [{"bearerAuth": []}]) == [{"bearerAuth": []}], name


def test_the_description_names_the_address_it_was_read_at_or_the_one_that_is_set(served: Household) -> None:
    read = served.client.get(f"{API}/openapi", headers={"host": "localhost:9999"}).json()
    assert read["servers"] == [{"url": f"http://localhost:9999{API_BASE}"}]
    settings = served.house.settings.model_copy(update={"base_url": "https://ammeter.example"})
    with make_client(replace(served.house, settings=settings)) as client:
        told = client.get(f"{API}/openapi").json()
    assert told["servers"] == [{"url": f"https://ammeter.example{API_BASE}"}]


def test_the_description_is_read_without_a_key_and_with_a_wrong_one(served: Household) -> None:
    for headers in ({}, {"authorization": "Bearer nonsense"}):
        assert served.client.get(f"{API}/openapi", headers=headers).status_code == 200


def _live(routes: Sequence[BaseRoute]) -> Iterator[Route]:
    """Every route of an application, those of its routers among them."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from _live(router.routes)
        else:
            assert isinstance(route, Route)
            yield route


def _later(schema: dict[str, Any]) -> Iterator[str]:
    yield from NOT_IN_3_0 & set(schema)
    if not isinstance(schema.get("type", ""), str) or schema.get("type") == "null":
        yield f"type {schema['type']}"
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        if not isinstance(schema.get(bound, False), bool):
            yield bound
    if "$ref" in schema and len(schema) > 1:
        yield "words beside $ref"


def _body_schema(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = operation["requestBody"]["content"]["application/json"]["schema"]
    found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _schemas(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of the document, with the place where it stands."""
    for name, schema in document["components"]["schemas"].items():
        yield from _within(name, schema)
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            yield from _within(f"{name} {parameter['name']}", parameter["schema"])
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            for media in body.get("content", {}).values():
                yield from _within(name, media["schema"])
            for header, part in body.get("headers", {}).items():
                yield from _within(f"{name} {header}", part["schema"])


def _within(where: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield where, schema
    for name, part in schema.get("properties", {}).items():
        yield from _within(f"{where}.{name}", part)
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), dict):
            yield from _within(f"{where}.{word}", schema[word])
    for word in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(word, []):
            yield from _within(f"{where}.{word}", part)
