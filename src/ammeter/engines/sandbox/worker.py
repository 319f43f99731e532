"""The process that runs scripts: one thread, one socket, many instances. It loads everything, raises its
walls (`harden.py`) and only then hears of scripts. In come frames, out go frames.

Time is shared in slices; a script that ends, is stopped or is cancelled loses its instance, which is never
used again. What a guest says is passed on unread. The host's calls, clocks and outcomes are absent.
"""

from __future__ import annotations

import gc
import heapq
import json
import os
import select
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import wasmtime

from ammeter.engines.sandbox import wire
from ammeter.engines.sandbox.code import Refusal, readings
from ammeter.engines.sandbox.engine import guest_engine, stripper_engine
from ammeter.engines.sandbox.guest import GuestUnknown
from ammeter.engines.sandbox.harden import harden
from ammeter.engines.sandbox.image import Layout, base_image
from ammeter.engines.sandbox.images import Images, Loaded, Loading
from ammeter.engines.sandbox.instance import Instance, Stopped
from ammeter.engines.sandbox.shelf import open_shelf
from ammeter.engines.sandbox.typescript import NotTypeScript, Stripper
from ammeter.engines.sandbox.wire import ToPool, ToWorker

# Where there is no memory for another instance, it is tried again after so long.
_STARVED_MS = 100
# Under load there is no time for housekeeping; then so many may wait to be closed.
_ENDED = 8
_LARGE_BYTES = 16 << 20
_FUEL = 1 << 50


@dataclass(slots=True, kw_only=True)
class _Launch:
    """A script that waits for its types to be stripped, or for its SDK."""

    number: int
    image: int
    text: str
    memory_bytes: int
    cpu_ms: int
    answer_bytes: int


@dataclass(slots=True, kw_only=True)
class _Running:
    instance: Instance
    cpu_limit_us: int
    answer_bytes: int
    reading: int
    cpu_us: int = 0
    memory_bytes: int = 0
    waiting: list[bytes] = field(default_factory=list)
    taken: int = 0
    """Deliveries that went into the steps so far."""


class Worker:
    def __init__(self, channel: socket.socket, setup: dict[str, Any]) -> None:
        self._channel = channel
        engine = guest_engine()
        module = wasmtime.Module.deserialize_file(engine, setup["guest"])
        self._images = Images(base_image(engine, module, Layout(**setup["layout"])), open_shelf())
        tools = stripper_engine()
        self._stripper = Stripper(tools, wasmtime.Module.deserialize_file(tools, setup["stripper"]))
        self._memory_bytes: int = setup["memory_bytes"]
        self._memory_used = 0
        self._launches: list[tuple[int, int, _Launch]] = []
        self._unloaded: list[_Launch] = []
        self._forgotten: set[int] = set()
        self._running: dict[int, _Running] = {}
        self._turns: deque[int] = deque()
        self._ended: list[Instance] = []
        self._is_starved = False
        self._out = bytearray()

    def warm_up(self) -> None:
        """Everything is used once, so that nothing has to be opened, loaded or compiled behind the walls."""
        options = {"calls": 1, "logChars": 1, "timers": 1, "clientName": "client"}
        self._images.load(0, {"sdk": "() => ({})", "options": options})
        limits = {"memory_bytes": 64 << 20, "cpu_ms": 5_000, "answer_bytes": 1024}
        for number, text in ((1, "enum A { B }\nreturn A.B satisfies number"), (2, "const a: = 1")):
            self._queue(_Launch(number=number, image=0, text=text, **limits))
        while self._is_busy:
            self._work()
        if b"[3,0]" not in self._out:
            raise GuestUnknown(f"the sandbox does not work: {bytes(self._out[:200])!r}")
        self._out.clear()
        for number in list(self._running):
            self._drop(number)
        self._tidy()
        self._ended += self._images.forget(0)
        self._close_ended()

    def serve(self, report: dict[str, Any]) -> None:
        self._send(0, ToPool.READY, json.dumps(report).encode())
        reader, poller = wire.FrameReader(), select.poll()
        poller.register(self._channel, select.POLLIN)
        while True:
            self._flush()
            poller.modify(self._channel, select.POLLIN | (select.POLLOUT if self._out else 0))
            if poller.poll(self._patience_ms()):
                data = self._receive()
                if data == b"":
                    return
                for number, kind, payload in reader.feed(data or b""):
                    self._hear(number, kind, payload)
            elif not self._is_busy:
                self._tidy()
            self._work()

    @property
    def _is_busy(self) -> bool:
        return bool(self._turns or self._launches or self._images.is_loading)

    def _patience_ms(self) -> int | None:
        if self._is_busy:
            return 0
        if not self._ended and self._images.lacking() is None:
            return None
        # At once: caches are warm, and seldom does a script come within the tenth of a millisecond it takes.
        return _STARVED_MS if self._is_starved else 0

    def _work(self) -> None:
        """A slice of each kind; between two of them the channel is heard."""
        if self._launches:
            launch = heapq.heappop(self._launches)[2]
            self._launch(launch)
            if launch.image in self._forgotten:
                self._forget(launch.image)
        if self._turns:
            self._take_turn()
        if self._images.is_loading and (number := self._images.go_on()) is not None:
            waiting, self._unloaded = self._unloaded, []
            for launch in waiting:
                if launch.image == number:
                    self._queue(launch)
                else:
                    self._unloaded.append(launch)

    def _flush(self) -> None:
        if self._out:
            try:
                sent = self._channel.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]

    def _receive(self) -> bytes | None:
        try:
            return self._channel.recv(1 << 18)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def _hear(self, number: int, kind: int, payload: bytes) -> None:
        if kind == ToWorker.RUN:
            image, memory_bytes, cpu_ms, answer_bytes = wire.RUN.unpack_from(payload)
            limits = {"memory_bytes": memory_bytes, "cpu_ms": cpu_ms, "answer_bytes": answer_bytes}
            text = payload[wire.RUN.size :].decode("utf-8", "surrogatepass")
            self._queue(_Launch(number=number, image=image, text=text, **limits))
        elif kind == ToWorker.DELIVER:
            if running := self._running.get(number):
                running.waiting.append(payload)
                self._deliver(number, running)
        elif kind == ToWorker.CANCEL:
            self._drop(number)
        elif kind == ToWorker.IMAGE:
            self._images.load(number, json.loads(payload))
        elif kind == ToWorker.FORGET:
            self._forget(number)
        elif kind == ToWorker.PING:
            self._send(0, ToPool.PONG)

    def _forget(self, number: int) -> None:
        """Not before those are launched that came for it."""
        self._forgotten.discard(number)
        waiting = [*self._unloaded, *(one[2] for one in self._launches)]
        if any(launch.image == number for launch in waiting):
            self._forgotten.add(number)
        else:
            self._ended += self._images.forget(number)

    def _queue(self, launch: _Launch) -> None:
        # Stripping types cannot be sliced: who wrote little does not wait for who wrote much.
        heapq.heappush(self._launches, (len(launch.text), launch.number, launch))

    def _launch(self, launch: _Launch) -> None:
        loaded = self._images.find(launch.image)
        if isinstance(loaded, Loading):
            self._unloaded.append(launch)
            return
        if not isinstance(loaded, Loaded):
            self._stop(launch.number, "sdk", loaded or "the image is not loaded")
            return
        began = time.thread_time_ns()
        parsed = self._parsed(launch.number, launch.text, loaded.client_name)
        if parsed is None:
            return
        reading, source = parsed
        try:
            instance = self._images.take(loaded)
        except (wasmtime.WasmtimeError, OSError):
            self._stop(launch.number, "full", "the worker has no memory left for another script")
            return
        instance.limit(memory_bytes=launch.memory_bytes, fuel=_FUEL)
        running = _Running(
            instance=instance,
            cpu_limit_us=launch.cpu_ms * 1000,
            answer_bytes=launch.answer_bytes,
            reading=reading,
        )
        running.cpu_us = (time.thread_time_ns() - began) // 1000
        self._running[launch.number] = running
        self._begin(launch.number, running, "launch", source.encode("utf-8", "surrogatepass"))

    def _parsed(self, number: int, text: str, client_name: str) -> tuple[int, str] | None:
        """The first reading that parses: its number and its JavaScript."""
        fault: NotTypeScript | Refusal | None = None
        found = readings(text, client_name)
        if isinstance(found, Refusal):
            fault, found = found, []
        for place, reading in enumerate(found):
            try:
                stripped = self._stripper.strip(reading.source)
            except NotTypeScript as error:
                fault = error
                continue
            if stripped.source_map:
                self._send(number, ToPool.MAP, stripped.source_map.encode())
            return place, stripped.code
        if fault is not None:
            told = {"message": fault.message, "line": fault.line, "column": fault.column}
            self._send(number, ToPool.UNPARSED, json.dumps(told).encode())
        return None

    def _begin(self, number: int, running: _Running, driver: Any, content: bytes) -> None:
        try:
            running.instance.begin(driver, content)
        except Stopped as stopped:
            self._stop(number, stopped.reason, str(stopped))
        else:
            # Whoever was just heard goes first: short steps stay quick beside long ones.
            self._turns.appendleft(number)

    def _deliver(self, number: int, running: _Running) -> None:
        if running.waiting and not running.instance.is_stepping:
            content = b"[" + b",".join(running.waiting) + b"]"
            running.taken += len(running.waiting)
            running.waiting.clear()
            self._begin(number, running, "deliver", content)

    def _take_turn(self) -> None:
        number = self._turns.popleft()
        running = self._running.get(number)
        if running is None or not running.instance.is_stepping:
            return
        began = time.thread_time_ns()
        try:
            said = running.instance.poll(running.answer_bytes)
        except Stopped as stopped:
            running.cpu_us += (time.thread_time_ns() - began) // 1000
            self._stop(number, stopped.reason, str(stopped))
            return
        running.cpu_us += (time.thread_time_ns() - began) // 1000
        if said is not None:
            flags = running.reading | (wire.FULL if running.instance.is_nearly_full else 0)
            so_far = wire.SAID.pack(min(running.cpu_us, 0xFFFFFFFF), running.taken, flags)
            self._send(number, ToPool.SAID, so_far + said)
            self._deliver(number, running)
        elif running.cpu_us > running.cpu_limit_us:
            self._stop(number, "cpu", "the time is used up")
            return
        else:
            self._turns.append(number)
        self._weigh(running)

    def _weigh(self, running: _Running) -> None:
        """All scripts together stay within the worker's memory: the largest gives way."""
        grown = running.instance.memory_bytes - running.memory_bytes
        if grown:
            running.memory_bytes += grown
            self._memory_used += grown
            if self._memory_used > self._memory_bytes:
                largest = max(self._running, key=lambda number: self._running[number].memory_bytes)
                self._stop(largest, "memory", "all scripts together use too much memory")

    def _stop(self, number: int, reason: str, detail: str) -> None:
        cpu_us = running.cpu_us if (running := self._running.get(number)) else 0
        told = {"reason": reason, "detail": detail, "cpu_us": cpu_us}
        self._send(number, ToPool.STOPPED, json.dumps(told).encode())
        self._drop(number)

    def _drop(self, number: int) -> None:
        if running := self._running.pop(number, None):
            self._memory_used -= running.memory_bytes
            self._ended.append(running.instance)
            if len(self._ended) > _ENDED or running.instance.memory_bytes > _LARGE_BYTES:
                self._close_ended()
        elif self._launches or self._unloaded:
            self._launches = [one for one in self._launches if one[2].number != number]
            heapq.heapify(self._launches)
            self._unloaded = [one for one in self._unloaded if one.number != number]

    def _tidy(self) -> None:
        self._close_ended()
        self._is_starved = not self._images.refill()

    def _close_ended(self) -> None:
        while self._ended:
            self._ended.pop().close()

    def _send(self, number: int, kind: ToPool, payload: bytes = b"") -> None:
        self._out += wire.frame(number, kind, payload)


def main() -> None:
    channel = socket.socket(fileno=0)
    reader = wire.FrameReader()
    frames: list[tuple[int, int, bytes]] = []
    while not frames:
        data = channel.recv(1 << 16)
        if not data:
            return
        frames.extend(reader.feed(data))
    try:
        worker, report = _prepared(channel, json.loads(frames[0][2]))
    except Exception as error:  # noqa: BLE001  nobody sees this process's errors but who started it
        told = f"it does not start: {type(error).__name__}: {error}"
        channel.sendall(wire.frame(0, ToPool.FAULT, told.encode()))
        return
    worker.serve(report)
    # An orderly end of the interpreter would make calls that are no longer allowed.
    os._exit(0)


def _prepared(channel: socket.socket, setup: dict[str, Any]) -> tuple[Worker, dict[str, Any]]:
    worker = Worker(channel, setup)
    worker.warm_up()
    channel.setblocking(False)
    report = harden(data_bytes=setup["data_bytes"]) if setup["harden"] else {"off": True}
    gc.collect()
    gc.freeze()
    return worker, report
