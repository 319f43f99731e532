"""Scripts that mean harm: each ends with its own outcome, and the next honest one is served rightly."""

from __future__ import annotations

import asyncio

import pytest

from ammeter.engines.sandbox.port import (
    Busy,
    CpuExceeded,
    Deadline,
    MemoryExceeded,
    Outcome,
    OutputExceeded,
    Script,
    ScriptError,
    Value,
)
from tests.engines.sandbox.parts import QUICK, SDK, Answering, Opened

USED_UP = (CpuExceeded, MemoryExceeded)
HONEST = "const pet: {id: number} = await client.echo({id: 7}); return [pet.id, [3, 1, 2].sort().join('')]"


def is_honest(outcome: Outcome) -> bool:
    return isinstance(outcome, Value) and outcome.json == [7, "123"]


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("for (;;) console.log('x'.repeat(1e5))", USED_UP),
        ("const a = {}; a.a = {b: [a]}; return a", ScriptError),
        ("const m = new Map(); m.set('m', m); return m", ScriptError),
        ("return {get a() { throw new Error('no') }}", ScriptError),
        ("return new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})", ScriptError),
        ("let a = {}; for (let n = 0; n < 1e5; n++) a = {a}; return a", (ScriptError, CpuExceeded)),
        ("throw null", ScriptError),
        ("throw {toString() { for (;;); }, toJSON() { for (;;); }}", CpuExceeded),
        ("throw Object.assign(Error('x'.repeat(1e6)), {stack: 'script.ts:1:'.repeat(1e5)})", ScriptError),
        ("await new Promise(() => {})", Deadline),
        ("for (;;) await Promise.reject(1).catch(() => {})", CpuExceeded),
        ("for (;;) Promise.reject(new Error('x'))", USED_UP),
        ("Promise.reject({get message() { for (;;); }}); return 1", CpuExceeded),
        ("Promise.reject(new Proxy({}, {has() { throw 1 }})); return 1", Value),
        ("const f = () => { try { f() } finally { f() } }; f()", CpuExceeded),
        ("let s = 'x'; for (;;) s = s.replace(/x/g, 'xx')", (CpuExceeded, MemoryExceeded, ScriptError)),
        ("return new Function('for (;;);')()", CpuExceeded),
        ("return (0, eval)('while (1);')", CpuExceeded),
        ("new Array(2 ** 32 - 1).fill(1)", (CpuExceeded, MemoryExceeded, ScriptError)),
        ("return 'x'.repeat(2 ** 29)", (MemoryExceeded, ScriptError)),
        ("return new Uint8Array(2 ** 31)", (MemoryExceeded, ScriptError)),
        ("return structuredClone(Array.from({length: 1e6}, () => ({})))", USED_UP),
        ("return new TextDecoder().decode(new Uint8Array(5e6))", USED_UP),
        ("return (1e300).toLocaleString('en', {minimumFractionDigits: 100}).length", Value),
        ("Array.from({length: 1e5}, (_, n) => `é${n}`).sort((a, b) => a.localeCompare(b))", USED_UP),
        ("Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 }; return [...'x']", Value),
        ("Object.prototype.toJSON = () => { for (;;); }; return {}", CpuExceeded),
        ("Object.prototype.then = (resolve) => resolve('stolen'); return {}", Value),
        ("Error.prototype.toJSON = 1; Map.prototype.forEach = 2; return new Map([[1, Error('x')]])", Value),
        ("Reflect.apply = Reflect.ownKeys = Array.isArray = 0; const a = {}; a.a = a; return a", ScriptError),
        ("Object.prototype.__defineGetter__('stack', () => { for (;;); }); throw {message: 1}", CpuExceeded),
        ("delete Promise.prototype.then; return 1", (Value, ScriptError, Deadline)),
        ("Date.now = () => { throw 1 }; Math.random = () => 7; return crypto.randomUUID().length", Value),
    ],
)  # fmt: skip
def test_an_abuser_ends_and_the_next_honest_script_is_right(
    sandbox: Opened, code: str, kinds: type[Outcome] | tuple[type[Outcome], ...]
) -> None:
    outcome = sandbox.run(code, cpu_ms=300, memory_bytes=16 << 20, wall_ms=20_000)
    assert isinstance(outcome, kinds), outcome
    assert is_honest(sandbox.run(HONEST))


def test_a_flood_of_lines_and_of_rows_is_cut_or_refused(sandbox: Opened) -> None:
    flood = sandbox.run(
        "for (let n = 0; n < 1e6; n++) console.log(n); return 'done'", cpu_ms=20_000, wall_ms=29_000
    )
    assert isinstance(flood, Value)
    assert flood.logs_cut
    rows = "return Array.from({length: 1e5}, (_, n) => ({n}))"
    assert isinstance(sandbox.run(rows, cpu_ms=20_000, wall_ms=29_000), OutputExceeded)
    assert is_honest(sandbox.run(HONEST))


@pytest.mark.parametrize(
    "code",
    [
        "setInterval(() => client.echo('late'), 1); return 1",
        "const again = () => setTimeout(() => { client.echo('late'); again() }, 1); again(); return 1",
        "client.slow(1).then(() => client.echo('late')); return 1",
        "(async () => { for (;;) { await client.slow(1); client.echo('late') } })(); throw new Error('end')",
    ],
)
def test_nothing_goes_on_after_the_end(sandbox: Opened, code: str) -> None:
    host = Answering()
    sandbox.run(code, host)
    asked = len(host.asked)
    assert sandbox.value("await client.slow(1); await client.slow(2); return 1") == 1
    assert len(host.asked) == asked
    assert host.under_way == 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("\ufeffreturn 'bom'", "bom"),
        ("return 'a\\u2028b\\u2029c'", "a\u2028b\u2029c"),
        ("return 'a\u2028b'", "a\u2028b"),
        ("return '\\ud800'", "\ufffd"),
        ("return ['\\udc00x', '\\\\ud800', '\\ud83d\\ude00']", ["\ufffdx", "\\ud800", "😀"]),
        ("return {'\\ud800': 1}", {"\ufffd": 1}),
        ("return '\U0001f980'.length", 2),
        ("const ñ = 1, 变量 = 2; return ñ + 变量", 3),
        ("return '\\0'.length", 1),
    ],
)
def test_text_of_every_kind_comes_through(sandbox: Opened, code: str, expected: object) -> None:
    assert sandbox.value(code) == expected


def test_a_lone_surrogate_reaches_neither_logs_nor_calls_nor_errors(sandbox: Opened) -> None:
    host = Answering()
    outcome = sandbox.run(
        "console.log('\\ud800'); await client.echo('\\udfff'); throw new Error('\\udbff')", host
    )
    assert isinstance(outcome, ScriptError)
    assert (host.asked, outcome.logs[0].text, outcome.message) == ([("echo", "\ufffd")], "\ufffd", "\ufffd")


def test_a_megabyte_of_types_is_run(sandbox: Opened) -> None:
    line = "seen.push({ a: {n} as number } satisfies Record<string, number>);\n"
    body = "".join(line.replace("{n}", str(n)) for n in range(20_000))
    code = f"const seen: object[] = [];\n{body}return seen.length"
    assert len(code) > 1 << 20
    outcome = sandbox.run(code, script_bytes=2 << 20, cpu_ms=20_000, wall_ms=29_000, memory_bytes=128 << 20)
    assert isinstance(outcome, Value), outcome
    assert outcome.json == 20_000


def test_a_hundred_abusers_do_not_keep_an_honest_user_from_being_served(sandbox: Opened) -> None:
    kinds = [
        "for (;;);",
        "for (;;) await null",
        "const a = []; for (;;) a.push(new ArrayBuffer(1 << 18).slice(0))",
        "for (;;) console.log('x')",
        "await new Promise((r) => setTimeout(r, 1e6))",
    ]

    async def story() -> tuple[list[Outcome], list[Outcome]]:
        def script(code: str, tenant: str) -> Script:
            return Script(code=code, sdk=SDK, limits=QUICK, tenant=tenant)

        abusers = [
            asyncio.create_task(sandbox.pool.run(script(kinds[n % 5], f"abuser{n % 20}"), Answering()))
            for n in range(100)
        ]
        await asyncio.sleep(0)
        honest = [await sandbox.pool.run(script(HONEST, "honest"), Answering()) for _ in range(10)]
        under_way = sum(not task.done() for task in abusers)
        for task in abusers:
            task.cancel()
        ended = await asyncio.gather(*abusers, return_exceptions=True)
        assert under_way > 50
        return honest, [one for one in ended if not isinstance(one, BaseException)]

    honest, ended = sandbox.within(story(), timeout_s=60)
    assert all(is_honest(one) for one in honest), honest
    assert not any(isinstance(one, Value | Busy) for one in ended)
    assert is_honest(sandbox.run(HONEST))
