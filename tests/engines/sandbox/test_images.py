"""Images: what waits ready for a script is its SDK's memory, byte for byte, and nothing of another script."""

from __future__ import annotations

import ctypes
from contextlib import closing
from pathlib import Path

import pytest
import wasmtime

from ammeter.engines.sandbox.engine import guest_engine, prepare
from ammeter.engines.sandbox.image import Image, base_image, sdk_image
from ammeter.engines.sandbox.instance import Instance, tried
from ammeter.engines.sandbox.shelf import Shelf, open_shelf
from tests.engines.sandbox.parts import SDK

OPTIONS = {"calls": 10, "logChars": 1_000, "timers": 10, "clientName": "client"}
ANSWER_BYTES = 10_000


@pytest.fixture(scope="module")
def base(sandbox_cache: Path) -> Image:
    engine, artifacts = guest_engine(), prepare(sandbox_cache)
    return base_image(
        engine, wasmtime.Module.deserialize_file(engine, str(artifacts.guest)), artifacts.layout
    )


@pytest.fixture(params=["shared", "copied"])
def shelf(request: pytest.FixtureRequest) -> Shelf | None:
    """As Linux has it, and as other systems do."""
    return open_shelf() if request.param == "shared" else None


def loaded(base: Image, shelf: Shelf | None, sdk: str = SDK) -> Image:
    slices = sdk_image(base, sdk, OPTIONS, shelf)
    while True:
        try:
            next(slices)
        except StopIteration as ended:
            image: Image = ended.value
            return image


def ran(instance: Instance, script: str) -> bytes:
    instance.limit()
    instance.begin("launch", f"(async()=>{{{script}}})".encode())
    while (said := instance.poll(ANSWER_BYTES)) is None:
        pass
    return said


def memory_of(instance: Instance, image: Image) -> bytes:
    content = bytearray(ctypes.string_at(instance._base(), instance.memory_bytes))
    # Each instance has a random seed of its own.
    content[image.layout.seed : image.layout.seed + 8] = bytes(8)
    return bytes(content)


def test_pages_copied_early_hold_what_they_would_hold_later(base: Image, shelf: Shelf | None) -> None:
    image = loaded(base, shelf)
    known = tried(image)
    assert bool(known.written) == (shelf is not None)
    with closing(Instance(image)) as late, closing(Instance(known)) as early:
        assert memory_of(late, image) == memory_of(early, known)
        assert ran(late, "return 1 + 1") == ran(early, "return 1 + 1") == b"[[3,2]]"


def test_nothing_of_a_script_is_there_for_the_next(base: Image, shelf: Shelf | None) -> None:
    image = tried(loaded(base, shelf))
    with closing(Instance(image)) as untouched:
        fresh = memory_of(untouched, image)
    with closing(Instance(image)) as first:
        assert (
            ran(first, "globalThis.left = 'behind'; Array.prototype.at = null; return left")
            == b'[[3,"behind"]]'
        )
        assert b"behind" in memory_of(first, image)
    with closing(Instance(image)) as second:
        assert memory_of(second, image) == fresh
        assert ran(second, "return [typeof left, typeof [].at]") == b'[[3,["undefined","function"]]]'
