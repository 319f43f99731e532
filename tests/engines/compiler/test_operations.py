from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.engines.compiler.cards import make_cards
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.index import sdk_index
from ammeter.engines.compiler.javascript import sdk_source
from ammeter.engines.compiler.operations import METHODS, extensions, read_api
from ammeter.engines.compiler.typescript import declarations
from tests.engines.compiler.described import ANSWER, codes, json_answer, json_body, query, read
from tests.golden.outputs import compiled

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["id", "a", "__proto__", "constructor", "é", ""])
REFS = st.sampled_from(
    ["#/components/schemas/A", "#/components/schemas/B", "#/nowhere", "#", "#x", "a.json#/b", "#/paths/~1a"]
)
SCHEMA = st.recursive(
    JUNK
    | st.fixed_dictionaries({"$ref": REFS})
    | st.fixed_dictionaries({"type": st.sampled_from(["string", "file"])}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": JUNK | st.sampled_from(["object", "array", "integer", ["string", "null"]]),
            "properties": JUNK | st.dictionaries(NAMES, inner, max_size=3),
            "required": JUNK | st.lists(NAMES, max_size=3),
            "items": inner,
            "allOf": JUNK | st.lists(inner, max_size=2),
            "oneOf": JUNK | st.lists(inner, max_size=2),
            "enum": JUNK,
            "minimum": JUNK,
            "maxLength": JUNK,
            "nullable": st.just(True),
            "default": JUNK,
            "example": JUNK,
            "discriminator": JUNK | st.just({"propertyName": "a", "mapping": {"x": "A", "y": 5}}),
            "additionalProperties": inner,
        },
    ),
    max_leaves=8,
)
PARAMETER = (
    JUNK
    | st.fixed_dictionaries({"$ref": REFS})
    | st.fixed_dictionaries(
        {"name": NAMES | JUNK, "in": st.sampled_from(["query", "path", "header", "cookie", "body"]) | JUNK},
        optional={"schema": SCHEMA, "style": JUNK, "content": JUNK},
    )
)
MEDIA = st.dictionaries(
    st.sampled_from(["application/json", "text/plain", "*/*", "x"]),
    JUNK | st.fixed_dictionaries({"schema": SCHEMA}),
)
OPERATION = (
    JUNK
    | st.fixed_dictionaries({"$ref": REFS})
    | st.fixed_dictionaries(
        {},
        optional={
            "operationId": JUNK | st.sampled_from(["same", "then", "a.b"]),
            "tags": JUNK | st.lists(NAMES | JUNK, max_size=2),
            "parameters": JUNK | st.lists(PARAMETER, max_size=3),
            "requestBody": JUNK | st.fixed_dictionaries({"content": JUNK | MEDIA}),
            "responses": JUNK
            | st.dictionaries(
                st.sampled_from(["200", "default", "2XX"]), JUNK | st.fixed_dictionaries({"content": MEDIA})
            ),
            "x-speakeasy-pagination": JUNK,
            "x-fern-pagination": JUNK,
            "x-ammeter-group": JUNK,
            "x-speakeasy-name-override": JUNK,
            "security": JUNK,
            "servers": JUNK,
        },
    )
)
PATHS = st.dictionaries(
    st.sampled_from(["/a", "/a/{id}", "/a/{id}/{id}", "b", "/{__proto__}", "/é"]),
    st.dictionaries(st.sampled_from([*METHODS[:5], "parameters", "x-y"]), OPERATION, max_size=4),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(paths=PATHS, schemas=st.dictionaries(st.sampled_from(["A", "B", "Promise"]), SCHEMA), top=JUNK)
def test_no_operation_is_lost_and_nothing_raises_whatever_the_description_holds(
    paths: Any, schemas: Any, top: Any
) -> None:
    more = {"tags": top, "info": top, "servers": top, "security": top}
    document = {"openapi": "3.0.3", "paths": paths, "components": {"schemas": schemas}, **more}
    findings = Findings()
    api = compiled(document, findings)
    told = {finding.pointer for finding in findings.all() if finding.level == "error"}
    built = {operation.pointer for operation in api.operations}
    for path, item in paths.items():
        for method in set(item) & set(METHODS):
            where = f"/paths/{path.replace('/', '~1')}/{method}"
            assert (where in built) != (where in told)
    assert len({operation.sdk_name for operation in api.operations}) == len(api.operations)
    assert len({operation.id for operation in api.operations}) == len(api.operations)
    cards = make_cards(api, "client")
    assert declarations(api, "client").endswith(": sdk.Client;\n")
    assert sdk_index(api, cards, "client")
    assert sdk_source(api)


@pytest.mark.parametrize("paths", [None, [], 5, "x"])
def test_a_description_without_paths_says_so(paths: Any) -> None:
    api, findings = read(paths)
    assert api.operations == ()
    assert codes(findings) == ["no_paths"]


def test_what_stands_beside_a_reference_belongs_to_the_path() -> None:
    shared = {"pathItems": {"P": {"get": {"operationId": "a", "responses": ANSWER}}}}
    item = {"$ref": "#/components/pathItems/P", "post": {"operationId": "b", "responses": ANSWER}}
    api, _ = read({"/x": item}, components=shared)
    assert [operation.id for operation in api.operations] == ["a", "b"]


def test_a_method_in_capitals_is_read_unless_it_stands_there_twice() -> None:
    api, findings = read({"/x": {"GET": {"responses": ANSWER}}})
    assert [operation.method for operation in api.operations] == ["get"]
    api, findings = read({"/x": {"get": {"responses": ANSWER}, "Get": {"responses": ANSWER}}})
    assert len(api.operations) == 1
    assert [(f.level, f.pointer) for f in findings] == [("error", "/paths/~1x/Get")]


def test_an_operation_behind_an_unknown_method_is_an_error_by_name() -> None:
    _, findings = read({"/x": {"query": {"responses": ANSWER}, "x-note": {}, "summary": "s"}})
    assert [(f.level, f.code, f.pointer) for f in findings] == [
        ("error", "unknown_method", "/paths/~1x/query")
    ]


def test_ids_do_not_hang_on_the_order_of_the_document() -> None:
    paths = {f"/{name}": {"get": {"operationId": "same", "responses": ANSWER}} for name in ("b", "a", "ccc")}
    first = {o.path: o.id for o in read(paths)[0].operations}
    turned = {o.path: o.id for o in read(dict(reversed(paths.items())))[0].operations}
    assert first == turned == {"/a": "same", "/b": "same_get_b", "/ccc": "same_get_ccc"}


def test_extensions_are_found_where_operations_are_also_behind_references() -> None:
    raw = {"operationId": "a", "x-ammeter-name": "n", "responses": ANSWER}
    document = {"paths": {"/x": {"$ref": "#/p"}}, "p": {"get": raw}}
    operation = read_api(document, Findings()).operations[0]
    assert extensions(document)[operation.pointer] is raw


def many(count: int) -> dict[str, Any]:
    """Every operation has types of its own, a body and a clash of names with its neighbours."""
    paths = {
        f"/groups{i % 50}/things{i}/{{id}}": {
            "post": {
                "operationId": f"create{i // 3}",
                "tags": [f"group {i % 50}"],
                "parameters": [query("page", {"type": "integer"})],
                **json_body({"$ref": f"#/components/schemas/Thing{i}"}),
                **json_answer({"type": "array", "items": {"$ref": f"#/components/schemas/Thing{i}"}}),
            }
        }
        for i in range(count)
    }
    schemas = {
        f"Thing{i}": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "id": {"type": "string", "readOnly": True},
                "name": {"type": "string"},
                "next": {"$ref": f"#/components/schemas/Thing{(i + 1) % count}"},
            },
        }
        for i in range(count)
    }
    return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}
