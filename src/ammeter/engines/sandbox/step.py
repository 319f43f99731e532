"""One call into a guest, taken in slices of fuel, so that one thread can share its time among many. In go a
function and its arguments, out comes its number once it is done, or why it ended.

wasmtime's Python face has no such call, hence its C functions here; the version is pinned.
"""

from __future__ import annotations

import ctypes
from typing import Any

import wasmtime
from wasmtime import _bindings as ffi

# About a millisecond: how long another script may wait for its turn.
SLICE_FUEL = 4_000_000

_Trap = ctypes.POINTER(ffi.wasm_trap_t)
_Error = ctypes.POINTER(ffi.wasmtime_error_t)
_Result = ffi.wasmtime_val_t * 1
_Arguments = [ffi.wasmtime_val_t * count for count in range(5)]


class Trapped(Exception):
    """The guest cannot go on; what it was used for is of no more use."""


def share_time(context: Any) -> None:
    """From now on calls in this store give way after a slice."""
    failed = ffi._wasmtime_context_fuel_async_yield_interval(context, SLICE_FUEL)
    if failed:
        raise wasmtime.WasmtimeError._from_ptr(failed)


class Step:
    def __init__(self, context: Any, function: Any, *arguments: int) -> None:
        self._arguments = _Arguments[len(arguments)]()
        for slot, value in zip(self._arguments, arguments, strict=True):
            slot.kind, slot.of.i32 = 0, value
        self._result, self._trap, self._error = _Result(), _Trap(), _Error()
        self._future = ffi._wasmtime_func_call_async(
            context,
            function,
            self._arguments,
            len(arguments),
            self._result,
            1,
            ctypes.byref(self._trap),
            ctypes.byref(self._error),
        )

    def poll(self) -> int | None:
        """None while it runs on."""
        if not ffi._wasmtime_call_future_poll(self._future):
            return None
        self.close()
        if self._trap:
            raise Trapped(_last_line(wasmtime.Trap._from_ptr(self._trap)))
        if self._error:
            raise Trapped(_last_line(wasmtime.WasmtimeError._from_ptr(self._error)))
        return int(self._result[0].of.i32) & 0xFFFFFFFF

    def close(self) -> None:
        future, self._future = self._future, None
        if future is not None:
            ffi._wasmtime_call_future_delete(future)


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
