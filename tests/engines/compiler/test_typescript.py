from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.text import comment, key, literal
from ammeter.engines.compiler.typescript import declarations, signature
from tests.engines.compiler.described import json_answer, json_body, query, whole


def argument(schema: Any, schemas: Any = None) -> str:
    api = whole({"parameters": [query("a", schema)]}, schemas=schemas)
    line = signature(api, api.operations[0], "client")
    return line.removeprefix("client.things.list(args?: { a?: ").removesuffix(" }): Promise<unknown>")


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "string", "nullable": True, "enum": ["a", "b"]}, '"a" | "b" | null'),
        ({"enum": ["é", 1, None, True]}, '"é" | 1 | null | true'),
        ({"const": "x"}, '"x"'),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        (
            {"type": "array", "items": {"properties": {"b": {"type": ["string", "null"]}}}},
            "{ b?: string | null }[]",
        ),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, "[string, ...number[]]"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"additionalProperties": {"type": "number"}}, "{ [key: string]: number }"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        (
            {
                "allOf": [
                    {"properties": {"b": {"type": "string"}}},
                    {"properties": {"c": {}}, "required": ["b"]},
                ]
            },
            "{ b: string; c?: unknown }",
        ),
        ({"type": "string", "format": "date-time"}, "string /* date-time */"),
        ({"type": "string", "format": "binary"}, "Binary"),
        ({"not": {}}, "never"),
        ({"anyOf": [{"type": "string"}, {}]}, "unknown"),
        ({"enum": list(range(100))}, " | ".join(map(str, range(40))) + " /* or 60 more */"),
    ],
)
def test_a_signature_spells_types_out(schema: Any, written: str) -> None:
    assert argument(schema) == written


def test_what_a_script_gives_has_no_read_only_fields_and_what_it_gets_no_write_only_ones() -> None:
    user = {
        "type": "object",
        "required": ["id", "secret"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "secret": {"type": "string", "writeOnly": True},
        },
    }
    many = {"type": "array", "items": {"$ref": "#/components/schemas/User"}}
    api = whole({**json_body(many), **json_answer(many)}, method="put", schemas={"User": user})
    assert signature(api, api.operations[0], "c") == (
        "c.things.replace(args: { body: { secret: string }[] }): Promise<{ id: string }[]>"
    )
    text = declarations(api, "c")
    assert "type User = { id: string };" in text
    assert "type UserInput = { secret: string };" in text
    assert "replace(args: { body: UserInput[] }): Promise<User[]>;" in text


def test_a_signature_stays_short_however_large_its_types_are() -> None:
    fields = {f"field{i}": {"$ref": "#/components/schemas/Big"} for i in range(300)}
    layers: dict[str, Any] = {
        f"L{i}": {"oneOf": [{"$ref": f"#/components/schemas/L{i + 1}"}] * 3} for i in range(40)
    }
    schemas = {"Big": {"type": "object", "properties": fields}, **layers, "L40": {"type": "string"}}
    raw = {"parameters": [query("l", {"$ref": "#/components/schemas/L0"})]}
    api = whole({**raw, **json_body({"$ref": "#/components/schemas/Big"})}, method="post", schemas=schemas)
    assert len(signature(api, api.operations[0], "client")) <= 2_400
    assert "field299" in declarations(api, "client")


def test_five_thousand_references_in_a_row_are_one_type() -> None:
    schemas: dict[str, Any] = {f"S{i}": {"$ref": f"#/components/schemas/S{i + 1}"} for i in range(5_000)}
    schemas["S5000"] = {"type": "integer"}
    api = whole(json_answer({"$ref": "#/components/schemas/S0"}), schemas=schemas)
    text = declarations(api, "client")
    assert "list(): Promise<S5000>;" in text
    assert text.count("type ") < 10


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a */ b", "a *\u200a/ b"),
        ("a /* b", "a /\u200a* b"),
        ("a\r\nb\u2028c\u0000", "a b c"),
        ("\u202eabc\u200b\U000e0041", "abc"),
        ("`${x}` ```", "`${x}` '''"),
        ("x" * 400, "x" * 299 + "…"),
        ("\ud800", ""),
    ],
)
def test_texts_of_the_description_cannot_leave_or_hide_in_a_comment(text: str, written: str) -> None:
    assert comment(text) == written


def test_keys_and_literals_mean_themselves() -> None:
    assert [key(name) for name in ("a", "a-b", "é", "__proto__", 'x"\n\u2028')] == [
        "a",
        '"a-b"',
        '"é"',
        '["__proto__"]',
        '"x\\"\\n\\u2028"',
    ]
    assert literal({"a": [1, None, True], "b c": {}}) == '{ a: [1, null, true], "b c": {} }'
    assert literal("\ud800\u202e") == '"\\ud800\\u202e"'
    assert literal(float("inf")) == "null"


def test_only_words_that_typescript_keeps_for_itself_are_written_otherwise() -> None:
    api = whole(
        json_answer({"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("b", "global")]}),
        schemas={name: {"type": "object", "properties": {"x": {}}} for name in ("b", "global")},
    )
    text = declarations(api, "client")
    assert "type b = " in text
    assert "type global_ = " in text


@pytest.mark.parametrize(
    ("value", "written"),
    [("a | b", '"a | b"[]'), ('"x" | [', '"\\"x\\" | ["[]'), ("\\", '"\\\\"[]')],
)
def test_an_operator_inside_a_text_is_none(value: str, written: str) -> None:
    assert argument({"type": "array", "items": {"const": value}}) == written
