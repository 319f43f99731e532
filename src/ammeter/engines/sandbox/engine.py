"""How WebAssembly is compiled here: one set of rules for the guest that runs scripts, one for the compiler
that strips types. In go the registry's binaries, out come native modules, kept in a folder of one's own.

A kept file is native code that workers load unchecked: the folder must belong to this user and be closed
to others, or nothing is taken from it. Instances and scripts are absent.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import platform
import re
import stat
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import wasmtime
from wasmtime import _bindings as ffi

from ammeter.engines.sandbox.guest import MAX_MEMORY_BYTES, bake, seal
from ammeter.engines.sandbox.image import Layout, boot

# Each start marks what it uses; whatever nobody marked for so long is of another version.
_UNUSED_S = 24 * 3600.0
_OURS = ("guest-*.cwasm", "guest-*.json", "stripper-*.cwasm", "new-*")


class PartsMissing(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(f"The sandbox's part {name} is not built. Install Ammeter anew: scripts/setup")


class CacheUnsafe(Exception):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds native code and must belong to this user and be closed to others: chmod 700 it."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """Where the compiled modules lie; a worker reads them before it locks itself in."""

    guest: Path
    layout: Layout
    stripper: Path


def guest_engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.consume_fuel = True
    config.cranelift_opt_level = "speed"
    config.wasm_threads = False
    config.memory_reservation = MAX_MEMORY_BYTES
    config.memory_guard_size = 1 << 20
    # A fiber's stack must be larger than what wasm may use of it: equal sizes end the process.
    config.max_wasm_stack = 2 << 20
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), 4 << 20)
    return wasmtime.Engine(config)


def stripper_engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.consume_fuel = True
    # Without optimization it compiles in two thirds of the time and runs as fast.
    config.cranelift_opt_level = "none"
    return wasmtime.Engine(config)


def prepare(cache: Path) -> Artifacts:
    """Compile what is not there yet; takes seconds the first time and blocks."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = cache.stat()
    if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise CacheUnsafe(cache)
    guest, layout = _guest(cache)
    stripper = _kept(cache, "stripper", _embedded(part("swc.js")), stripper_engine())
    _tidy(cache, {guest, guest.with_suffix(".json"), stripper})
    return Artifacts(guest=guest, layout=layout, stripper=stripper)


def _tidy(cache: Path, used: set[Path]) -> None:
    """Remove what other versions left behind. A process that still runs one makes it anew if it must."""
    for place in used:
        os.utime(place)
    oldest = time.time() - _UNUSED_S
    for pattern in _OURS:
        for place in cache.glob(pattern):
            # Another process may be faster.
            with contextlib.suppress(FileNotFoundError):
                if place not in used and place.stat().st_mtime < oldest:
                    place.unlink()


def _guest(cache: Path) -> tuple[Path, Layout]:
    sealed = seal(part("quickjs.wasm"))
    own = {name: files(__package__).joinpath(name).read_text() for name in ("prelude.js", "values.js")}
    prelude = [part("web.js").decode(), f"({own['prelude.js']})({own['values.js']})"]
    digest = _digest(sealed, *(text.encode() for text in prelude))
    place, note = cache / f"guest-{digest}.cwasm", cache / f"guest-{digest}.json"
    if not (place.exists() and note.exists()):
        memory, layout = boot(stripper_engine(), sealed, prelude)
        native = wasmtime.Module(guest_engine(), bake(sealed, memory, layout.stack_pointer)).serialize()
        _write(place, bytes(native))
        _write(note, json.dumps(asdict(layout)).encode())
    return place, Layout(**json.loads(note.read_text()))


def part(name: str) -> bytes:
    place = files(__package__).joinpath("generated", name)
    if not place.is_file():
        raise PartsMissing(name)
    return place.read_bytes()


def _embedded(script: bytes) -> bytes:
    """swc's package carries its module as text inside its JavaScript."""
    found = re.search(rb"'([A-Za-z0-9+/=]{100000,})', 'base64'", script)
    if found is None:
        raise PartsMissing("swc.js with its module")
    return base64.b64decode(found[1])


def _kept(cache: Path, name: str, binary: bytes, engine: wasmtime.Engine) -> Path:
    place = cache / f"{name}-{_digest(binary)}.cwasm"
    if not place.exists():
        _write(place, bytes(wasmtime.Module(engine, binary).serialize()))
    return place


def _digest(*contents: bytes) -> str:
    # The rules are part of the name: what was made by other rules is of no use.
    rules = [Path(__file__).with_name(name).read_bytes() for name in ("engine.py", "guest.py", "image.py")]
    machine = f"{version('wasmtime')} {platform.machine()} {sys.platform}".encode()
    return hashlib.sha256(b"\0".join([*contents, *rules, machine])).hexdigest()[:32]


def _write(place: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix="new-", delete=False) as file:
        file.write(content)
        file.flush()
        # Before it has its name: after a power cut there is the whole file or none.
        os.fsync(file.fileno())
    Path(file.name).rename(place)
