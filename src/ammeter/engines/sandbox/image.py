"""A booted guest as a value: the memory of an engine that has loaded its prelude and one SDK.

In go the sealed module, the prelude, an SDK and the client's name; out comes an `Image`, from which
every script's own instance starts. Evaluating an SDK is paid once per image and not per script. Scripts,
processes and limits of a single run are absent.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import wasmtime

from ammeter.engines.sandbox.guest import FRAME, FRAME_BYTES, GuestUnknown

INPUT_BYTES = 64 << 10
_PAGE = 4096
_BOOT_FUEL = 20_000_000_000
_BOOT_MEMORY_BYTES = 192 << 20
# The engine counts its stack on the 1 MiB that the binary reserves; half of it stays free for errors.
_STACK_BYTES = 512 << 10
# Collecting costs more than most scripts allocate; from here on it happens as usual.
_GC_THRESHOLD_BYTES = 16 << 20


class ImageFailed(Exception):
    """The SDK could not be loaded; says what it threw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    module: wasmtime.Module
    engine: wasmtime.Engine
    pre: Any
    pages: int
    runs: tuple[tuple[int, bytes], ...]
    """The memory where it differs from a new instance's: offset and bytes."""
    stack_pointer: int
    frame: int
    input: int
    seed: int

    @property
    def size_bytes(self) -> int:
        return sum(len(content) for _, content in self.runs)


def load_image(
    engine: wasmtime.Engine, module: wasmtime.Module, *, prelude: list[str], sdk: str, options: dict[str, Any]
) -> Image:
    linker = wasmtime.Linker(engine)
    pre = linker.instantiate_pre(module)
    boot = _Boot(engine, pre)
    fresh = boot.memory_bytes()
    frame = boot.start()
    seed = boot.find_seed()
    *before, last = prelude
    for text in before:
        boot.evaluate(text, "<prelude>")
    install = boot.evaluate(last, "<prelude>")
    client = boot.evaluate(sdk, "<sdk>")
    boot.fill(frame, install, client, json.dumps(options))
    area = boot.call("wasm_malloc", INPUT_BYTES)
    boot.call("qjs_run_gc")
    boot.call("qjs_set_gc_threshold", _GC_THRESHOLD_BYTES)
    booted = boot.memory_bytes()
    return Image(
        module=module,
        engine=engine,
        pre=pre,
        pages=len(booted) // 65536,
        runs=tuple(_differences(fresh, booted)),
        stack_pointer=boot.stack_pointer(),
        frame=frame,
        input=area,
        seed=seed,
    )


class _Boot:
    """The one instance that runs the prelude and the SDK, before any script."""

    def __init__(self, engine: wasmtime.Engine, pre: Any) -> None:
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=_BOOT_MEMORY_BYTES)
        self.store.set_fuel(_BOOT_FUEL)
        self.exports = pre.instantiate(self.store).exports(self.store)
        self.memory = self.exports["memory"]

    def call(self, name: str, *arguments: int) -> Any:
        try:
            return self.exports[name](self.store, *arguments)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise ImageFailed(f"the SDK does not load: {str(error).strip().splitlines()[-1]}") from error

    def start(self) -> int:
        self.call("_initialize")
        if self.call("qjs_init") != 0:
            raise GuestUnknown("the guest does not start")
        self.call("qjs_set_max_stack_size", _STACK_BYTES)
        return int(self.call("wasm_malloc", FRAME_BYTES))

    def find_seed(self) -> int:
        """The one word that moves as xorshift64 does when a random number is drawn."""
        draw = "Math.random()"
        self.evaluate(draw, "<seed>")
        before = self.words()
        self.evaluate(draw, "<seed>")
        moved = zip(before, self.words(), strict=False)
        found = [place * 8 for place, (old, new) in enumerate(moved) if old != new and _drawn(old) == new]
        if len(found) != 1:
            raise GuestUnknown("the guest does not keep its random seed where it was looked for")
        return found[0]

    def words(self) -> memoryview:
        return memoryview(self.memory_bytes()).cast("Q")

    def write(self, text: str) -> tuple[int, int]:
        content = text.encode("utf-8", "surrogatepass")
        place = self.call("wasm_malloc", len(content) + 1)
        if place == 0:
            raise ImageFailed("the SDK does not load: it is too large")
        self.memory.write(self.store, content + b"\0", place)
        return place, len(content)

    def evaluate(self, text: str, name: str) -> int:
        source, size = self.write(text)
        return self.checked(self.call("qjs_eval", source, size, self.write(name)[0], 0))

    def checked(self, handle: int) -> int:
        if self.call("qjs_is_exception", handle):
            raise ImageFailed(f"the SDK does not load: {self.text(self.call('qjs_get_exception'))}")
        return handle

    def text(self, handle: int) -> str:
        length = self.call("wasm_malloc", 4)
        place = self.call("qjs_get_string_len", handle, length)
        (size,) = struct.unpack("<I", self.memory.read(self.store, length, length + 4))
        return bytes(self.memory.read(self.store, place, place + size)).decode("utf-8", "replace")

    def fill(self, frame: int, install: int, client: int, options: str) -> None:
        """Hand the SDK to the prelude; what it answers with are the doors that the drivers use."""
        undefined = self.call("qjs_get_undefined")
        place, size = self.write(options)
        arguments = self.call("wasm_malloc", 8)
        packed = struct.pack("<2I", client, self.call("qjs_new_string", place, size))
        self.memory.write(self.store, packed, arguments)
        doors = self.checked(self.call("qjs_call", install, undefined, 2, arguments))
        values = {"undefined": undefined, "file": self.write("script.ts")[0]}
        for name in ("start", "fail", "receive", "drain"):
            values[name] = self.call("qjs_get_prop_string", doors, self.write(name)[0])
        content = bytearray(FRAME_BYTES)
        for name, value in values.items():
            struct.pack_into("<I", content, FRAME[name], value)
        self.memory.write(self.store, content, frame)

    def memory_bytes(self) -> bytes:
        return bytes(self.memory.read(self.store, 0, self.memory.data_len(self.store)))

    def stack_pointer(self) -> int:
        return int(self.exports["__stack_pointer"].value(self.store))


def _differences(before: bytes, after: bytes) -> Iterator[tuple[int, bytes]]:
    before = before.ljust(len(after), b"\0")
    start = None
    for at in range(0, len(after), _PAGE):
        if before[at : at + _PAGE] != after[at : at + _PAGE]:
            start = at if start is None else start
        elif start is not None:
            yield start, after[start:at]
            start = None
    if start is not None:
        yield start, after[start:]


def _drawn(state: int) -> int:
    state ^= state >> 12
    state ^= state << 25 & 0xFFFF_FFFF_FFFF_FFFF
    return state ^ state >> 27
