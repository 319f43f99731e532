"""What a script returns is what comes out, and what it may use is there."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.sandbox.port import Log, OutputExceeded, Value
from tests.engines.sandbox.parts import Opened


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return 1 + 1", 2),
        ("return -0.5", -0.5),
        ("return 'grüße 😀 \\u2028 </script>'", "grüße 😀 \u2028 </script>"),
        ("return true", True),
        ("return null", None),
        ("return undefined", None),
        ("const nothing = 1", None),
        ("return [1, [2, [3]], {}]", [1, [2, [3]], {}]),
        ("return {a: {b: [{c: 'd'}]}, n: undefined}", {"a": {"b": [{"c": "d"}]}}),
        ("return NaN", None),
        ("return new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("return 12345678901234567890n", "12345678901234567890"),
        ("return {id: 7n}", {"id": "7"}),
        ("return Symbol('s')", None),
        ("return {toJSON: () => 'mine'}", "mine"),
        ("return Promise.resolve(Promise.resolve(5))", 5),
        ("return {then: (resolve) => resolve(6)}", 6),
        ("return [...new Map([[1, 2]])]", [[1, 2]]),
        ("return {'__proto__x': 1, constructor: 2}", {"__proto__x": 1, "constructor": 2}),
    ],
)
def test_a_value_comes_out_as_json(sandbox: Opened, code: str, expected: Any) -> None:
    assert sandbox.value(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return new URL('../a?x=1#y', 'https://example.com/b/c').href", "https://example.com/a?x=1#y"),
        ("return String(new URLSearchParams({a: '1 2', b: 'é'}))", "a=1+2&b=%C3%A9"),
        ("return [...new TextEncoder().encode('é€😀')]", [195, 169, 226, 130, 172, 240, 159, 152, 128]),
        ("return new TextDecoder().decode(new Uint8Array([195, 169, 255]))", "é\ufffd"),
        (
            "const a = {m: new Map([[1, {}]])}; return structuredClone(a).m.get(1) !== a.m.get(1)",
            True,
        ),
        ("let seen = []; queueMicrotask(() => seen.push(1)); await null; return seen", [1]),
        ("return atob(btoa('hello'))", "hello"),
        ("return typeof performance.now()", "number"),
        ("return [1, 2, 3].toSorted((a, b) => b - a).at(-1)", 1),
        ("return Object.groupBy([1, 2, 3], (n) => n % 2 ? 'odd' : 'even')", {"odd": [1, 3], "even": [2]}),
    ],
)
def test_what_browsers_have_is_there(sandbox: Opened, code: str, expected: Any) -> None:
    assert sandbox.value(code) == expected


def test_timers_run_in_their_order_and_can_be_cleared(sandbox: Opened) -> None:
    code = """
    const seen = [];
    const gone = setTimeout(() => seen.push("gone"), 1);
    clearTimeout(gone);
    setTimeout((word) => seen.push(word), 40, "late");
    setTimeout(() => seen.push("soon"), 1);
    let ticks = 0;
    await new Promise((resolve) => {
      const every = setInterval(() => { if (++ticks === 3) { clearInterval(every); resolve(); } }, 20);
    });
    return [seen, ticks];
    """
    assert sandbox.value(code) == [["soon", "late"], 3]


def test_logs_come_with_the_value_in_their_order_and_level(sandbox: Opened) -> None:
    outcome = sandbox.run("console.log('a', {b: [1]}, 2n); console.error(new Error('bad')); return 1")
    assert isinstance(outcome, Value)
    assert outcome.logs == (Log(level="log", text='a {"b":[1]} 2n'), Log(level="error", text="Error: bad"))
    assert not outcome.logs_cut
    assert outcome.duration_ms > 0


def test_the_clock_and_chance_differ_between_scripts(sandbox: Opened) -> None:
    seen = {tuple(sandbox.value("return [Math.random(), Math.random()]")) for _ in range(20)}
    assert len(seen) == 20
    first, second = (sandbox.value("return Date.now()") for _ in range(2))
    assert 1_700_000_000_000 < first <= second


def test_a_large_value_within_its_limit_comes_out_whole(sandbox: Opened) -> None:
    assert len(sandbox.value("return 'x'.repeat(900_000)")) == 900_000


def test_the_limit_is_of_the_result_and_not_of_what_was_called_beside_it(sandbox: Opened) -> None:
    assert sandbox.value("client.echo('x'.repeat(50_000)); return 1", output_bytes=10_000) == 1
    assert isinstance(sandbox.run("return 'x'.repeat(50_000)", output_bytes=10_000), OutputExceeded)
