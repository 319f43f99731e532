"""What a script returns is what comes out, and what it may use is there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from ammeter.engines.sandbox.port import Deadline, Log, OutputExceeded, Value
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
        ("return new Map([['a', 1], ['b', new Set([1, 2n])]])", {"a": 1, "b": [1, "2"]}),
        ("return new Map([[{k: 1}, 'v']])", [[{"k": 1}, "v"]]),
        ("return new Map([['__proto__', 1]])", {"__proto__": 1}),
        ("return {list: [new Set(), new Map()]}", {"list": [[], {}]}),
        ("return Array.from({length: 300}, () => new Set([1])).flatMap((s) => [...s]).length", 300),
        ("return Array.from({length: 300}, (_, n) => new Map([['n', n]])).at(-1)", {"n": 299}),
        ("return new Uint8Array([1, 2])", [1, 2]),
        (
            "return [/x/g, new Error('told'), new Date(NaN)]",
            ["/x/g", {"name": "Error", "message": "told"}, None],
        ),
        (
            "return Object.assign(new TypeError('no'), {status: 404})",
            {"name": "TypeError", "message": "no", "status": 404},
        ),
        ("return [undefined, () => 1, Symbol('x'), Infinity]", [None, None, None, None]),
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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return (1234567.891).toLocaleString()", "1,234,567.891"),
        (
            "return (1.005).toLocaleString('en-US', {minimumFractionDigits: 2, maximumFractionDigits: 2})",
            "1.01",
        ),
        ("return (-1234.5).toLocaleString('en-US', {style: 'currency', currency: 'USD'})", "-$1,234.50"),
        ("return new Intl.NumberFormat('en-US', {style: 'percent'}).format(0.256)", "26%"),
        ("return new Intl.NumberFormat('en', {notation: 'compact'}).format(1234567)", "1.2M"),
        ("return 12345678901234567890n.toLocaleString()", "12,345,678,901,234,567,890"),
        ("return new Intl.NumberFormat('de-DE').resolvedOptions().locale", "en-US"),
        ("return new Date(0).toLocaleString()", "1/1/1970, 12:00:00 AM"),
        ("return new Date(0).toLocaleDateString('en-US', {dateStyle: 'full'})", "Thursday, January 1, 1970"),
        ("return new Date(0).toLocaleDateString('sv-SE')", "1970-01-01"),
        ("return new Date(0).toLocaleDateString('en-GB')", "01/01/1970"),
        (
            "return new Date(Date.UTC(2024, 6, 1)).toLocaleString('en-US', {timeZone: 'America/New_York'})",
            "6/30/2024, 8:00:00 PM",
        ),
        (
            "return new Date(Date.UTC(2024, 0, 1)).toLocaleTimeString('en-US', {timeZone: 'Asia/Kolkata'})",
            "5:30:00 AM",
        ),
        ("return ['b', 'ä', 'B', 'a', 'z'].sort((x, y) => x.localeCompare(y))", ["a", "ä", "b", "B", "z"]),
        ("return ['x10', 'x9'].sort(new Intl.Collator('en', {numeric: true}).compare)", ["x9", "x10"]),
        ("return new Intl.ListFormat('en').format(['a', 'b', 'c'])", "a, b, and c"),
        ("return new Intl.RelativeTimeFormat('en', {numeric: 'auto'}).format(-1, 'day')", "yesterday"),
        ("return new Intl.PluralRules('en', {type: 'ordinal'}).select(22)", "two"),
        (
            "try { new Date().toLocaleString('en', {timeZone: 'Mars/X'}) } catch (e) { return e.name }",
            "RangeError",
        ),
    ],
)
def test_numbers_and_dates_are_written_as_english_has_them(sandbox: Opened, code: str, expected: Any) -> None:
    assert sandbox.value(code) == expected


def test_random_values_and_aborting_are_there(sandbox: Opened) -> None:
    code = "return [crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))]]"
    seen = [sandbox.value(code) for _ in range(5)]
    assert all(UUID(uuid).version == 4 for uuid, _ in seen)
    assert len({str(one) for one in seen}) == 5
    code = """
    const control = new AbortController(), seen = [];
    control.signal.addEventListener("abort", (event) => seen.push(event.type));
    setTimeout(() => control.abort(), 1);
    await new Promise((resolve) => control.signal.addEventListener("abort", resolve));
    try { control.signal.throwIfAborted() } catch (error) { seen.push(error.name) }
    return [...seen, AbortSignal.any([control.signal]).aborted];
    """
    assert sandbox.value(code) == ["abort", "AbortError", True]


@pytest.mark.parametrize(
    "code",
    [
        "\nPromise.reject(new TypeError('lost')); return 1",
        "const f = async () => {\n  throw new TypeError('lost') };\nf(); await client.slow(1); return 1",
        "const p = client.slow(1);\np.then(() => { throw new TypeError('lost') }); await client.slow(2)",
    ],
)
def test_a_rejection_that_nothing_waits_for_is_told_as_a_log(sandbox: Opened, code: str) -> None:
    outcome = sandbox.run(code)
    assert isinstance(outcome, Value)
    told = "A promise was rejected and nothing waited for it: TypeError: lost (line 2)"
    assert outcome.logs == (Log(level="error", text=told),)


def test_a_rejection_that_is_waited_for_later_is_nobodys_concern(sandbox: Opened) -> None:
    code = "const p = client.refuse(1); await client.slow(1);\ntry { await p } catch (e) { return e.name }"
    outcome = sandbox.run(code)
    assert isinstance(outcome, Value)
    assert (outcome.json, outcome.logs) == ("ApiError", ())


def test_a_script_that_stalls_tells_why_a_promise_failed(sandbox: Opened) -> None:
    outcome = sandbox.run("new Promise(async (resolve) => { resolve.x.y; }); await new Promise(() => {})")
    assert isinstance(outcome, Deadline)
    assert outcome.stalled
    assert "cannot read property 'y' of undefined (line 1)" in outcome.logs[0].text


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
