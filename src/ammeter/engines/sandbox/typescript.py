"""TypeScript to JavaScript with swc's own WebAssembly, which speaks to JavaScript values through a table of
them; here Python values stand in. In goes source text, out comes text with the types blanked, so that every
line and column stays; enums and namespaces are written anew instead, with a source map.

Only the imports that a transform of a string reaches are answered. Running the result is absent.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import wasmtime
from wasmtime import _bindings as ffi
from wasmtime._ffi import dll

# A transform takes about 400 per letter and cannot be sliced; here lies what it may take of everyone's time.
_FUEL, _FUEL_PER_LETTER = 100_000_000, 2_000
_MEMORY_BYTES = 192 << 20
_UNDEFINED = object()
_FIRST = [_UNDEFINED] * 129 + [None, True, False]
# wasm-bindgen tells constructors apart by a hash alone; these two are in the locked version's JavaScript.
_CONSTRUCTORS: dict[str, Callable[[], Any]] = {
    "__wbg_new_405e22f390576ce2": dict,
    "__wbg_new_78feb108b6472713": list,
}
_Trap = ctypes.POINTER(ffi.wasm_trap_t)
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ffi.wasmtime_val_raw_t), ctypes.c_size_t
)
_define = ctypes.CFUNCTYPE(
    ctypes.POINTER(ffi.wasmtime_error_t),
    *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t),
    *(ctypes.c_void_p, _Callback, ctypes.c_void_p, ctypes.c_void_p),
)(("wasmtime_linker_define_func_unchecked", dll))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripped:
    code: str
    source_map: str | None


class NotTypeScript(Exception):
    """The text does not parse; where and why."""

    def __init__(self, message: str, *, line: int | None, column: int | None) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class _Raised(Exception):
    """swc threw, or asked for something that is not answered here."""


class Stripper:
    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module) -> None:
        self._engine, self._module = engine, module
        # Made once: a hardened worker may not map executable memory for new ones.
        self._callbacks = [self._answer(wanted) for wanted in module.imports]
        self._renew()

    def strip(self, source: str) -> Stripped:
        """Raises `NotTypeScript`."""
        # Without options, which are stripping alone: each would be asked for in several calls.
        answer = self._transform(source, _UNDEFINED)
        if answer.get("code") == "UnsupportedSyntax":
            answer = self._transform(source, {"mode": "transform", "module": True, "sourceMap": True})
        if "startLine" in answer or "message" in answer:
            line, column = answer.get("startLine"), answer.get("startColumn")
            raise NotTypeScript(
                str(answer.get("message") or "The script does not parse."),
                line=int(line) if line else None,
                column=int(column) + 1 if column is not None else None,
            )
        source_map = answer.get("map")
        return Stripped(
            code=str(answer["code"]), source_map=source_map if isinstance(source_map, str) else None
        )

    def _transform(self, source: str, options: Any) -> dict[str, Any]:
        self._store.set_fuel(_FUEL + len(source) * _FUEL_PER_LETTER)
        try:
            place = self._call("__wbindgen_add_to_stack_pointer", -16)
            self._call("transformSync", place, self._add(source), self._add(options))
            good, bad, failed = struct.unpack("<3I", self._read(place, 12))
            self._call("__wbindgen_add_to_stack_pointer", 16)
        except (wasmtime.Trap, wasmtime.WasmtimeError, _Raised) as error:
            # After a panic or an empty tank nothing in this instance can be trusted.
            self._renew()
            raise NotTypeScript(
                "The script is too large or too odd to parse.", line=None, column=None
            ) from error
        answer = self._take(bad if failed else good)
        return answer if isinstance(answer, dict) else {"message": str(answer)}

    def _renew(self) -> None:
        self._store = wasmtime.Store(self._engine)
        self._store.set_limits(memory_size=_MEMORY_BYTES)
        self._store.set_fuel(_FUEL)
        self._values: list[Any] = list(_FIRST)
        self._free: list[int] = []
        self._fault: BaseException | None = None
        linker = wasmtime.Linker(self._engine)
        for wanted, callback in zip(self._module.imports, self._callbacks, strict=True):
            module, name = wanted.module.encode(), str(wanted.name).encode()
            failed = _define(
                *(linker.ptr(), module, len(module), name, len(name), wanted.type.ptr(), callback, None, None)
            )
            if failed:
                raise wasmtime.WasmtimeError._from_ptr(failed)
        exports: Any = linker.instantiate(self._store, self._module).exports(self._store)
        self._exports = exports
        self._context = self._store._context()
        self._memory = ctypes.byref(exports["memory"]._memory)

    def _answer(self, wanted: Any) -> Any:
        name = re.sub(r"_[0-9a-f]{16}$", "", wanted.name)
        if wanted.name in _CONSTRUCTORS:
            make = _CONSTRUCTORS[wanted.name]
            answer: Callable[..., Any] = lambda: self._add(make())  # noqa: E731
        else:
            answer = getattr(self, f"_on{name}", self._on_anything_else)
        takes = [kind if (kind := str(one)) in ("f64", "i64") else "i32" for one in wanted.type.params]
        gives = [str(one) for one in wanted.type.results]

        def called(_env: Any, _caller: Any, raw: Any, _count: int) -> int | None:
            try:
                result = answer(*[getattr(raw[place], kind) for place, kind in enumerate(takes)])
                if gives:
                    setattr(raw[0], gives[0], result)
            except Exception as error:  # noqa: BLE001  an exception must not cross wasm's frames
                self._fault = error
                return ctypes.cast(ffi._wasmtime_trap_new(b"host", 4), ctypes.c_void_p).value
            return None

        return _Callback(called)

    def _call(self, name: str, *arguments: int) -> int:
        raw = (ffi.wasmtime_val_raw_t * max(len(arguments), 1))()
        for place, value in enumerate(arguments):
            raw[place].i32 = value
        trap, func = _Trap(), self._exports[name]._func
        failed = ffi._wasmtime_func_call_unchecked(
            self._context, ctypes.byref(func), raw, len(raw), ctypes.byref(trap)
        )
        if trap:
            told = wasmtime.Trap._from_ptr(trap)
            raise _Raised(str(self._fault or told)) from self._fault
        if failed:
            raise wasmtime.WasmtimeError._from_ptr(failed)
        return int(raw[0].i32)

    def _add(self, value: Any) -> int:
        if self._free:
            place = self._free.pop()
            self._values[place] = value
            return place
        self._values.append(value)
        return len(self._values) - 1

    def _take(self, place: int) -> Any:
        value = self._values[place]
        if place >= len(_FIRST):
            self._values[place] = _UNDEFINED
            self._free.append(place)
        return value

    def _address(self, place: int, size: int) -> int:
        place &= 0xFFFFFFFF
        if place + size > ffi._wasmtime_memory_data_size(self._context, self._memory):
            raise _Raised("an address outside the memory")
        return ctypes.addressof(ffi._wasmtime_memory_data(self._context, self._memory).contents) + place

    def _read(self, place: int, size: int) -> bytes:
        return ctypes.string_at(self._address(place, size), size)

    def _write(self, place: int, content: bytes) -> None:
        ctypes.memmove(self._address(place, len(content)), content, len(content))

    def _text(self, place: int, size: int) -> str:
        return self._read(place, size).decode("utf-8", "replace")

    def _give_text(self, result: int, text: str) -> None:
        content = text.encode("utf-8", "replace")
        place = self._call("__wbindgen_export_2", len(content), 1)
        self._write(place, content)
        self._write(result, struct.pack("<II", place & 0xFFFFFFFF, len(content)))

    def _on_anything_else(self, *_: Any) -> Any:
        raise _Raised("an import that no transform of a string needs")

    def _on__wbindgen_object_drop_ref(self, place: int) -> None:
        self._take(place)

    def _on__wbindgen_object_clone_ref(self, place: int) -> int:
        return self._add(self._values[place])

    def _on__wbindgen_string_new(self, place: int, size: int) -> int:
        return self._add(self._text(place, size))

    def _on__wbindgen_string_get(self, result: int, place: int) -> None:
        value = self._values[place]
        if isinstance(value, str):
            self._give_text(result, value)
        else:
            self._write(result, struct.pack("<II", 0, 0))

    def _on__wbindgen_number_new(self, value: float) -> int:
        return self._add(value)

    def _on__wbindgen_number_get(self, result: int, place: int) -> None:
        value = self._values[place]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        self._write(result, struct.pack("<Iid", int(is_number), 0, float(value) if is_number else 0.0))

    def _on__wbindgen_boolean_get(self, place: int) -> int:
        value = self._values[place]
        return int(value) if isinstance(value, bool) else 2

    def _on__wbindgen_is_undefined(self, place: int) -> int:
        return int(self._values[place] is _UNDEFINED)

    def _on__wbindgen_is_string(self, place: int) -> int:
        return int(isinstance(self._values[place], str))

    def _on__wbindgen_is_object(self, place: int) -> int:
        return int(isinstance(self._values[place], dict | list))

    def _on__wbindgen_is_falsy(self, place: int) -> int:
        value = self._values[place]
        return int(value is _UNDEFINED or not value)

    def _on__wbindgen_in(self, key: int, place: int) -> int:
        owner = self._values[place]
        return int(isinstance(owner, dict) and self._values[key] in owner)

    def _on__wbindgen_jsval_eq(self, one: int, other: int) -> int:
        return int(self._values[one] == self._values[other])

    def _on__wbindgen_jsval_loose_eq(self, one: int, other: int) -> int:
        return int(_loose(self._values[one]) == _loose(self._values[other]))

    def _on__wbindgen_error_new(self, place: int, size: int) -> int:
        return self._add({"message": self._text(place, size)})

    def _on__wbindgen_throw(self, place: int, size: int) -> None:
        raise _Raised(self._text(place, size))

    def _on__wbg_getwithrefkey(self, place: int, key: int) -> int:
        owner = self._values[place]
        return self._add(owner.get(self._values[key], _UNDEFINED) if isinstance(owner, dict) else _UNDEFINED)

    def _on__wbg_set(self, place: int, key: int, value: int) -> None:
        owner = self._values[place]
        if not isinstance(owner, dict):
            raise _Raised("a list that is written to")
        name = self._take(key)
        owner[name] = self._take(value)

    def _on__wbg_entries(self, place: int) -> int:
        return self._add([[key, value] for key, value in self._values[place].items()])

    def _on__wbg_get(self, place: int, key: int) -> int:
        owner = self._values[place]
        return self._add(owner[key & 0xFFFFFFFF] if isinstance(owner, list) else _UNDEFINED)

    def _on__wbg_length(self, place: int) -> int:
        return len(self._values[place])

    def _on__wbg_isArray(self, place: int) -> int:
        return int(isinstance(self._values[place], list))

    def _nothing(self, *_: Any) -> int:
        return 0

    _on__wbindgen_is_function = _on__wbindgen_is_bigint = _nothing
    _on__wbg_instanceof_ArrayBuffer = _on__wbg_instanceof_Map = _on__wbg_instanceof_Uint8Array = _nothing


def _loose(value: Any) -> Any:
    return None if value is _UNDEFINED else value
