"""One worker process from the outside: started with nothing of ours in it, spoken to over one socket, ended
and reaped. In go frames for it, out go its frames to the runs they belong to.

The child gets an empty environment, no descriptor but its socket and an isolated interpreter. Choosing a
worker and replacing it are absent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import wasmtime

import ammeter
from ammeter.engines.sandbox import wire
from ammeter.engines.sandbox.run import Run
from ammeter.engines.sandbox.wire import ToPool, ToWorker

_BOOT = "import sys; sys.path[:0] = sys.argv[1:]; from ammeter.engines.sandbox.worker import main; main()"

_ALONG_S = 0.01

_log = logging.getLogger(__name__)


class WorkerLost(Exception):
    """The worker ended before it was ready."""


async def start_worker(setup: bytes) -> Link:
    ours, theirs = socket.socketpair()
    paths = [str(Path(module.__file__ or "").parents[1]) for module in (ammeter, wasmtime)]
    try:
        process = subprocess.Popen(  # noqa: ASYNC220  a fork of milliseconds, rare
            [sys.executable, "-I", "-S", "-B", "-c", _BOOT, *paths],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    ours.setblocking(False)
    link = Link(process)
    try:
        await asyncio.get_running_loop().create_connection(lambda: link, sock=ours)
        link.send(0, ToWorker.SETUP, setup)
        await link.ready
    except BaseException:
        await link.close()
        raise
    return link


class Link(asyncio.Protocol):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.runs: dict[int, Run] = {}
        self.images: set[int] = set()
        self.served = 0
        self.report: dict[str, Any] = {}
        self.lost = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._process = process
        self._reader = wire.FrameReader()
        self._transport: asyncio.Transport | None = None
        self._heard_at = time.monotonic()
        self._unhurried = b""
        self._patience: asyncio.TimerHandle | None = None

    @property
    def is_lost(self) -> bool:
        return self.lost.is_set()

    @property
    def pid(self) -> int:
        return self._process.pid

    def silent_s(self) -> float:
        return time.monotonic() - self._heard_at

    def send(self, number: int, kind: ToWorker, payload: bytes = b"") -> None:
        self._write(wire.frame(number, kind, payload))

    def send_along(self, number: int, kind: ToWorker) -> None:
        """With the next message, or alone after a while: to wake the worker costs more than the message."""
        if self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(_ALONG_S, self._write, b"")
        self._unhurried += wire.frame(number, kind)

    def _write(self, content: bytes) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self._transport is not None and not self.is_lost:
            self._transport.write(self._unhurried + content)
            self._unhurried = b""

    def lose(self, reason: str) -> None:
        """The worker is of no more use; the scripts inside it end."""
        if self.is_lost:
            return
        self.lost.set()
        self._process.kill()
        if self._transport is not None:
            self._transport.abort()
        if not self.ready.done():
            self.ready.set_exception(WorkerLost(reason))
        for run in list(self.runs.values()):
            run.crashed(f"The sandbox's worker was lost: {reason}.")

    async def close(self) -> None:
        self.lose("it was closed")
        if self.ready.done() and not self.ready.cancelled():
            self.ready.exception()
        await asyncio.to_thread(self._process.wait)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: uvloop's transports are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lose("it ended")

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        try:
            for number, kind, payload in self._reader.feed(data):
                self._hear(number, kind, payload)
        except (wire.FrameTooLarge, ValueError, KeyError, TypeError) as error:
            # The walls around the worker hold; a worker that speaks wrongly is no longer ours.
            _log.error("A sandbox worker sent what no worker sends: %r", error)
            self.lose("it sent a wrong message")

    def _hear(self, number: int, kind: int, payload: bytes) -> None:
        if kind == ToPool.READY:
            self.report = json.loads(payload)
            if not self.ready.done():
                self.ready.set_result(None)
        elif kind == ToPool.FAULT:
            self.lose(payload.decode("utf-8", "replace"))
        run = self.runs.get(number)
        if run is None:
            return
        if kind == ToPool.SAID:
            cpu_us, taken, flags = wire.SAID.unpack_from(payload)
            content = payload[wire.SAID.size :]
            run.said(cpu_us, taken, content, reading=flags & ~wire.FULL, is_full=bool(flags & wire.FULL))
        elif kind == ToPool.STOPPED:
            told = json.loads(payload)
            run.stopped(told["reason"], told["detail"], told["cpu_us"])
        elif kind == ToPool.UNPARSED:
            run.unparsed(json.loads(payload))
        elif kind == ToPool.MAP:
            run.mapped(payload)
