from __future__ import annotations

import time
from typing import Any

from ammeter.engines.compiler.cards import make_cards, plain
from tests.engines.compiler.described import json_answer, json_body, query, whole


def test_a_card_holds_what_an_agent_reads_and_what_the_search_reads() -> None:
    owner = {"type": "object", "description": "Who", "properties": {"email": {"type": "string"}}}
    pet = {
        "type": "object",
        "properties": {
            "name": {"description": "Its **name**"},
            "owner": {"$ref": "#/components/schemas/Owner"},
        },
    }
    ref = {"$ref": "#/components/schemas/Pet"}
    states = {"type": "array", "items": {"type": "string", "enum": ["new", "old"]}}
    raw: dict[str, Any] = {
        "description": "Makes a <b>pet</b>. See [docs](https://x.example).",
        "parameters": [query("state", states, description="`State`")],
        **json_body(ref),
        **json_answer({"type": "array", "items": ref}),
    }
    card = make_cards(whole(raw, method="post", schemas={"Owner": owner, "Pet": pet}), "client")[0]
    assert card.summary == "Makes a pet ."
    assert card.description == "Makes a pet . See docs."
    assert card.parameter_texts == (("state", "State"),)
    assert card.body_fields == (("name", "Its name"), ("owner", ""), ("email", ""))
    assert (card.body_types, card.response_types) == (("Pet", "Owner"), ("Pet", "Owner"))
    assert card.response_fields == ("name", "owner", "email")
    assert card.enums == ("new", "old")
    assert card.example == 'return await client.things.create({ name: "name" });'


def test_a_key_in_a_header_is_no_word_to_find_an_operation_by() -> None:
    headers: list[Any] = [{"name": name, "in": "header", "schema": {}} for name in ("X-Api-Key", "X-Trace")]
    card = make_cards(whole({"parameters": [*headers, query("x-api-key")]}), "client")[0]
    assert [name for name, _ in card.parameter_texts] == ["x-api-key", "X-Trace"]


def test_markup_of_any_size_is_read_once() -> None:
    start = time.process_time()
    for text in ("<" * 500_000, "[" * 500_000, "[a](" * 200_000, "http://" * 100_000, "`" * 500_000):
        plain(text)
    assert time.process_time() - start < 2


def test_types_that_go_round_end() -> None:
    node = {
        "properties": {
            "next": {"$ref": "#/components/schemas/N"},
            "all": {"oneOf": [{"$ref": "#/components/schemas/N"}] * 9},
        }
    }
    card = make_cards(whole(json_answer({"$ref": "#/components/schemas/N"}), schemas={"N": node}), "client")[
        0
    ]
    assert card.response_fields == ("next", "all")
