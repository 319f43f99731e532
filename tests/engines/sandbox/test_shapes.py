"""Scripts as models write them: in every shape they run to their result, or to an error with its place."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.sandbox.code import readings
from ammeter.engines.sandbox.port import ScriptError
from ammeter.engines.sandbox.scan import scan
from tests.engines.sandbox.parts import Opened

ROWS = "[{id: 1, status: 'paid', amount: 1250}, {id: 2, status: 'open', amount: 99}]"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"const rows = await client.echo({ROWS});\nrows.map((row) => row.id)", [1, 2]),
        ("const r = await client.echo({a: 1});\nr;\n// that is all", {"a": 1}),
        ("await client.echo(1)\nawait client.echo(2)", 2),
        ("const x = 5;\n`value ${x}`", "value 5"),
        ("const o = { a: 1 }\no.a + 1;", 2),
        ("async function total(c) {\n  return (await c.echo([1, 2])).length\n}\ntotal(client)", 2),
        ("main();\n\nasync function main() {\n  return 'hoisted'\n}", "hoisted"),
        ("async function run(client) { return 1 }\n\nrun(client).then((r) => r + 1)", 2),
        ("const main = async () => { return 34 }\nmain()", 34),
        ("function add(a, b) { return a + b }\n(async () => {\n  return add(1, 2)\n})();", 3),
        ("if (true) {\n  console.log('x')\n}\nelse {\n}\n[1, 2].length", 2),
        ("let n = 0\nfor (const x of [1, 2, 3])\n  n += x\nreturn n", 6),
        ("let n = 0;\nfor (const x of [1, 2, 3])\n  n += x", None),
        ("let n = 0;\nwhile (n < 3)\n  n++", None),
        ("if (false)\n  client.echo(1)\nelse\n  client.echo(2)", None),
        ("label: for (const x of [1]) { continue label }", None),
        ("const f = () => 1\nf", 1),
        ("globalThis.handler = async () => { throw new Error('nobody called me') }", None),
        (
            "/** @intent run the main thing */\ninterface A {}\nasync function run(c) { return 'once' }",
            "once",
        ),
        ("type Row = { id: number };\nasync function fetchAll(c: any): Promise<Row[]> { return [] }", []),
        ("import type { Row } from './types';\nimport { type Other } from 'other';\nreturn 1", 1),
        ("import { client } from '@acme/sdk';\nreturn client.echo(7)", 7),
        ("export default { a: 1 }", {"a": 1}),
        ("export default client.echo(5);", 5),
        ("async function run() { return 33 }\nexport { run as default };", 33),
        ("export const helper = (n: number) => n * 2;\nreturn helper(4)", 8),
        ("First:\n```bash\nnpm install\n```\nthen\n```ts\nconst n: number = 77;\nreturn n\n```", 77),
        ("```\nreturn 'untagged'\n```", "untagged"),
        ("#!/usr/bin/env node\nreturn 'after the shebang'", "after the shebang"),
        ("const re = /[/\"'`]/g, half = 4 / 2 / 1;\nre.source.length + half", 8),
        ("const s = 'a;\\'b' + \"}\" + `{${'`'.length}}`;\ns.length", 8),
        ("class A<T> { constructor(private x: T) {} get() { return this.x } }\nnew A<number>(3).get()", 3),
        (
            "abstract class S { abstract f(): number }\n"
            "class T extends S { override f() { return 4 } }\nreturn new T().f()",
            4,
        ),
        (
            "const o = { red: [1] } as const satisfies Record<string, readonly number[]>;\no.red[0]",
            1,
        ),
        (
            "declare const ambient: string;\nconst n = <T,>(x: T) => x;\nreturn n<string>('generic')",
            "generic",
        ),
        ("const { a, ...rest } = await client.echo({a: 1, b: 2});\nreturn rest", {"b": 2}),
        ("let out = [];\nfor await (const x of [client.echo(1), 2]) out.push(x);\nreturn out", [1, 2]),
    ],
)
def test_a_script_as_models_write_it_gives(sandbox: Opened, code: str, expected: Any) -> None:
    assert sandbox.value(code) == expected


@pytest.mark.parametrize(
    ("code", "name", "line", "column"),
    [
        ("const a = 1;\nconst b = 2; a.x.y", "TypeError", 2, 14),
        ("a.b.c", "ReferenceError", 1, 1),
        ("[1, 2].forEach((n) => {\n  if (n === 2)\n    throw new Error('cb');\n});", "Error", 3, 15),
        ("async function a() {\n  await client.slow(1);\n  null.foo;\n}\nawait a();", "TypeError", 3, 3),
        (
            "enum A { X }\nasync function a() {\n  await client.echo(1);\n  null.foo;\n}\nawait a()",
            *("TypeError", 4, 3),
        ),
        ("enum A { X }\nconst n = null;\nn.foo", "TypeError", 3, 1),
        ("export default async function () {\n  null.foo;\n}", "TypeError", 2, 3),
        ("Here:\n\n```ts\nconst n: any = null;\n n.foo\n```", "TypeError", 5, 2),
        ("async () => {\n  const x = 1;\n  return x.y.z;\n}", "TypeError", 3, 10),
        ("const n = null\r\nn.foo\r\n", "TypeError", 2, 1),
        ("import { z } from 'zod';\nreturn z", "SyntaxError", 1, 1),
        ("const a = 1;\nimport fs from 'node:fs';", "SyntaxError", 2, 1),
        ("const x = 1;\nconst fs = await import('fs')", "ReferenceError", 2, 18),
        ("class B {}\n@dec class A {}\nreturn 1", "SyntaxError", 2, 1),
        ("const a = 1;\nconst b = = 2;\na", "SyntaxError", 2, 11),
    ],
)
def test_an_error_in_any_shape_has_the_users_place(
    sandbox: Opened, code: str, name: str, line: int, column: int
) -> None:
    error = sandbox.error(code)
    assert (error.name, error.line, error.column) == (name, line, column)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import { z } from 'zod';\nreturn z", "'zod' cannot be imported: a script has the global `client`"),
        ("return await import('fs')", "import() is not available: a script has the global `client`"),
        ("@dec class A {}\nreturn 1", "Decorators are not supported"),
        ("return require('fs')", "require is not defined"),
        ("return fetch('https://example.com')", "fetch is not defined"),
        ("return process.env", "process is not defined"),
        ("return Buffer.from('x')", "Buffer is not defined"),
        ("return Deno.args", "Deno is not defined"),
    ],
)
def test_what_is_not_there_is_said_so(sandbox: Opened, code: str, told: str) -> None:
    error = sandbox.error(code)
    assert error.message.startswith(told)
    assert error.line == 1


def test_an_implicit_result_that_is_no_json_is_no_error(sandbox: Opened) -> None:
    assert sandbox.value("const a = {};\na.self = a") is None
    assert isinstance(sandbox.run("const a = {};\nreturn a.self = a"), ScriptError)


def test_statements_are_found_where_they_begin() -> None:
    text = "const a = 1\nif (a)\n  b()\nelse c()\n/* x */ d`t${ {e: '}'} }`; // f\ng\n  .h()\n"
    found = [text[one.start : one.end] for one in scan(text).statements]
    assert found == ["const a = 1", "if (a)\n  b()\nelse c()", "d`t${ {e: '}'} }`", "g\n  .h()"]


@pytest.mark.parametrize(
    "piece", ["'\\", "`${", "/[", "/a", '"', "x\n", ";", "{", "}", "import x from 'x'\n"]
)
def test_a_text_longer_than_anyone_writes_is_read_as_it_stands(piece: str) -> None:
    found = readings(piece * 100_000, "client")
    assert isinstance(found, list)
    assert found[-1].source.startswith("(async()=>{")
