"""Running a script that nobody trusts, as the rest of Ammeter sees it: in go its text, the client's SDK and
limits, and a host that answers its calls; out comes one of a closed set of outcomes.

A script sees plain JavaScript and one name of ours, its client. Whatever it does, `run` returns an outcome;
only a mistake of the caller raises. HTTP, credentials, policies and truncation are absent: a host call is
an operation's id and JSON, and what it means is the host's affair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Json = Any
"""What `json.loads` gives."""

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    wall_ms: int = 30_000
    cpu_ms: int = 5_000
    memory_bytes: int = 128 << 20
    output_bytes: int = 1 << 20
    """Of the result, as JSON."""
    log_bytes: int = 64 << 10
    calls: int = 50
    call_bytes: int = 10 << 20
    """Of one call's arguments, and of its answer."""
    timers: int = 2_000
    script_bytes: int = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    code: str
    """TypeScript or JavaScript in any shape that `code.py` reads."""
    sdk: str
    """JavaScript whose value is a function `(call) => client`; `call(operationId, arguments)` gives a
    promise of the host's answer. Loaded once per text, not once per script."""
    client_name: str = "client"
    limits: Limits = field(default_factory=Limits)
    tenant: str = ""
    """Whose script it is: each has a share of the sandbox, and those who wait are served in turn."""

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.client_name):
            raise ValueError(f"{self.client_name!r} cannot be the name of a client in JavaScript.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostError:
    """An answer that the script sees as a thrown Error with these properties."""

    message: str
    name: str = "Error"
    properties: Mapping[str, Json] = field(default_factory=dict)


class Host(Protocol):
    async def call(self, operation_id: str, arguments: Json) -> Json | HostError:
        """Both arguments come from the script and are to be checked. Many calls may be under way at
        once; a call is cancelled when its script ends first."""
        ...


@runtime_checkable
class RepeatableHost(Host, Protocol):
    """A host that can tell whether a script whose worker died may be started anew."""

    def begin_again(self) -> bool:
        """Forget the calls so far, if none of them may have changed anything; False where one may have."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    operation_id: str
    ended: Literal["answered", "refused", "in_flight"]
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What is known of every script, however it ended."""

    calls: tuple[Call, ...] = ()
    logs: tuple[Log, ...] = ()
    logs_cut: bool = False
    duration_ms: float = 0.0
    cpu_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(Ended):
    json: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptError(Ended):
    """The script does not parse, or threw. Places are the user's, counted from 1, where they are known."""

    name: str
    message: str
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline(Ended):
    stalled: bool = False
    """True where nothing was left that could have ended the wait: it was not waited out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuExceeded(Ended):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExceeded(Ended):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputExceeded(Ended):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed(Ended):
    """The sandbox failed the script: its worker died, or the SDK does not load."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(Ended):
    """Nothing was run; trying again later may help."""


Outcome = Value | ScriptError | Deadline | CpuExceeded | MemoryExceeded | OutputExceeded | Crashed | Busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """How the sandbox stands, and what it did since it was started."""

    running: int = 0
    waiting: int = 0
    workers: int = 0
    """Alive."""
    restarts: int = 0
    """Workers that were replaced: lost, silent or retired."""
    scripts: int = 0
    """That were begun."""
    busy: int = 0
    """That were told `Busy`."""


class Sandbox(Protocol):
    async def run(self, script: Script, host: Host) -> Outcome: ...

    def hardening(self) -> Mapping[str, Json]:
        """Which of the system's walls stand around the workers, for people to read."""
        ...
