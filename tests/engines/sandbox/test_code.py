"""Every shape of code that agents write is read, and a place in it is the user's place."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.sandbox.code import readings, unfenced
from tests.engines.sandbox.parts import Opened


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return await client.echo(1)", 1),
        ("await client.echo(2)", 2),
        ("client.echo(3);  // and no more", 3),
        ("async () => { return client.echo(4) }", 4),
        ("async () => {\n  return 5;\n};\n// the end", 5),
        ("async (client) => client.echo(6)", 6),
        ("/** @intent x */\nasync function run(client) {\n  return await client.echo(7);\n}\n", 7),
        ("async function main() { return 8 }", 8),
        ("const run = async (c) => c.echo(9);", 9),
        ("async function run(c) { return c.echo(10) }\nreturn run(client)", 10),
        ("export default async function (client) { return client.echo(11) }", 11),
        ("const twelve = 12;\nexport default async () => twelve;", 12),
        ("export async function run(client) { return 13 }", 13),
        ("(async () => { return 14 })()", 14),
        ("function helper() { return 15 }\nreturn helper();", 15),
        ("```ts\nconst n: number = 16;\nreturn n;\n```", 16),
        ("Here it is:\n\n```javascript\nreturn 17\n```\nI hope it helps.", 17),
        ("~~~\nreturn 18\n~~~", 18),
        ("interface Pet { id: number }\nconst p = { id: 19 } as Pet;\nreturn p!.id satisfies number", 19),
        ("enum Kind { A = 20 }\nreturn Kind.A", 20),
        ("namespace N { export const x = 21 }\nreturn N.x", 21),
        ("const f = <T,>(x: T): T => x;\nreturn f<number>(22)", 22),
        ('"use strict";\nreturn 23', 23),
        ("return 24 // no line break after this", 24),
        ("export type X = string;\nexport const y: X = 'a';\nreturn 26", 26),
        ("\ufeffreturn 27", 27),
        ("return 28\r\n", 28),
        ("", None),
        ("// only a remark", None),
        ("[1, 2].map((n) => n * 2)", [2, 4]),
    ],
)
def test_a_script_in_this_shape_gives(sandbox: Opened, code: str, expected: Any) -> None:
    assert sandbox.value(code) == expected


def test_a_run_that_the_script_calls_itself_is_not_called_twice(sandbox: Opened) -> None:
    code = "let times = 0;\nasync function run() { times++ }\nawait run();\nreturn times"
    assert sandbox.value(code) == 1


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("const = 3", 1, 7),
        ("const a = 1;\nreturn a b", 2, 10),
        ("```ts\nconst a = 1;\nreturn a b\n```", 3, 10),
        ("import fs from 'fs';\nreturn 1", 1, 1),
    ],
)
def test_what_does_not_parse_is_told_with_the_users_place(
    sandbox: Opened, code: str, line: int, column: int
) -> None:
    error = sandbox.error(code)
    assert (error.name, error.line, error.column) == ("SyntaxError", line, column)
    assert error.source_line == code.split("\n")[line - 1].strip()


def test_breaking_out_of_the_wrapping_leads_nowhere(sandbox: Opened) -> None:
    sandbox.run("}); globalThis.leak = 1; (async () => {")
    assert sandbox.value("}); (async () => { return [typeof leak, typeof __host_call, typeof call]") == [
        "undefined",
        "undefined",
        "undefined",
    ]


@pytest.mark.parametrize(
    "piece", [" ", ";", "\n", "/*", "//\n", "```\n", "export default ", "`", "((", "a=>"]
)
def test_reading_takes_no_time_that_grows_with_the_square(piece: str) -> None:
    long = piece * (256_000 // len(piece))
    assert readings(long + "x", "client") is not None
    assert unfenced(long) is not None
