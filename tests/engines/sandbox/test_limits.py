"""Whatever a script uses up ends that script, with its own outcome, and no other."""

from __future__ import annotations

import time

import pytest

from ammeter.engines.sandbox.port import (
    CpuExceeded,
    Deadline,
    MemoryExceeded,
    OutputExceeded,
    ScriptError,
    Value,
)
from tests.engines.sandbox.parts import Opened


@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "for (;;) await null",
        "const again = () => Promise.resolve().then(again); await again()",
        "const again = () => queueMicrotask(again); again(); await new Promise(() => {})",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "return 'a'.repeat(1e6).replace(/(?:a?){40}b/g, '')",
        "const a = new Uint8Array(1e7); for (;;) a.fill(1)",
        "const s = 'x'.repeat(5e6); for (;;) s.indexOf('y')",
        "return {toJSON() { for (;;); }}",
        "return {get then() { for (;;); }}",
        "try { for (;;); } finally { for (;;); }",
        "new Promise(() => { for (;;); })",
        "}); for (;;); (async () => {",
        "for (;;) { try { (function f() { f() })() } catch {} }",
    ],
)
def test_endless_work_ends_as_cpu_exceeded(sandbox: Opened, code: str) -> None:
    outcome = sandbox.run(code, cpu_ms=200)
    assert isinstance(outcome, CpuExceeded), outcome
    assert 200 <= outcome.cpu_ms < 400


@pytest.mark.parametrize(
    "code",
    [
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
        "const a = []; for (;;) a.push('x'.repeat(1 << 20) + a.length)",
        "const m = new Map(); for (let n = 0; ; n++) m.set(n, {n})",
        "new Uint8Array(1e9)",
        "const a = []; for (;;) a.push(client.echo)",
    ],
)
def test_a_memory_bomb_ends_as_memory_exceeded(sandbox: Opened, code: str) -> None:
    outcome = sandbox.run(code, memory_bytes=16 << 20, cpu_ms=4000)
    assert isinstance(outcome, MemoryExceeded), outcome


def test_a_script_that_catches_its_memory_bomb_lives_on_small(sandbox: Opened) -> None:
    code = "const a = []; try { for (;;) a.push(new ArrayBuffer(1e6)) } catch { a.length = 0 } return 'alive'"
    assert sandbox.value(code) == "alive"


@pytest.mark.parametrize(
    "code",
    [
        "const f = () => f() + 1; return f()",
        "let a = []; for (let n = 0; n < 1e5; n++) a = [a]; return a",
        "return JSON.parse('['.repeat(1e6))",
        "let a = {}; for (let n = 0; n < 1e5; n++) a = {a}; return JSON.stringify(a)",
        "let a = []; for (let n = 0; n < 5e4; n++) a = [a]; await client.echo(a)",
        "let s = 'x'; for (;;) s += s",
        "return eval('('.repeat(1e5))",
        "return new RegExp('('.repeat(1e5))",
        "await ({then(resolve) { resolve(this) }})",
    ],
)
def test_depth_and_length_without_end_are_the_scripts_error(sandbox: Opened, code: str) -> None:
    outcome = sandbox.run(code)
    assert isinstance(outcome, ScriptError | CpuExceeded | MemoryExceeded), outcome
    assert sandbox.value("return 'the next one'") == "the next one"


@pytest.mark.parametrize(
    "piece", ["(", "[", "a=>", "`${", "{", "if(1)", "!", "<T>", "f(async()=>{", "type A=(A|"]
)
def test_text_that_no_parser_can_hold_is_a_syntax_error(sandbox: Opened, piece: str) -> None:
    pids = sandbox.pids
    assert sandbox.error(piece * (200_000 // len(piece))).name == "SyntaxError"
    assert sandbox.value("const still: string = 'here'; return still") == "here"
    assert sandbox.pids == pids


def test_a_result_nested_deeper_than_python_reads_is_an_error(sandbox: Opened) -> None:
    error = sandbox.error("let a = 1; for (let n = 0; n < 3000; n++) a = [a]; return a")
    assert error.name == "RangeError"


@pytest.mark.parametrize("code", ["return 'x'.repeat(3e6)", "return Array(1e6).fill('abc')"])
def test_a_huge_result_is_output_exceeded(sandbox: Opened, code: str) -> None:
    assert isinstance(sandbox.run(code, cpu_ms=4000), OutputExceeded)


def test_a_flood_of_logs_is_cut_and_the_value_still_comes(sandbox: Opened) -> None:
    code = "for (let n = 0; n < 20_000; n++) console.log('line', n); return 'done'"
    outcome = sandbox.run(code, log_bytes=2000)
    assert isinstance(outcome, Value)
    assert outcome.logs_cut
    assert sum(len(log.text) for log in outcome.logs) <= 2000


def test_one_huge_log_is_cut_as_well(sandbox: Opened) -> None:
    outcome = sandbox.run("console.log('é'.repeat(1e6)); console.log('more'); return 1", log_bytes=1000)
    assert isinstance(outcome, Value)
    assert outcome.logs_cut
    assert sum(len(log.text.encode()) for log in outcome.logs) <= 1000


def test_timers_have_a_number_that_ends(sandbox: Opened) -> None:
    error = sandbox.error("for (let n = 0; n < 1000; n++) setTimeout(() => {}, 1000)", timers=50)
    assert error.name == "LimitError"


@pytest.mark.parametrize("code", ["await new Promise(() => {})", "return new Promise(() => 1)"])
def test_a_promise_that_nothing_will_settle_is_not_waited_for(sandbox: Opened, code: str) -> None:
    began = time.monotonic()
    outcome = sandbox.run(code)
    assert isinstance(outcome, Deadline)
    assert outcome.stalled
    assert time.monotonic() - began < 5


def test_a_timer_beyond_the_deadline_is_not_waited_for(sandbox: Opened) -> None:
    outcome = sandbox.run("await new Promise((r) => setTimeout(r, 60_000))", wall_ms=150)
    assert isinstance(outcome, Deadline)
    assert not outcome.stalled
    assert 140 < outcome.duration_ms < 3000


def test_a_script_longer_than_allowed_is_not_run(sandbox: Opened) -> None:
    assert sandbox.error("return 1 //" + "x" * 1000, script_bytes=500).name == "RangeError"


def test_honest_scripts_are_served_beside_abusers(sandbox: Opened) -> None:
    abusers = [
        "for (;;);",
        "for (;;) await null",
        "const a = []; for (;;) a.push(new ArrayBuffer(1 << 18))",
    ] * 4
    outcomes = sandbox.run_all([*abusers, *["return 'honest'"] * 12], cpu_ms=500)
    assert [one.json for one in outcomes[len(abusers) :] if isinstance(one, Value)] == ["honest"] * 12
    assert max(one.duration_ms for one in outcomes[len(abusers) :]) < 3000
