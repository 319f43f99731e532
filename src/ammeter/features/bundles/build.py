"""From an upload to an artifact: read, compile, prove the examples, index for search, pack; and the diff
of two artifacts.

Each upload has a bench, which is a process of its own for as long as the upload takes; the proof runs in
this process's sandbox. What the bench has read it keeps for compiling: a description travels once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ammeter.base.errors import CompileFailed, Detail
from ammeter.engines.compiler.bundle import Bundle, Compilation
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.diff import ApiDiff
from ammeter.engines.compiler.model import Finding
from ammeter.engines.sandbox.port import Sandbox
from ammeter.features.bundles.content import Content
from ammeter.features.bundles.prove import prove
from ammeter.features.bundles.workshop import Seat, Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a description is made of; None where it cannot be read, and the findings say why."""

    content: Content | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    bundle: Bundle | None
    artifact: bytes
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    diff: ApiDiff
    unread: str | None = None
    """Why the older of the two could not be read; everything then counts as added."""


class Builder:
    """At most `at_once` benches; at most `waiting` more wait for one, the rest are told `Unavailable`."""

    def __init__(
        self, open_sandbox: Callable[[], Awaitable[Sandbox]], *, at_once: int = 2, waiting: int = 16
    ) -> None:
        self._open_sandbox = open_sandbox
        self._workshop = Workshop(seats=at_once, waiting=waiting)

    @asynccontextmanager
    async def bench(self) -> AsyncIterator[Bench]:
        async with self._workshop.seat() as seat:
            yield Bench(seat, self._open_sandbox)

    def close(self) -> None:
        self._workshop.close()


class Bench:
    def __init__(self, seat: Seat, open_sandbox: Callable[[], Awaitable[Sandbox]]) -> None:
        self._seat = seat
        self._open_sandbox = open_sandbox

    async def read(self, description: Description) -> Reading:
        try:
            return await self._seat.run(_read, description)
        except RecursionError:
            # JSON of a thousand levels can be read by Python, but not sent to another process.
            details = [Detail(path="", message="too_deep: The document is nested too deeply.")]
            raise CompileFailed("The description gives no bundle; see details.", details=details) from None

    async def build(self) -> Built:
        """A bundle of what was read last."""
        compiled: Compilation = await self._seat.run(_compile_read)
        if compiled.bundle is None:
            return Built(bundle=None, artifact=b"", findings=compiled.findings)
        bundle, unproven = await prove(compiled.bundle, await self._open_sandbox())
        bundle, artifact = await self._seat.run(_finish, bundle)
        return Built(bundle=bundle, artifact=artifact, findings=(*compiled.findings, *unproven))

    async def diff(self, old: bytes | None, new: bytes) -> Difference:
        return await self._seat.run(_diff, old, new)


# What the bench's process is asked for. The compiler is imported there, not here.


def _read(description: Description) -> Reading:
    from ammeter.features.bundles import bench_work

    content, findings = bench_work.read(description)
    return Reading(content=content, findings=findings)


def _compile_read() -> Compilation:
    from ammeter.features.bundles import bench_work

    return bench_work.compile_read()


def _finish(bundle: Bundle) -> tuple[Bundle, bytes]:
    from ammeter.features.bundles import bench_work

    return bench_work.finish(bundle)


def _diff(old: bytes | None, new: bytes) -> Difference:
    from ammeter.features.bundles import bench_work

    diff, unread = bench_work.diff(old, new)
    return Difference(diff=diff, unread=unread)
