"""A booted guest as a value: the memory of an engine that has loaded its prelude and one SDK.

The prelude is baked into the module once and for all. An SDK is loaded in a worker; what it changed in
the memory is the `Image`, from which every script's own instance starts, so that neither is evaluated
per script. Scripts, processes and limits of a single run are absent.
"""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import wasmtime

from ammeter.engines.sandbox.guest import FRAME, FRAME_BYTES, PAGE_BYTES, GuestUnknown
from ammeter.engines.sandbox.shelf import Shelf, Slot
from ammeter.engines.sandbox.step import Step, Trapped, share_time

INPUT_BYTES = 64 << 10
_PAGE = 4096
_GAP_BYTES = 512 << 10
_FILL_GAP_BYTES = 16 << 10
_BOOT_FUEL = 4_000_000_000
_BOOT_MEMORY_BYTES = 192 << 20
# The engine counts its stack on the 1 MiB that the binary reserves; half of it stays free for errors.
_STACK_BYTES = 512 << 10
# Collecting costs more than most scripts allocate; from here on it happens as usual.
_GC_THRESHOLD_BYTES = 16 << 20


class ImageFailed(Exception):
    """The SDK could not be loaded; says what it threw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the host finds things in a booted guest."""

    stack_pointer: int
    frame: int
    input: int
    seed: int
    install: int
    """The prelude's door for an SDK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    engine: wasmtime.Engine
    pre: Any
    layout: Layout
    pages: int
    runs: tuple[tuple[int, bytes], ...] = ()
    """The memory where it differs from a new instance's: offset and bytes; empty where a slot holds it."""
    slot: Slot | None = None
    size_bytes: int = 0
    moves_stack: bool = False
    """Whether the SDK left the stack elsewhere than the module has it."""
    written: tuple[tuple[int, int], ...] = ()
    """Where every script writes: offset and size."""


def boot(engine: wasmtime.Engine, sealed: bytes, prelude: list[str]) -> tuple[bytes, Layout]:
    """The memory of an engine with its prelude and no SDK yet, to be baked into the module."""
    guest = _Booting(engine, wasmtime.Linker(engine).instantiate_pre(wasmtime.Module(engine, sealed)))
    guest.call("_initialize")
    if guest.call("qjs_init") != 0:
        raise GuestUnknown("the guest does not start")
    guest.call("qjs_set_max_stack_size", _STACK_BYTES)
    guest.call("qjs_set_promise_rejection_handler", 1)
    seed = guest.find_seed()
    install = [guest.evaluate(text, "<prelude>") for text in prelude][-1]
    frame, area = guest.call("wasm_malloc", FRAME_BYTES), guest.call("wasm_malloc", INPUT_BYTES)
    guest.call("qjs_run_gc")
    guest.call("qjs_set_gc_threshold", _GC_THRESHOLD_BYTES)
    layout = Layout(stack_pointer=guest.stack_pointer(), frame=frame, input=area, seed=seed, install=install)
    return guest.memory_bytes(), layout


def base_image(engine: wasmtime.Engine, baked: wasmtime.Module, layout: Layout) -> Image:
    pre = wasmtime.Linker(engine).instantiate_pre(baked)
    return Image(engine=engine, pre=pre, layout=layout, pages=0)


def sdk_image(
    base: Image, sdk: str, options: dict[str, Any], shelf: Shelf | None = None
) -> Generator[None, None, Image]:
    """In slices: whoever waits may do other things between two of them, and gets the image at the end.

    Raises `ImageFailed` for an SDK that throws, does not parse or needs too much.
    """
    guest = _Booting(base.engine, base.pre)
    fresh = guest.memory_bytes()
    guest.share_time()
    source, size = guest.write(sdk)
    client = yield from guest.sliced("qjs_eval", source, size, guest.write("<sdk>")[0], 0)
    yield from guest.install(base.layout, guest.checked(client), json.dumps(options))
    # Not collected: that would touch every object, and every touched page is copied for every script.
    loaded = guest.memory_bytes()
    runs = tuple(_differences(fresh, loaded))
    spans = _merged(((place, len(content)) for place, content in runs), _GAP_BYTES)
    slot = shelf.put([(start, loaded[start:end]) for start, end in spans]) if shelf else None
    stack_pointer = guest.stack_pointer()
    return replace(
        base,
        pages=len(loaded) // PAGE_BYTES,
        runs=() if slot else runs,
        slot=slot,
        size_bytes=sum(len(content) for _, content in runs),
        layout=replace(base.layout, stack_pointer=stack_pointer),
        moves_stack=stack_pointer != base.layout.stack_pointer,
    )


class _Booting:
    """The one instance that runs the prelude or an SDK, before any script."""

    def __init__(self, engine: wasmtime.Engine, pre: Any) -> None:
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=_BOOT_MEMORY_BYTES)
        self.store.set_fuel(_BOOT_FUEL)
        self.exports = pre.instantiate(self.store).exports(self.store)
        self.memory = self.exports["memory"]
        self.is_sharing = False

    def share_time(self) -> None:
        share_time(self.store._context())
        self.is_sharing = True

    def call(self, name: str, *arguments: int) -> Any:
        if self.is_sharing:
            # A store that gives way knows no other calls; the short ones are not worth a slice.
            return _to_the_end(self.sliced(name, *arguments))
        try:
            return self.exports[name](self.store, *arguments)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise ImageFailed(f"the SDK does not load: {str(error).strip().splitlines()[-1]}") from error

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

    def sliced(self, name: str, *arguments: int) -> Generator[None, None, int]:
        step = Step(self.store._context(), ctypes.byref(self.exports[name]._func), *arguments)
        try:
            while (answer := step.poll()) is None:
                yield
        except Trapped as trapped:
            raise ImageFailed(f"the SDK does not load: {trapped}") from trapped
        finally:
            step.close()
        return answer

    def install(self, layout: Layout, client: int, options: str) -> Generator[None, None, None]:
        """Hand the SDK to the prelude; what it answers with are the doors that the drivers use."""
        undefined = self.call("qjs_get_undefined")
        place, size = self.write(options)
        arguments = self.call("wasm_malloc", 8)
        packed = struct.pack("<2I", client, self.call("qjs_new_string", place, size))
        self.memory.write(self.store, packed, arguments)
        doors = self.checked((yield from self.sliced("qjs_call", layout.install, undefined, 2, arguments)))
        values = {"undefined": undefined, "file": self.write("script.ts")[0]}
        for name in ("start", "fail", "receive", "drain", "reject"):
            values[name] = self.call("qjs_get_prop_string", doors, self.write(name)[0])
        content = bytearray(FRAME_BYTES)
        for name, value in values.items():
            struct.pack_into("<I", content, FRAME[name], value)
        self.memory.write(self.store, content, layout.frame)

    def stack_pointer(self) -> int:
        return int(self.exports["__stack_pointer"].value(self.store))

    def memory_bytes(self) -> bytes:
        return bytes(self.memory.read(self.store, 0, self.memory.data_len(self.store)))


def _to_the_end(slices: Generator[None, None, int]) -> int:
    while True:
        try:
            next(slices)
        except StopIteration as ended:
            return int(ended.value)


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


def written_spans(before: bytes, after: bytes) -> tuple[tuple[int, int], ...]:
    runs = ((place, len(content)) for place, content in _differences(before, after))
    return tuple((start, end - start) for start, end in _merged(runs, _FILL_GAP_BYTES))


def _merged(runs: Iterable[tuple[int, int]], gap_bytes: int) -> list[tuple[int, int]]:
    """Fewer and longer: a call to the system costs as much as a few pages. Gives starts and ends."""
    spans: list[tuple[int, int]] = []
    for place, size in runs:
        if spans and place - spans[-1][1] <= gap_bytes:
            spans[-1] = (spans[-1][0], place + size)
        else:
            spans.append((place, place + size))
    return spans


def _drawn(state: int) -> int:
    state ^= state >> 12
    state ^= state << 25 & 0xFFFF_FFFF_FFFF_FFFF
    return state ^ state >> 27
