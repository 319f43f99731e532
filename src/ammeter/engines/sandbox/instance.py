"""One script's own engine: an instance that starts as its image was, takes one step at a time and is thrown
away. In go source text and deliveries, out come the guest's messages or the reason it was stopped.

A step is polled in slices (`step.py`). wasmtime's own objects would be made anew for every script, hence its
C functions here; the version is pinned. Framing is absent.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Literal

import wasmtime
from wasmtime import _bindings as ffi

from ammeter.engines.sandbox.guest import FRAME, MAX_MEMORY_BYTES, PAGE_BYTES, GuestUnknown
from ammeter.engines.sandbox.image import INPUT_BYTES, Image, written_spans
from ammeter.engines.sandbox.step import Step, Trapped, share_time

_FRESH_FUEL = 1 << 40
_TRIAL_SLICES, _TRIAL_BYTES = 100, 64 << 10

Reason = Literal["cpu", "memory", "stack", "output", "trap"]


class Stopped(Exception):
    """The script can not go on; its instance is of no more use."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason


class Instance:
    def __init__(self, image: Image) -> None:
        self.image = image
        self._store = wasmtime.Store(image.engine)
        self._context = self._store._context()
        self._limit_bytes = 0
        self._made = image.pre.instantiate(self._store)._instance
        self._memory = ctypes.byref(self._export("memory").memory)
        self._clock = ctypes.byref(self._export("clock").global_)
        self._drivers: dict[str, Any] = {}
        self._fill()
        self._step: Step | None = None
        self._input, self._input_bytes = image.layout.input, INPUT_BYTES
        share_time(self._context)

    def _export(self, name: str) -> Any:
        """One export; wasmtime's own way would make an object of every export for every script."""
        item = ffi.wasmtime_extern_t()
        if not ffi._wasmtime_instance_export_get(
            self._context, ctypes.byref(self._made), name.encode(), len(name), ctypes.byref(item)
        ):
            raise GuestUnknown(f"the guest has no {name}")
        return item.of

    def _driver(self, name: str) -> Any:
        """Looked for when it is first needed: most scripts take few of them."""
        if name not in self._drivers:
            self._drivers[name] = ctypes.byref(self._export(name).func)
        return self._drivers[name]

    def _fill(self) -> None:
        """What the SDK changed, and a random seed that no other script has."""
        before = ctypes.c_uint64()
        missing = self.image.pages - self.memory_bytes // PAGE_BYTES
        if missing > 0:
            failed = ffi._wasmtime_memory_grow(self._context, self._memory, missing, ctypes.byref(before))
            if failed:
                raise wasmtime.WasmtimeError._from_ptr(failed)
        base = self._base()
        if self.image.slot is not None:
            self.image.slot.map_over(base)
            self.image.slot.fill(base, self.image.written)
        for place, content in self.image.runs:
            ctypes.memmove(base + place, content, len(content))
        ctypes.memmove(base + self.image.layout.seed, os.urandom(7) + b"\x01", 8)
        if self.image.moves_stack:
            pointer = self._export("__stack_pointer").global_
            self._set_global(ctypes.byref(pointer), 0, self.image.layout.stack_pointer)

    def _set_global(self, place: Any, kind: int, value: int) -> None:
        content: Any = ffi.wasmtime_val_t()
        content.kind = kind
        setattr(content.of, ("i32", "i64")[kind], value)
        failed = ffi._wasmtime_global_set(self._context, place, ctypes.byref(content))
        if failed:
            raise wasmtime.WasmtimeError._from_ptr(failed)

    def limit(self, *, memory_bytes: int = MAX_MEMORY_BYTES, fuel: int = _FRESH_FUEL) -> None:
        """Has to come before the first step."""
        self._limit_bytes = memory_bytes
        self._store.set_limits(
            memory_size=memory_bytes, instances=1, memories=1, tables=1, table_elements=20_000
        )
        ffi._wasmtime_context_set_fuel(self._context, fuel)

    @property
    def is_stepping(self) -> bool:
        return self._step is not None

    @property
    def memory_bytes(self) -> int:
        return int(ffi._wasmtime_memory_data_size(self._context, self._memory))

    @property
    def is_nearly_full(self) -> bool:
        return self.memory_bytes > self._limit_bytes // 2

    def fuel_left(self) -> int:
        left = ctypes.c_uint64()
        ffi._wasmtime_context_get_fuel(self._context, ctypes.byref(left))
        return left.value

    def begin(self, driver: Literal["launch", "deliver"], content: bytes) -> None:
        place = self._room(len(content) + 1)
        ctypes.memmove(self._base() + place, content + b"\0", len(content) + 1)
        # Time stands still within a step, so a script cannot measure what the host does.
        self._set_global(self._clock, 1, time.time_ns())
        self._step = Step(self._context, self._driver(driver), self.image.layout.frame, place, len(content))

    def poll(self, limit_bytes: int) -> bytes | None:
        """None while the step runs on; then what the guest had to say."""
        text = self._poll()
        if text is None:
            return None
        base = self._base()
        frame = self.image.layout.frame + FRAME["length"]
        (size,) = struct.unpack("<I", ctypes.string_at(base + frame, 4))
        if text == 0:
            raise Stopped("memory", "no memory is left to answer")
        if size > limit_bytes:
            raise Stopped("output", f"{size} bytes")
        if text + size > self.memory_bytes:
            raise Stopped("trap", "the answer lies outside the memory")
        return ctypes.string_at(base + text, size)

    def close(self) -> None:
        if self._step is not None:
            self._step.close()
            self._step = None
        self._store.close()

    def _room(self, size: int) -> int:
        if size > self._input_bytes:
            self._step = Step(self._context, self._driver("reserve"), self.image.layout.frame, size)
            while (place := self._poll()) is None:
                pass
            if place == 0 or place + size > self.memory_bytes:
                raise Stopped("memory", "no memory is left for what is delivered")
            self._input, self._input_bytes = place, size
        return self._input

    def _poll(self) -> int | None:
        assert self._step is not None
        try:
            answer = self._step.poll()
        except Trapped as trapped:
            self._step = None
            raise self._stopped(str(trapped)) from trapped
        if answer is not None:
            self._step = None
        return answer

    def _stopped(self, told: str) -> Stopped:
        if "fuel" in told:
            return Stopped("cpu", told)
        if "stack" in told:
            return Stopped("stack", told)
        if self.is_nearly_full:
            return Stopped("memory", told)
        return Stopped("trap", told)

    def _content(self) -> bytes:
        return ctypes.string_at(self._base(), self.memory_bytes)

    def _base(self) -> int:
        return ctypes.addressof(ffi._wasmtime_memory_data(self._context, self._memory).contents)


def tried(image: Image) -> Image:
    """The same image, which knows where every script writes: a script that does nothing shows it."""
    if image.slot is None:
        return image
    # Where memory is short, the scripts themselves are told so.
    with suppress(Stopped, wasmtime.WasmtimeError, OSError), closing(Instance(image)) as instance:
        before = instance._content()
        instance.limit()
        instance.begin("launch", b"0")
        if any(instance.poll(_TRIAL_BYTES) is not None for _ in range(_TRIAL_SLICES)):
            return replace(image, written=written_spans(before, instance._content()))
    return image
