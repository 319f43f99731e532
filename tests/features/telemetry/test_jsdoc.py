"""Headers of scripts, as agents write them."""

from __future__ import annotations

import pytest

from ammeter.features.telemetry.jsdoc import Header, frustration_level, parse_header

FULL = Header(intent="Find the invoice", context="step 2 of a plan", frustration=7)


@pytest.mark.parametrize(
    "code",
    [
        "/**\n * @intent Find the invoice\n * @context step 2\n *   of a plan\n * @frustration_level 7\n */",
        "/** @intent Find the invoice @context step 2 of a plan @frustration_level 7/10 */ return 1",
        "/*\n@intent Find the invoice\n@context step 2 of a plan\n@frustration_level 7 of 10\n*/",
        "// @intent Find the invoice\n// @context: step 2 of a plan\n// @frustrationLevel: 7\nconst a = 1",
        "```ts\n/**\n * @intent Find the invoice\n * @context step 2 of a plan\n * @frustration 7\n */\n```",
        "Here:\n```js\n// @intent Find the invoice\n// @context step 2 of a plan\n// @frustration 7\n```",
        "* @intent Find the invoice\n* @context step 2 of a plan\n* @frustration_level 7\n*/\nreturn 1",
        "'use strict';\n/** @intent Find the invoice\n @context step 2 of a plan\n @frustration_level 7 */",
        "async function run(client) {\n  /** @intent Find the invoice\n   * @context step 2 of a plan\n"
        "   * @frustration_level 7 */\n}",
        "export default async (client) => {\n// @intent Find the invoice\n// @context step 2 of a plan\n"
        "// @frustration_level 7\n}",
        "/* eslint-disable */\n/**\r\n * @intent Find the invoice\r\n * @context step 2 of a plan\r\n"
        " * @frustration_level 7\r\n */",
        "/**\n * @intent Find the invoice\n *\n * Some words about it.\n * @context step 2 of a plan\n"
        " * @frustration_level 7",
    ],
)
def test_a_header_is_found_however_it_is_written(code: str) -> None:
    assert parse_header(code) == FULL


@pytest.mark.parametrize(
    "code",
    [
        "",
        "return 1",
        "const a = 1;\n/** @intent too late */",
        "const mail = 'me@intent.example'",
        "/** says nothing */ return 1",
        "/** @intent */",
        "`/** @intent in a text */`",
    ],
)
def test_no_header_is_no_fault(code: str) -> None:
    header = parse_header(code)
    assert header == Header()
    assert header.is_missing


def test_other_tags_are_kept_by_their_names_in_small_letters() -> None:
    header = parse_header("/**\n * @Team billing\n * @ticket T-1\n * @team other\n */")
    assert header.tags == {"team": "billing", "ticket": "T-1"}
    assert header.is_missing


def test_a_level_that_is_none_is_kept_as_text() -> None:
    header = parse_header("/** @frustration_level somewhere in the middle */")
    assert (header.frustration, header.frustration_text) == (None, "somewhere in the middle")
    assert not header.is_missing


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("0", 0),
        ("10", 10),
        (" 3 ", 3),
        ("7/10", 7),
        ("3/5", 6),
        ("4 out of 10", 4),
        ("2 - the API is odd", 2),
        ("(5)", 5),
        ("6.5", 6),
        ("none", 0),
        ("None so far", 0),
        ("low", 2),
        ("Medium", 5),
        ("HIGH!", 8),
        ("very high", 9),
        ("high (third attempt)", 8),
        ("11", None),
        ("-1", None),
        ("70%", None),
        ("7/0", None),
        ("12/10", None),
        ("1.2.3", None),
        ("", None),
        ("purple", None),
    ],
)
def test_levels(text: str, level: int | None) -> None:
    assert frustration_level(text) == level


def test_a_header_as_long_as_a_book_is_cut() -> None:
    header = parse_header("/** @intent " + "word " * 100_000 + "*/")
    assert header.intent is not None
    assert len(header.intent) == 2_000
