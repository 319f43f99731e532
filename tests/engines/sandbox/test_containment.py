"""Nothing but the client leads out of a script, and nothing of it is left for the next one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ammeter.engines.sandbox.port import CpuExceeded, MemoryExceeded, ScriptError, Value
from tests.engines.sandbox.parts import Answering, Opened

LANGUAGE = {
    *("Object", "Function", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError"),
    *("URIError", "InternalError", "AggregateError", "SuppressedError", "Iterator", "Array", "parseInt"),
    *("parseFloat", "isNaN", "isFinite", "queueMicrotask", "decodeURI", "decodeURIComponent", "encodeURI"),
    *(
        "encodeURIComponent",
        "escape",
        "unescape",
        "Infinity",
        "NaN",
        "undefined",
        "eval",
        "Number",
        "Boolean",
    ),
    *("String", "Math", "Reflect", "Symbol", "DisposableStack", "globalThis", "BigInt", "Date", "RegExp"),
    *("JSON", "Proxy", "Map", "Set", "WeakMap", "WeakSet", "ArrayBuffer", "Uint8ClampedArray", "Int8Array"),
    *("Uint8Array", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "BigInt64Array"),
    *("BigUint64Array", "Float16Array", "Float32Array", "Float64Array", "DataView", "Promise"),
    *("AsyncDisposableStack", "WeakRef", "FinalizationRegistry"),
}
OF_BROWSERS = {
    *("DOMException", "btoa", "atob", "performance", "structuredClone", "URLSearchParams", "URL"),
    *(
        "TextDecoder",
        "TextEncoder",
        "AbortController",
        "AbortSignal",
        "Event",
        "EventTarget",
        "Intl",
        "crypto",
    ),
    *("crypto", "console", "setTimeout", "setInterval", "clearInterval", "clearTimeout"),
}


def test_the_only_name_of_ours_is_the_client(sandbox: Opened) -> None:
    names = set(sandbox.value("return Reflect.ownKeys(globalThis).map(String)"))
    assert names - LANGUAGE - OF_BROWSERS - {"Symbol(Symbol.toStringTag)"} == {"client"}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "process",
            "require",
            "module",
            "exports",
            "global",
            "Buffer",
            "Deno",
            "Bun",
            "fetch",
            "XMLHttpRequest",
        ),
        *(
            "WebSocket",
            "Worker",
            "WebAssembly",
            "SharedArrayBuffer",
            "Atomics",
            "std",
            "os",
            "bjs",
            "scriptArgs",
        ),
        *("__host_call", "__call", "__out", "host_call", "print", "load", "gc", "navigator", "importScripts"),
    ],
)
def test_there_is_no(sandbox: Opened, name: str) -> None:
    code = f"return [typeof {name}, (0, eval)('typeof {name}'), Function('return typeof {name}')()]"
    assert sandbox.value(code) == ["undefined"] * 3


@pytest.mark.parametrize(
    "module", ["fs", "std", "os", "./x.js", "/etc/passwd", "https://example.com/x.js", "data:,1"]
)
def test_nothing_can_be_imported(sandbox: Opened, module: str) -> None:
    assert sandbox.error(f'return await import("{module}")').name == "ReferenceError"
    assert sandbox.error(f"return eval('import(\"{module}\")')").name == "ReferenceError"


@pytest.mark.parametrize(
    "code",
    [
        "return client.echo.constructor('return this')() === globalThis",
        "return console.log.constructor.constructor('return this')() === globalThis",
        "return (async () => {}).constructor('return globalThis')() instanceof Promise",
        "try { null.f() } catch (e) { return e.constructor.constructor('return this')() === globalThis }",
        "return client.refuse().catch((e) => e.constructor.constructor('return this')() === globalThis)",
        "const a = await client.echo({}); return a.constructor.constructor('return this')() === globalThis",
        "return Reflect.ownKeys(client).every((key) => typeof client[key] === 'function')",
        "return (function () { return arguments.callee.caller ?? null })() === null",
    ],
)
def test_a_constructor_leads_to_the_scripts_own_realm_only(sandbox: Opened, code: str) -> None:
    assert sandbox.value(code) is True


@pytest.mark.parametrize(
    "pollution",
    [
        "Object.prototype.status = 'polluted'; Object.prototype.toJSON = () => 'polluted'",
        "Array.prototype.push = Array.prototype.join = () => 'polluted'",
        "JSON.stringify = JSON.parse = () => 'polluted'",
        "Promise.prototype.then = function () { return 'polluted' }",
        "Map.prototype.get = Map.prototype.set = () => 'polluted'",
        "Object.defineProperty(Array.prototype, '0', {set() {}, get() { return 'polluted' }})",
        "globalThis.Promise = globalThis.String = globalThis.Error = null",
        "Function.prototype.call = Function.prototype.apply = Reflect.apply = () => 'polluted'",
        "Object.defineProperty(globalThis, 'console', {get() { throw 1 }})",
        "Symbol.prototype[Symbol.toPrimitive] = null; Object.freeze(Object.prototype)",
        "for (const key of Reflect.ownKeys(globalThis)) try { delete globalThis[key] } catch {}",
        "Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = 0",
        "globalThis.client = 1; delete globalThis.client",
    ],
)
def test_pollution_hurts_only_the_script_that_does_it(sandbox: Opened, pollution: str) -> None:
    host = Answering()
    outcome = sandbox.run(f"{pollution};\nreturn {{a: await client.echo({{b: 1}})}}", host, wall_ms=1000)
    assert not isinstance(outcome, CpuExceeded | MemoryExceeded)
    assert all(operation == "echo" for operation, _ in host.asked)
    for _ in range(3):
        assert sandbox.value(
            "return [({}).status, JSON.stringify([1]), [2].join(), await client.echo(3)]"
        ) == [
            None,
            "[1]",
            "2",
            3,
        ]


def test_no_state_is_left_between_two_scripts(sandbox: Opened) -> None:
    leave = "globalThis.left = Math.left = console.left = URL.left = 1; setTimeout(() => {}, 1e6); return 1"
    look = "return [globalThis.left, Math.left, console.left, URL.left, client.left].filter(Boolean)"
    for _ in range(20):
        assert sandbox.value(leave) == 1
        assert sandbox.value(look) == []


def test_scripts_side_by_side_do_not_see_each_other(sandbox: Opened) -> None:
    code = "globalThis.mine = {n}; await client.slow(1); return globalThis.mine"
    outcomes = sandbox.run_all([code.replace("{n}", str(n)) for n in range(16)])
    assert [one.json for one in outcomes if isinstance(one, Value)] == list(range(16))


def test_an_sdk_cannot_be_changed_for_the_next_script(sandbox: Opened) -> None:
    sandbox.run(
        "try { client.echo = () => 'mine' } catch {} try { globalThis.client = {} } catch {} return 1"
    )
    assert sandbox.value("return client.echo('the hosts')") == "the hosts"


@pytest.mark.parametrize(
    "forged",
    [
        "return [0, 1, 'stolen', {}]",
        "console.log('],[0,1,\"stolen\",{}],['); return 1",
        'return \'"],[0,1,"stolen",null],["\'',
        "return {toJSON: () => '],[0,1,\"stolen\",{}]'}",
        "JSON.stringify = () => '1],[0,99,\"stolen\",{}'; return 1",
        "String.prototype.toString = () => 'stolen'; throw new Error('],[0,1,\"stolen\",{}]')",
        "return client.other('],[0,1,\"stolen\",{}],[', '],[0,1,\"stolen\",{}],[')",
    ],
)
def test_a_forged_message_is_no_call(sandbox: Opened, forged: str) -> None:
    host = Answering()
    sandbox.run(forged, host)
    assert all(operation != "stolen" for operation, _ in host.asked)


def test_strange_text_runs_or_fails_for_a_reason_of_its_own(sandbox: Opened) -> None:
    for code in (
        "\x00",
        "return '\ud800'",
        "return '\\ud800'",
        "\u2028return 1",
        "return `${'\\u0000'}`",
        "🦀",
    ):
        assert isinstance(sandbox.run(code), Value | ScriptError)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these walls")
def test_the_walls_of_linux_stand_around_every_worker(sandbox: Opened) -> None:
    report = sandbox.pool.hardening()
    assert (report["seccomp"], report["no_new_privs"], report["limits"]) == (True, True, True)
    for pid in sandbox.pids:
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if ":\t" in line
        )
        assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"].strip("0")) == ("2", "1", "")
        if os.getuid() == 0:
            assert "0" not in status["Uid"].split()
            assert Path(f"/proc/{pid}/environ").read_bytes() == b""
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            assert sum(link.startswith("socket:") for link in links) == 1
            # The two modules stay open for reading: their code is mapped from there. So do the images.
            known = ("socket:", "/dev/null", "/memfd:ammeter-images")
            assert all(link.startswith(known) or link.endswith(".cwasm") for link in links)
