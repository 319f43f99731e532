"""The guest has no imports, and its messages are taken for what they are: a script's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from ammeter.engines.sandbox.engine import guest_engine, prepare
from ammeter.engines.sandbox.guest import GuestUnknown, seal
from ammeter.engines.sandbox.port import Crashed, Deadline, Limits, Outcome, Script, ScriptError, Value
from ammeter.engines.sandbox.run import Run
from tests.engines.sandbox.parts import SDK, Answering


def test_the_guest_that_workers_load_imports_nothing(sandbox_cache: Path) -> None:
    module = wasmtime.Module.deserialize_file(guest_engine(), str(prepare(sandbox_cache).guest))
    assert list(module.imports) == []
    assert {"launch", "deliver", "reserve", "memory"} <= {str(export.name) for export in module.exports}


@pytest.mark.parametrize("binary", [b"", b"\0asm\1\0\0\0", b"not wasm at all"])
def test_another_binary_is_refused(binary: bytes) -> None:
    with pytest.raises((GuestUnknown, KeyError)):
        seal(binary)


async def told(*contents: bytes, host: Answering) -> Outcome:
    limits = Limits(wall_ms=300, calls=3, timers=3, log_bytes=50, output_bytes=100)
    run = Run(Script(code="x", sdk=SDK, limits=limits), host, deliver=lambda _: None)
    for content in contents:
        run.said(1, 0, content)
    try:
        return await run.outcome
    finally:
        run.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b"null",
        b"[1]",
        b"[[]]",
        b"[[99,1]]",
        b'[["0",1,"echo",1]]',
        b'[[0,"1","echo",1]]',
        b"[[0,1,2,3]]",
        b'[[0,1,"echo"]]',
        b'[[1,"fatal","x"]]',
        b'[[1,"log",{}]]',
        b'[[2,1,"soon"]]',
        b"[[2,7,1],[2,7,1]]",
        b'[[0,1,"a",1],[0,2,"a",1],[0,3,"a",1],[0,4,"a",1]]',
        b"[[2,1,1],[2,2,1],[2,3,1],[2,4,1]]",
        b'[[4,["Error","x"]]]',
        b"[[4,[1,2,3]]]",
        b"[[3]]",
        b"[NaN",
    ],
)
def test_a_message_that_no_prelude_sends_ends_the_run(content: bytes) -> None:
    assert isinstance(asyncio.run(told(content, host=Answering())), Crashed)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"[[3,1],[3,2]]", Value),
        (b'[[4,["E","m","at script.ts:999999999999:1"]]]', ScriptError),
        (b'[[4,["E","m","script.ts:0:0 script.ts:-1:5"]]]', ScriptError),
        (b"[[3,%s%s]]" % (b"[" * 5000, b"]" * 5000), ScriptError | Crashed),
        (b'[[1,"log","%s"]]' % (b"x" * 500), Deadline),
        (b"[[2,-5,-1e308],[2,6,1e308]]", Deadline),
    ],
)
def test_a_message_that_a_prelude_could_send_is_kept_within_limits(content: bytes, kind: Any) -> None:
    outcome = asyncio.run(told(content, host=Answering()))
    assert isinstance(outcome, kind), outcome
    assert sum(len(log.text) for log in outcome.logs) <= 50


def test_nothing_is_heard_after_the_end() -> None:
    host = Answering()
    outcome = asyncio.run(told(b'[[3,1],[0,1,"late",1]]', b'[[0,2,"later",1]]', host=host))
    assert isinstance(outcome, Value)
    assert host.asked == []
