"""A server behind the pipes of a process, as streams of messages that the SDK speaks through.

The process gets exactly the command, environment and folder of its target, and a process group of its own.
Lines have a bounded length. At the end its input is closed, and what is left of the group is killed. What it
writes to standard error is kept, the last of it, to tell why it ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from ammeter.engines.mcp_client.port import SourceFault, Target

_TAIL_BYTES = 4_000
_PIECE = 64 * 1024
_KILLED_AFTER_TERM_S = 2.0
_LAST_BYTES_S = 1.0
_LOOK_S = 0.1


class Pipes:
    """The process of one connection, and what it said at its end."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._tail = b""
        self._process: asyncio.subprocess.Process | None = None
        self.fault: SourceFault | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def last_words(self) -> str:
        text = self._tail.decode("utf-8", "replace")
        for value in sorted(self._target.secrets, key=len, reverse=True):
            text = text.replace(value, "***")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-5:])[-600:]

    def why_ended(self) -> SourceFault:
        if self.fault is not None:
            return self.fault
        code = self._process.returncode if self._process else None
        words = self.last_words()
        said = f" It said: {words}" if words else " It said nothing."
        ending = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        return SourceFault("unreachable", f"The process ended{ending} before it answered.{said}")

    async def kill(self) -> None:
        """See to it that the process is gone, however its session ended."""
        if self._process is not None:
            await self._end(self._process)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        process = self._process = await self._start()
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(self._read(process, to_session)),
                tasks.create_task(self._write(process, from_session)),
                tasks.create_task(self._listen(process)),
                tasks.create_task(self._watch(process)),
            ]
            try:
                yield from_server, to_server
            finally:
                for stream in (from_server, to_server, to_session, from_session):
                    stream.close()
                await asyncio.shield(self._end(process))
                # All who held the pipes are gone: their ends come now, and close them.
                await asyncio.wait(running, timeout=_LAST_BYTES_S)
                for task in running:
                    task.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        target = self._target
        try:
            return await asyncio.create_subprocess_exec(
                *target.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(target.env),
                cwd=target.cwd,
                start_new_session=True,
            )
        except OSError as error:
            program = target.command[0] if target.command else ""
            self.fault = SourceFault("unreachable", f"{program!r} cannot be started: {error.strerror}.")
            raise self.fault from None

    async def _read(
        self,
        process: asyncio.subprocess.Process,
        to_session: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        assert process.stdout is not None
        held = bytearray()
        limit = self._target.limits.message_bytes
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with to_session:
                while piece := await process.stdout.read(_PIECE):
                    *lines, rest = (bytes(held) + piece).split(b"\n") if b"\n" in piece else (held + piece,)
                    held = bytearray(rest)
                    if len(held) > limit or any(len(line) > limit for line in lines):
                        self.fault = SourceFault(
                            "too_large", f"The server's answer is over {limit // (1024 * 1024)} MiB."
                        )
                        break
                    for line in lines:
                        if line.strip():
                            await to_session.send(_parsed(line))
        # A process that is blocked on a full pipe cannot see that its input has ended.
        while await process.stdout.read(_PIECE):
            pass

    async def _write(
        self, process: asyncio.subprocess.Process, from_session: MemoryObjectReceiveStream[SessionMessage]
    ) -> None:
        assert process.stdin is not None
        with suppress(anyio.ClosedResourceError, OSError):
            async with from_session:
                async for message in from_session:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(line.encode() + b"\n")
                    await process.stdin.drain()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while piece := await process.stderr.read(_PIECE):
            self._tail = (self._tail + piece)[-_TAIL_BYTES:]

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """A child that outlives the process would hold its pipes open, and nobody would see its end."""
        while process.returncode is None:  # noqa: ASYNC110  its own wait() waits for the pipes too
            await asyncio.sleep(_LOOK_S)
        _signal_group(process.pid, signal.SIGKILL)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        process.stdin.close()
        for goodbye in (None, signal.SIGTERM, signal.SIGKILL):
            if goodbye is not None:
                _signal_group(process.pid, goodbye)
            grace_s = self._target.limits.close_s if goodbye is None else _KILLED_AFTER_TERM_S
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await process.wait()
                break
        # What the process left behind in its group goes too; what left the group may still hold the pipes.
        _signal_group(process.pid, signal.SIGKILL)
        transport = getattr(process, "_transport", None)
        if transport is not None and process.returncode is not None:
            asyncio.get_running_loop().call_later(_LAST_BYTES_S, transport.close)


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
