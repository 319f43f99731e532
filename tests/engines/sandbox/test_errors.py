"""A script that fails is told what failed and where, in its own lines."""

from __future__ import annotations

import pytest

from ammeter.engines.sandbox.port import Crashed
from tests.engines.sandbox.parts import Answering, Opened


@pytest.mark.parametrize(
    ("code", "name", "message", "line"),
    [
        ("\n\nthrow new TypeError('bad')", "TypeError", "bad", 3),
        ("const a = null;\nreturn a.x", "TypeError", "cannot read property 'x' of null", 2),
        ("return 1 +\n  missing", "ReferenceError", "missing is not defined", 2),
        ("async () => {\n  await null;\n  throw new RangeError('far');\n}", "RangeError", "far", 3),
        ("```js\nthrow new Error('fenced')\n```", "Error", "fenced", 2),
        ("enum A { B }\ninterface C {}\nthrow new Error('mapped')", "Error", "mapped", 3),
        ("const f = () => {\n  throw new Error('inner');\n};\nf();", "Error", "inner", 2),
        ("class Mine extends Error { name = 'Mine' }\nthrow new Mine('own')", "Mine", "own", 2),
        ("await client.echo(1);\nawait client.refuse(2);", "ApiError", "no such pet", 2),
        (
            "class Mine extends Error {\n  constructor() {\n    super('x');\n  }\n}\nthrow new Mine()",
            "Error",
            "x",
            3,
        ),
        ("queueMicrotask(() => {\n  throw new Error('micro') });\nawait client.slow(1)", "Error", "micro", 2),
        ("setTimeout(() => {\n  throw new Error('timer') }, 1);\nawait client.slow(1)", "Error", "timer", 2),
        ("\nawait Promise.any([Promise.reject(1)])", "AggregateError", "", 2),
    ],
)
def test_an_error_has_its_name_message_and_line(
    sandbox: Opened, code: str, name: str, message: str, line: int
) -> None:
    error = sandbox.error(code)
    assert (error.name, error.line) == (name, line)
    assert error.message.startswith(message)
    assert error.source_line == code.split("\n")[line - 1].strip()
    assert f"script.ts:{line}:" in error.stack
    assert "prelude" not in error.stack


@pytest.mark.parametrize(
    ("thrown", "message"),
    [
        ("'text'", "text"),
        ("42", "42"),
        ("null", "null"),
        ("undefined", "undefined"),
        ("{code: 1}", '{"code":1}'),
    ],
)
def test_what_is_no_error_can_be_thrown_too(sandbox: Opened, thrown: str, message: str) -> None:
    error = sandbox.error(f"throw {thrown}")
    assert (error.name, error.message) == ("Thrown", message)


@pytest.mark.parametrize(
    "code",
    [
        "throw {get message() { throw 1 }, get name() { throw 2 }}",
        "throw new Proxy({}, {get() { throw 1 }, has() { throw 2 }})",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', {get() { throw 1 }}); throw e",
        "throw {toJSON() { throw 1 }, toString() { throw 2 }}",
    ],
)
def test_an_error_that_cannot_be_shown_is_still_an_error(sandbox: Opened, code: str) -> None:
    assert sandbox.error(code).message


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("const a = {}; a.a = a; return a", "result.a is a circular reference to result."),
        (
            "const a = {b: {c: [1]}}; a.b.c.push(a.b); return a",
            "result.b.c[1] is a circular reference to result.b.",
        ),
        (
            "const m = new Map(); m.set('a b', m); return m",
            'result["a b"] is a circular reference to result.',
        ),
        ("const e = new Error(); e.of = {e}; return e", "result.of.e is a circular reference to result."),
        ("return {x: {get a() { throw new Error('from a getter') }}}", "result.x.a threw from a getter."),
        ("return {toJSON() { throw new Error('from toJSON') }}", "from toJSON"),
        ("return new Proxy({}, {ownKeys() { throw new Error('from a trap') }})", "from a trap"),
    ],
)
def test_a_result_that_is_no_json_is_a_clear_error(sandbox: Opened, code: str, told: str) -> None:
    error = sandbox.error(code)
    assert error.message.startswith("The result cannot be written as JSON")
    assert told in error.message


def test_arguments_that_are_no_json_are_told_with_their_place(sandbox: Opened) -> None:
    error = sandbox.error("const a = {rows: [{}]}; a.rows[0].parent = a;\nawait client.echo(a)")
    assert error.message.startswith("The arguments cannot be written as JSON: arguments.rows[0].parent is")
    assert error.line == 2


def test_an_error_of_the_sdk_has_the_line_of_the_call(sandbox: Opened) -> None:
    sdk = """(call) => ({get: async (value) => {
      const answer = await call("echo", value);
      throw new Error("the SDK's own");
    }})"""
    outcome = sandbox.run("const a = 1;\n\nawait client.get(a)", sdk=sdk)
    assert (getattr(outcome, "message", None), getattr(outcome, "line", None)) == ("the SDK's own", 3)


def test_a_refusal_can_be_caught_and_has_its_properties(sandbox: Opened) -> None:
    code = (
        "try { await client.refuse() } catch (e) { return [e instanceof Error, e.name, e.message, e.status] }"
    )
    assert sandbox.value(code) == [True, "ApiError", "no such pet", 404]


def test_a_host_that_fails_tells_the_script_nothing_of_itself(
    sandbox: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    error = sandbox.error("await client.other('burst')", Answering())
    assert (error.name, error.message) == ("InternalError", "The call failed inside Ammeter.")
    assert "the host's own fault" in caplog.text


@pytest.mark.parametrize(
    "sdk", ["not javascript(", "(call) => { throw new Error('broken') }", "42", "for(;;){}"]
)
def test_an_sdk_that_does_not_load_is_told_as_such(sandbox: Opened, sdk: str) -> None:
    outcome = sandbox.run("return 1", sdk=sdk)
    assert isinstance(outcome, Crashed)
    assert "the SDK does not load" in outcome.reason
    assert sandbox.value("return 1") == 1
