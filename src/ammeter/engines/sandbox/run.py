"""One script as the host sees it: its guest's messages come in, host calls, timers and logs are kept within
limits, and one outcome goes out.

Everything a guest says is taken as said by the script itself: shapes, sizes and counts are checked here,
whatever the guest's own prelude promised. Processes and sockets are absent: two functions stand for them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ammeter.engines.sandbox.code import Reading, Refusal, readings
from ammeter.engines.sandbox.lines import Lines, Position
from ammeter.engines.sandbox.port import (
    Call,
    CpuExceeded,
    Crashed,
    Deadline,
    Ended,
    Host,
    HostError,
    Json,
    Log,
    MemoryExceeded,
    Outcome,
    OutputExceeded,
    Script,
    ScriptError,
    Value,
)

_CALL, _LOG, _TIMER, _DONE, _FAIL, _REJECTED = range(6)
_ANSWERED, _REFUSED, _TIMER_DUE = range(3)
_LEVELS = ("log", "info", "debug", "warn", "error")
_OUT_OF_MEMORY = "out of memory"
_MAX_TIMER_S = 24 * 3600.0
_UNLOADED = "could not load module '"
# JSON writes a surrogate that stands alone as an escape, and no other; UTF-8 has no room for it.
_LONE_SURROGATE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

_log = logging.getLogger(__name__)


class _Forged(Exception):
    """A message that the prelude does not send."""


@dataclass(slots=True, kw_only=True)
class _Made:
    operation_id: str
    began_at: float
    ended: Literal["answered", "refused", "in_flight"] = "in_flight"
    duration_ms: float = 0.0


class Run:
    def __init__(self, script: Script, host: Host, *, deliver: Callable[[bytes], None]) -> None:
        self._script, self._host, self._send = script, host, deliver
        self._loop = asyncio.get_running_loop()
        self._began_at = time.perf_counter()
        self._cpu_us = 0
        self._made: list[_Made] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._timers_set = 0
        self._logs: list[Log] = []
        self._log_bytes_left = script.limits.log_bytes
        self._logs_cut = False
        self._outbox: list[bytes] = []
        self._sent = 0
        self._source_map: str | None = None
        self._reading: int | None = None
        self._is_full = False
        self._rejected: list[tuple[str, str, str]] = []
        self.outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._deadline = self._loop.call_later(
            script.limits.wall_ms / 1000, lambda: self._end(Deadline(**self._so_far()))
        )

    def close(self) -> None:
        self._deadline.cancel()
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()

    def mapped(self, source_map: bytes) -> None:
        self._source_map = source_map.decode("utf-8", "replace")

    def unparsed(self, told: Json) -> None:
        """The last reading's error is the one to show."""
        position = None
        if told["line"] is not None:
            position = self._lines(None).unwrapped(told["line"], told["column"] or 1)
        self._end(self._script_error("SyntaxError", told["message"], position, ""))

    def stopped(self, reason: str, detail: str, cpu_us: int) -> None:
        self._cpu_us = max(cpu_us, self._cpu_us)
        so_far = self._so_far()
        match reason:
            case "cpu":
                self._end(CpuExceeded(**so_far))
            case "memory":
                self._end(MemoryExceeded(**so_far))
            case "output":
                self._end(OutputExceeded(**so_far))
            case "stack":
                told = "Maximum call stack size exceeded, or a value is nested too deeply."
                self._end(self._script_error("RangeError", told, None, ""))
            case _:
                self._end(Crashed(reason=detail, **so_far))

    def crashed(self, reason: str) -> None:
        self._end(Crashed(reason=reason, **self._so_far()))

    def said(
        self, cpu_us: int, taken: int, content: bytes, *, reading: int = 0, is_full: bool = False
    ) -> None:
        """One step's messages, in order; `taken` of our deliveries went into the steps so far."""
        if self.outcome.done():
            return
        self._cpu_us, self._reading, self._is_full = cpu_us, reading, is_full
        if b"\\u" in content:
            content = _LONE_SURROGATE.sub(rb"\1\\ufffd", content)
        try:
            messages = json.loads(content)
            if not isinstance(messages, list):
                raise _Forged
            for message in messages:
                self._take(message, len(content))
        except RecursionError:
            told = "The result, or a call's arguments, are nested too deeply."
            self._end(self._script_error("RangeError", told, None, ""))
        except (_Forged, ValueError, TypeError, IndexError, KeyError):
            self._end(Crashed(reason="the guest sent what no script can send", **self._so_far()))
        awaited = self._tasks or self._timers or self._outbox or taken < self._sent
        if not self.outcome.done() and not awaited:
            self._end(Deadline(stalled=True, **self._so_far()))

    def _take(self, message: Any, size: int) -> None:
        if self.outcome.done():
            return
        match message:
            case [int() as kind, int() as number, str() as operation, arguments] if kind == _CALL:
                self._call(number, operation, arguments)
            case [int() as kind, str() as level, str() as text] if kind == _LOG and level in _LEVELS:
                self._keep_log(level, text)
            case [int() as kind, int() as number, int() | float() as delay_ms] if kind == _TIMER:
                self._set_timer(number, delay_ms)
            case [int() as kind, value] if kind == _DONE:
                self._finish(value, size)
            case [int() as kind, [str() as name, str() as told, str() as stack]] if kind == _FAIL:
                self._fail(name, told, stack)
            case [int() as kind, list() as told] if kind == _REJECTED:
                self._rejected = [(name, text, stack) for name, text, stack in map(_texts, told)]
            case _:
                raise _Forged

    def _call(self, number: int, operation: str, arguments: Json) -> None:
        if len(self._made) >= self._script.limits.calls:
            raise _Forged
        made = _Made(operation_id=operation, began_at=time.perf_counter())
        self._made.append(made)
        task = self._loop.create_task(self._answer(number, made, arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, number: int, made: _Made, arguments: Json) -> None:
        try:
            answer = await self._host.call(made.operation_id, arguments)
        except Exception:  # noqa: BLE001
            # The script, and with it the loop, outlives a host that fails; the script is told no more.
            _log.exception("The host failed in %s", made.operation_id)
            answer = HostError(message="The call failed inside Ammeter.", name="InternalError")
        made.duration_ms = (time.perf_counter() - made.began_at) * 1000
        content = _written(answer)
        if len(content) > self._script.limits.call_bytes:
            answer = HostError(message=f"The answer is too large: {len(content)} bytes.", name="RangeError")
            content = _written(answer)
        refused = isinstance(answer, HostError)
        made.ended = "refused" if refused else "answered"
        self._deliver(b"[%d,%d,%s]" % (number, _REFUSED if refused else _ANSWERED, content))

    def _set_timer(self, number: int, delay_ms: float) -> None:
        self._timers_set += 1
        if self._timers_set > self._script.limits.timers or number in self._timers:
            raise _Forged
        delay_s = min(max(delay_ms / 1000, 0.001), _MAX_TIMER_S)

        def due() -> None:
            del self._timers[number]
            self._deliver(b"[%d,%d]" % (number, _TIMER_DUE))

        self._timers[number] = self._loop.call_later(delay_s, due)

    def _deliver(self, event: bytes) -> None:
        if not self._outbox:
            # Answers that come at once travel together.
            self._loop.call_soon(self._flush)
        self._outbox.append(event)

    def _flush(self) -> None:
        if not self.outcome.done():
            self._sent += 1
            self._send(b",".join(self._outbox))
        self._outbox.clear()

    def _keep_log(self, level: str, text: str) -> None:
        content = text.encode("utf-8", "replace")
        if len(content) > self._log_bytes_left:
            self._logs_cut = True
            content = content[: self._log_bytes_left]
        if content or not self._logs_cut:
            # An empty line costs too, or there could be endlessly many.
            self._log_bytes_left = max(self._log_bytes_left - len(content) - 1, 0)
            self._logs.append(Log(level=level, text=content.decode("utf-8", "ignore")))

    def _finish(self, value: Json, size: int) -> None:
        limit = self._script.limits.output_bytes
        if size > limit and len(_written(value)) > limit:
            self._end(OutputExceeded(**self._so_far()))
        else:
            self._end(Value(json=value, **self._so_far()))

    def _fail(self, name: str, message: str, stack: str) -> None:
        # With no memory left for an error the engine throws null.
        is_null = self._is_full and (name, message) == ("Thrown", "null")
        if is_null or (name == "InternalError" and message == _OUT_OF_MEMORY):
            self._end(MemoryExceeded(**self._so_far()))
            return
        lines = self._lines(self._source_map)
        at = lines.first(stack, name)
        if message.startswith(_UNLOADED):
            message = (
                f"import() is not available: a script has the global `{self._script.client_name}` and plain"
                f" JavaScript, and no modules ({message})."
            )
            at = at or lines.importing()
        self._end(self._script_error(name, message, at, lines.stack(stack)))

    def _script_error(self, name: str, message: str, at: Position | None, stack: str) -> ScriptError:
        if name == "SyntaxError" and at and self._lines(None).is_at(at, "@"):
            message = f"Decorators are not supported: {message}"
        return ScriptError(
            name=name[:200],
            message=message[:4000],
            line=at.line if at else None,
            column=at.column if at else None,
            source_line=self._lines(None).source_line(at.line if at else None),
            stack=stack[:4000],
            **self._so_far(),
        )

    def _lines(self, source_map: str | None) -> Lines:
        found = readings(self._script.code, self._script.client_name)
        if isinstance(found, Refusal):
            # It tells the user's own places.
            reading = Reading(source="", prefix=0)
        else:
            reading = found[-1 if self._reading is None else min(self._reading, len(found) - 1)]
        return Lines(self._script.code, reading, source_map)

    def _so_far(self) -> dict[str, Any]:
        now = time.perf_counter()
        calls = tuple(
            Call(
                operation_id=made.operation_id,
                ended=made.ended,
                duration_ms=(now - made.began_at) * 1000 if made.ended == "in_flight" else made.duration_ms,
            )
            for made in self._made
        )
        for name, text, stack in self._rejected:
            at = self._lines(self._source_map).first(stack, name)
            where = f" (line {at.line})" if at else ""
            told = f"A promise was rejected and nothing waited for it: {name}: {text[:1000]}{where}"
            self._keep_log("error", told)
        self._rejected = []
        return {
            "calls": calls,
            "logs": tuple(self._logs),
            "logs_cut": self._logs_cut,
            "duration_ms": (now - self._began_at) * 1000,
            "cpu_ms": self._cpu_us / 1000,
        }

    def _end(self, outcome: Outcome) -> None:
        assert isinstance(outcome, Ended)
        if not self.outcome.done():
            self.outcome.set_result(outcome)


def _texts(told: Any) -> tuple[str, str, str]:
    match told:
        case [str() as name, str() as text, str() as stack]:
            return name, text, stack
    raise _Forged


def _written(answer: Json | HostError) -> bytes:
    if isinstance(answer, HostError):
        answer = {**answer.properties, "name": answer.name, "message": answer.message}
    return json.dumps(answer, separators=(",", ":")).encode()
