"""The guest binary: in goes QuickJS-NG as its registry package ships it, out goes a module without imports.

Every imported function gets a constant body, so nothing of the outside can be called; the clock is a
global that the host sets between two steps. Drivers are added (`launch`, `deliver`, `reserve`), each of
which does one whole step of a script. Baking puts a memory in which more has been loaded in place of the
first one. Compiling and running are absent.
"""

from __future__ import annotations

from collections.abc import Iterator

I32, I64 = 0x7F, 0x7E
_TYPE, _IMPORT, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _CODE, _DATA, _DATA_COUNT = 1, 2, 3, 5, 6, 7, 10, 11, 12
_END, _CALL, _GET, _LOOP, _IF, _ELSE = b"\x0b", b"\x10", b"\x20", b"\x03", b"\x04", b"\x05"
_VOID, _BR_IF, _LOAD, _STORE = b"\x40", b"\x0d", b"\x28\x02", b"\x36\x02"
_GLOBAL_GET, _GLOBAL_SET = b"\x23", b"\x24"
_CONST, _DROP, _ADD = b"\x41", b"\x1a", b"\x6a"

# One struct in the guest's memory that the drivers share with the host: handles and addresses.
FRAME = {
    name: place * 4
    for place, name in enumerate(
        (
            *("argument", "undefined", "start", "fail", "receive", "drain", "length", "text", "result"),
            *("file", "reject", "promise", "reason"),
        )
    )
}
FRAME_BYTES = 4 * len(FRAME)
PAGE_BYTES = 65536
MAX_MEMORY_BYTES = 256 << 20

_EBADF = 8
_ANSWERS = {
    "random_get": 0,
    "fd_close": _EBADF,
    "fd_fdstat_get": _EBADF,
    "fd_seek": _EBADF,
    "fd_write": _EBADF,
}
_ANSWERS |= {"host_get_timezone_offset": 0, "host_interrupt": 0, "host_module_normalize": 0}
_ANSWERS |= {"host_module_load": 0}
KEPT = (
    *("memory", "__stack_pointer", "_initialize", "wasm_malloc", "qjs_init", "qjs_eval", "qjs_call"),
    *("qjs_get_prop_string", "qjs_is_exception", "qjs_get_exception", "qjs_get_string_len", "qjs_run_gc"),
    *("qjs_get_undefined", "qjs_new_string", "qjs_set_max_stack_size", "qjs_set_gc_threshold"),
    "qjs_set_promise_rejection_handler",
)


class GuestUnknown(Exception):
    """The binary is not the one this code was written for."""


def seal(binary: bytes) -> bytes:
    """The same engine with no imports, only the exports the host uses, and the drivers."""
    parts = dict(_sections(binary))
    imports = list(_imports(parts[_IMPORT]))
    exports = {name: (kind, index) for name, kind, index in _exports(parts[_EXPORT])}
    types, functions, bodies = (_Vector(parts[section]) for section in (_TYPE, _FUNCTION, _CODE))
    globals_ = _Vector(parts[_GLOBAL])
    clock = globals_.count
    globals_.add(bytes([I64, 1, 0x42, 0]) + _END)
    # Where the frame lies; drivers say it, and what the engine calls between them reads it.
    frame = globals_.count
    globals_.add(bytes([I32, 1, 0x41, 0]) + _END)
    kept = b"".join(_export(name, *exports[name]) for name in KEPT) + _export("clock", 3, clock)

    first = len(imports) + functions.count
    index = {name: place for name, (kind, place) in exports.items() if kind == 0}
    drivers = _drivers(index, pump=first, frame=frame)
    for offset, (name, arity, body) in enumerate(drivers):
        signature = bytes([0x60]) + _u(arity) + bytes([I32] * arity) + _u(1) + bytes([I32])
        functions.append(_u(types.add(signature)))
        bodies.append(_sized(_u(0) + body + _END))
        kept += _export(name, 0, first + offset)
    functions.prepend([_u(kind) for _, kind in imports])
    bodies.prepend([_sized(_u(0) + _answer(name, clock, frame, index) + _END) for name, _ in imports])

    parts[_TYPE], parts[_FUNCTION], parts[_GLOBAL] = types.encode(), functions.encode(), globals_.encode()
    parts[_EXPORT] = _u(len(KEPT) + 1 + len(drivers)) + kept
    parts[_CODE] = bodies.encode()
    del parts[_IMPORT]
    return _module(parts)


def bake(sealed: bytes, memory: bytes, stack_pointer: int) -> bytes:
    """The same module, whose instances begin with this memory; wasmtime shares its pages among them."""
    parts = dict(_sections(sealed))
    globals_ = _Vector(parts[_GLOBAL])
    _, rest = _read(globals_.content, 3)
    if globals_.content[:3] != bytes([I32, 1, 0x41]) or globals_.content[rest : rest + 1] != _END:
        raise GuestUnknown("the guest's first global is not its stack pointer")
    pointer = bytes([I32, 1, 0x41]) + _s(stack_pointer)
    parts[_GLOBAL] = _u(globals_.count) + pointer + globals_.content[rest:]
    parts[_MEMORY] = b"\x01\x00" + _u(len(memory) // PAGE_BYTES)
    start = (len(memory) - len(memory.lstrip(b"\0"))) & ~0xFFF
    parts[_DATA] = _u(1) + b"\x00\x41" + _s(start) + _END + _sized(memory[start:].rstrip(b"\0"))
    parts[_DATA_COUNT] = _u(1)
    return _module(parts)


def _module(parts: dict[int, bytes]) -> bytes:
    return b"\0asm\1\0\0\0" + b"".join(
        bytes([section]) + _sized(content) for section, content in parts.items() if section
    )


def _answer(name: str, clock: int, frame: int, index: dict[str, int]) -> bytes:
    if name == "clock_time_get":
        return _GET + _u(2) + _GLOBAL_GET + _u(clock) + b"\x37\x03\x00" + _CONST + _s(0)
    if name == "host_promise_rejection":
        return _rejection(frame, index)
    if name == "host_call":
        return b"\x00"
    if name not in _ANSWERS:
        raise GuestUnknown(f"the guest imports {name}, which has no answer here")
    return _CONST + _s(_ANSWERS[name])


def _rejection(frame: int, index: dict[str, int]) -> bytes:
    """Hand promise and reason to the prelude; the promise alone once somebody waits for it after all."""

    def call(name: str) -> bytes:
        return _CALL + _u(index[name])

    def field(name: str) -> bytes:
        return _GLOBAL_GET + _u(frame) + _LOAD + _u(FRAME[name])

    def store(name: str, parameter: int) -> bytes:
        return _GLOBAL_GET + _u(frame) + _GET + _u(parameter) + _STORE + _u(FRAME[name])

    count = _CONST + _s(2) + _CONST + _s(1) + _GET + _u(2) + b"\x45" + b"\x1b"
    arguments = _GLOBAL_GET + _u(frame) + _CONST + _s(FRAME["promise"]) + _ADD
    told = store("promise", 0) + store("reason", 1) + field("reject") + field("undefined")
    told += count + arguments + call("qjs_call") + call("qjs_free_value")
    freed = b"".join(_GET + _u(parameter) + call("qjs_free_value") for parameter in (0, 1))
    return _GLOBAL_GET + _u(frame) + _IF + _VOID + told + _END + freed


def _drivers(index: dict[str, int], *, pump: int, frame: int) -> list[tuple[str, int, bytes]]:
    """Name, number of i32 parameters, body. The first parameter is always the frame."""

    def call(name: str) -> bytes:
        return _CALL + _u(index[name])

    def load(field: str) -> bytes:
        return _GET + _u(0) + _LOAD + _u(FRAME[field])

    def store(field: str, value: bytes) -> bytes:
        return _GET + _u(0) + value + _STORE + _u(FRAME[field])

    def hand_over(function: str) -> bytes:
        argument = _GET + _u(0) + _CONST + _s(FRAME["argument"]) + _ADD
        called = load(function) + load("undefined") + _CONST + _s(1) + argument + call("qjs_call")
        return called + call("qjs_free_value") + load("argument") + call("qjs_free_value")

    release = load("text") + _IF + _VOID + load("text") + call("qjs_free_cstring") + load("result")
    release += call("qjs_free_value") + _END
    length = _GET + _u(0) + _CONST + _s(FRAME["length"]) + _ADD
    drain = load("drain") + load("undefined") + _CONST + _s(0) + _CONST + _s(0) + call("qjs_call")
    finish = _GET + _u(0) + _CALL + _u(pump) + _DROP + store("result", drain)
    finish += store("text", load("result") + length + call("qjs_get_string_len")) + load("text")
    # Not zero: a job that throws is a job done, and the others still have to run.
    jobs = _LOOP + _VOID + call("qjs_execute_pending_job") + _BR_IF + _u(0) + _END
    text = _GET + _u(1) + _GET + _u(2)
    begin = _GET + _u(0) + _GLOBAL_SET + _u(frame) + release
    evaluate = store("argument", text + load("file") + _CONST + _s(0) + call("qjs_eval"))
    broken = load("argument") + call("qjs_is_exception") + _IF + _VOID
    broken += (
        store("argument", call("qjs_get_exception")) + hand_over("fail") + _ELSE + hand_over("start") + _END
    )
    receive = store("argument", text + call("qjs_new_string")) + hand_over("receive")
    return [
        ("pump", 1, jobs + _CONST + _s(0)),
        ("launch", 3, begin + evaluate + broken + finish),
        ("deliver", 3, begin + receive + finish),
        ("reserve", 2, _GET + _u(1) + call("wasm_malloc")),
    ]


class _Vector:
    """A section that is a count and that many entries; only its ends are ever changed."""

    def __init__(self, content: bytes) -> None:
        self.count, start = _read(content, 0)
        self._entries = [content[start:]]

    def add(self, entry: bytes) -> int:
        self.append(entry)
        return self.count - 1

    def append(self, entry: bytes) -> None:
        self._entries.append(entry)
        self.count += 1

    def prepend(self, entries: list[bytes]) -> None:
        self._entries[:0] = entries
        self.count += len(entries)

    @property
    def content(self) -> bytes:
        return b"".join(self._entries)

    def encode(self) -> bytes:
        return _u(self.count) + self.content


def _sections(binary: bytes) -> Iterator[tuple[int, bytes]]:
    if binary[:8] != b"\0asm\1\0\0\0":
        raise GuestUnknown("the guest is no WebAssembly module")
    at = 8
    while at < len(binary):
        section = binary[at]
        size, start = _read(binary, at + 1)
        yield section, binary[start : start + size]
        at = start + size


def _imports(content: bytes) -> Iterator[tuple[str, int]]:
    count, at = _read(content, 0)
    for _ in range(count):
        _, at = _name(content, at)
        name, at = _name(content, at)
        if content[at] != 0:
            raise GuestUnknown(f"the guest imports {name}, which is no function")
        kind, at = _read(content, at + 1)
        yield name, kind


def _exports(content: bytes) -> Iterator[tuple[str, int, int]]:
    count, at = _read(content, 0)
    for _ in range(count):
        name, at = _name(content, at)
        index, end = _read(content, at + 1)
        yield name, content[at], index
        at = end


def _name(content: bytes, at: int) -> tuple[str, int]:
    size, at = _read(content, at)
    return content[at : at + size].decode(), at + size


def _export(name: str, kind: int, index: int) -> bytes:
    return _sized(name.encode()) + bytes([kind]) + _u(index)


def _sized(content: bytes) -> bytes:
    return _u(len(content)) + content


def _read(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _u(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _s(value: int) -> bytes:
    """Signed LEB128; only small numbers that are not negative are ever written."""
    out = bytearray()
    while value >= 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
