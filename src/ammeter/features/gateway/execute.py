"""`execute_script`: a script in, what the agent is told out. Whatever the script does, there is an answer:
the calls it made first, then its logs, then its result or what went wrong and what to do about it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ammeter.engines.compiler import manifest
from ammeter.engines.egress.client import Egress
from ammeter.engines.sandbox.port import (
    Busy,
    CpuExceeded,
    Crashed,
    Deadline,
    Limits,
    MemoryExceeded,
    Outcome,
    OutputExceeded,
    Sandbox,
    Script,
    ScriptError,
    Value,
)
from ammeter.features.gateway import told
from ammeter.features.gateway.credentials import Credentials
from ammeter.features.gateway.files import take_files
from ammeter.features.gateway.fit import fit
from ammeter.features.gateway.hints import hint_for
from ammeter.features.gateway.host import ApiHost, UpstreamCall
from ammeter.features.gateway.instructions import MAX_RESPONSE_BYTES, MAX_RESULT
from ammeter.features.gateway.lanes import Lanes
from ammeter.features.gateway.live import LiveBundle
from ammeter.features.gateway.names import Invented, invented_names
from ammeter.features.telemetry.model import Outcome as Told

MAX_CODE_BYTES = 256 * 1024
_MAX_LOG_CHARS = 8_000
_OUTPUT_BYTES = 16 * 1024 * 1024
"""Of a result on its way out of the sandbox: files are in it, and the agent sees less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    data: dict[str, Any]
    is_error: bool
    outcome: Told
    files: tuple[dict[str, Any], ...] = ()
    error_class: str | None = None
    error_message: str | None = None
    calls: tuple[UpstreamCall, ...] = ()
    invented: tuple[str, ...] = ()
    truncated: bool = False
    cpu_ms: float | None = None
    injected: frozenset[str] = field(default_factory=frozenset, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What running scripts takes, the same for every script of a server."""

    sandbox: Sandbox
    egress: Egress
    lanes: Lanes


async def execute_script(
    workshop: Workshop,
    live: LiveBundle,
    code: str,
    *,
    credentials: Credentials,
    tenant: str,
    read_only: bool = False,
    on_start: Callable[[ApiHost], None] | None = None,
) -> Executed:
    """`on_start` gets the host, whose calls tell how far the script is."""
    client = live.manifest.client_name
    if refused := _refused(live, code):
        return refused
    host = ApiHost(
        live.api,
        egress=workshop.egress,
        credentials=credentials,
        read_only=read_only,
        max_calls=live.manifest.limits.max_calls,
        deadline=time.monotonic() + live.timeout_s,
        lane=workshop.lanes.of(tenant),
    )
    limits = _limits(live.timeout_s, live.manifest.limits)
    script = Script(code=code, sdk=live.sdk_js, client_name=client, limits=limits, tenant=tenant)
    if on_start is not None:
        on_start(host)
    try:
        outcome = await workshop.sandbox.run(script, host)
    finally:
        host.close()
    return _answer(live, outcome, host)


def _refused(live: LiveBundle, code: str) -> Executed | None:
    """Nothing is run where the script cannot be right."""
    if not code.strip():
        return _nothing_ran("empty_script", "The script is empty: send code that returns a value.")
    if (size := len(code.encode("utf-8", "replace"))) > MAX_CODE_BYTES:
        message = f"The script has {size:,} bytes; {MAX_CODE_BYTES:,} are allowed. Put less data into it."
        return _nothing_ran("script_too_large", message)
    invented = invented_names(code, live.manifest.client_name, live.names)
    if not invented:
        return None
    told_names = [_told(live, name) for name in invented]
    message = "Nothing was run, as the script uses names that the SDK does not have. " + " ".join(told_names)
    return _nothing_ran("unknown_name", message, tuple(name.name for name in invented))


def _told(live: LiveBundle, wrong: Invented) -> str:
    text = f"Line {wrong.line}: there is no {wrong.name}."
    if wrong.meant is not None:
        return f"{text} Did you mean {wrong.meant}?"
    client = live.manifest.client_name
    found = live.search.search(wrong.name.partition(".")[2], 3)
    if found.miss or not found.hits:
        return f"{text} Find the right name with search_sdk."
    near = ", ".join(f"{client}.{hit.sdk_name}" for hit in found.hits)
    return f"{text} Perhaps one of {near}?"


def _nothing_ran(kind: str, message: str, invented: tuple[str, ...] = ()) -> Executed:
    error = {"name": kind, "message": message}
    if invented:
        error["hint"] = "Call search_sdk for the right names, then send the whole script again."
    return Executed(
        data={"calls": [], "logs": [], "error": error, "durationMs": 0},
        is_error=True,
        outcome="error",
        error_class=kind,
        error_message=message,
        invented=invented,
    )


@lru_cache(maxsize=256)
def _limits(timeout_s: float, wanted: manifest.Limits) -> Limits:
    wall_ms = round(timeout_s * 1000)
    return Limits(
        wall_ms=wall_ms,
        cpu_ms=min(wall_ms, 5_000),
        memory_bytes=wanted.memory_mb * 1024 * 1024,
        output_bytes=_OUTPUT_BYTES,
        # One more than the host allows: the host's refusal says it better.
        calls=wanted.max_calls * 2 + 1,
        call_bytes=MAX_RESPONSE_BYTES * 2,
        script_bytes=MAX_CODE_BYTES,
    )


def _answer(live: LiveBundle, outcome: Outcome, host: ApiHost) -> Executed:
    calls = tuple(host.calls)
    data: dict[str, Any] = {
        "calls": [told.call_row(call) for call in calls],
        "logs": told.logs_of(outcome, _MAX_LOG_CHARS),
    }
    common: dict[str, Any] = {"calls": calls, "cpu_ms": outcome.cpu_ms, "injected": host.injected}
    duration = round(outcome.duration_ms, 1)
    if isinstance(outcome, Value):
        value, files = take_files(outcome.json)
        data["result"], cuts = fit(value, MAX_RESULT)
        if cuts:
            data["truncated"] = told.cuts(cuts)
        if diagnostics := told.diagnostics(outcome, calls):
            data["diagnostics"] = diagnostics
        data["durationMs"] = duration
        return Executed(data=data, is_error=False, outcome="ok", files=files, truncated=bool(cuts), **common)
    error = _error(live, outcome, calls)
    data["error"] = error
    data["durationMs"] = duration
    return Executed(
        data=data,
        is_error=True,
        outcome="busy" if isinstance(outcome, Busy) else "error",
        error_class=error["name"],
        error_message=error["message"],
        invented=told.invented_in(error["message"], live.manifest.client_name),
        **common,
    )


def _error(live: LiveBundle, outcome: Outcome, calls: tuple[UpstreamCall, ...]) -> dict[str, Any]:
    client = live.manifest.client_name
    if isinstance(outcome, ScriptError):
        error: dict[str, Any] = {"name": outcome.name, "message": outcome.message[:4_000]}
        places = {"line": outcome.line, "column": outcome.column, "sourceLine": outcome.source_line}
        error |= {name: value for name, value in places.items() if value is not None}
        if hint := hint_for(outcome.name, outcome.message, client):
            error["hint"] = hint
        return error
    name, message, hint = _ended(live, outcome)
    if state := told.landed(calls):
        message = f"{message} {state}"
    return {"name": name, "message": message, "hint": hint}


def _ended(live: LiveBundle, outcome: Outcome) -> tuple[str, str, str]:
    if isinstance(outcome, Deadline) and outcome.stalled:
        return (
            "stalled",
            "The script waits for something that can never happen: a promise that nobody settles.",
            "Await calls and timers only; resolve every promise that you make.",
        )
    if isinstance(outcome, Deadline):
        return (
            "timeout",
            f"The script ran longer than {live.timeout_s:g} s and was stopped.",
            "Do less in one script: fewer pages, fewer calls in a row, calls at once with Promise.all.",
        )
    if isinstance(outcome, CpuExceeded):
        return (
            "cpu_limit",
            "The script computed for too long without waiting and was stopped.",
            "Look for a loop that does not end; let the API filter and sort.",
        )
    if isinstance(outcome, MemoryExceeded):
        megabytes = live.manifest.limits.memory_mb
        return (
            "memory_limit",
            f"The script needed more than {megabytes} MB of memory and was stopped.",
            "Keep less at once: handle pages one by one and keep only the fields you need.",
        )
    if isinstance(outcome, OutputExceeded):
        return (
            "output_limit",
            "The result is too large to leave the sandbox.",
            "Return a summary or the few fields you need.",
        )
    if isinstance(outcome, Busy):
        return (
            "busy",
            "All sandboxes are busy; nothing was run.",
            "Try the same script again in a few seconds.",
        )
    reason = outcome.reason if isinstance(outcome, Crashed) else type(outcome).__name__
    return (
        "sandbox_failed",
        f"The sandbox failed ({reason}); the script did not finish.",
        "Check what the calls above have changed before you try again.",
    )
