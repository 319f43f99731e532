"""The SDKs that a worker has loaded, each with instances that wait ready. In go SDKs, loaded in slices beside
everything else; out come fresh instances for scripts.

What a script does with its instance is absent.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import wasmtime

from ammeter.engines.sandbox.image import Image, ImageFailed, sdk_image
from ammeter.engines.sandbox.instance import Instance, tried
from ammeter.engines.sandbox.shelf import Shelf

_SPARES = 4
_IMAGES_WITH_SPARES = 3


@dataclass(slots=True, kw_only=True)
class Loaded:
    image: Image
    client_name: str
    spares: deque[Instance] = field(default_factory=deque)


@dataclass(slots=True, kw_only=True)
class Loading:
    slices: Generator[None, None, Image]
    client_name: str


class Images:
    def __init__(self, base: Image, shelf: Shelf | None) -> None:
        self._base, self._shelf = base, shelf
        self._kept: OrderedDict[int, Loaded | Loading | str] = OrderedDict()
        self._loads: deque[int] = deque()

    @property
    def is_loading(self) -> bool:
        return bool(self._loads)

    def load(self, number: int, wanted: dict[str, Any]) -> None:
        slices = sdk_image(self._base, wanted["sdk"], wanted["options"], self._shelf)
        self._kept[number] = Loading(slices=slices, client_name=wanted["options"]["clientName"])
        self._loads.append(number)

    def go_on(self) -> int | None:
        """One slice of loading; the number of an image that is loaded now, or has failed."""
        number = self._loads[0]
        loading = self._kept.get(number)
        if isinstance(loading, Loading):
            try:
                next(loading.slices)
            except StopIteration as ended:
                self._kept[number] = Loaded(image=tried(ended.value), client_name=loading.client_name)
            except ImageFailed as failed:
                self._kept[number] = str(failed)
            else:
                self._loads.rotate(-1)
                return None
        self._loads.popleft()
        return number

    def find(self, number: int) -> Loaded | Loading | str | None:
        """A text says why it could not be loaded."""
        if number in self._kept:
            self._kept.move_to_end(number)
        return self._kept.get(number)

    def forget(self, number: int) -> list[Instance]:
        """Gives the instances that are of no more use."""
        kept = self._kept.pop(number, None)
        return list(kept.spares) if isinstance(kept, Loaded) else []

    def take(self, loaded: Loaded) -> Instance:
        """Raises `WasmtimeError` where there is no memory for one."""
        return loaded.spares.popleft() if loaded.spares else Instance(loaded.image)

    def lacking(self) -> Loaded | None:
        """A recent one with too few instances ready."""
        for kept in list(self._kept.values())[: -_IMAGES_WITH_SPARES - 1 : -1]:
            if isinstance(kept, Loaded) and len(kept.spares) < _SPARES:
                return kept
        return None

    def refill(self) -> bool:
        """One instance where one is lacking; False where there is no memory for it."""
        if loaded := self.lacking():
            try:
                loaded.spares.append(Instance(loaded.image))
            except (wasmtime.WasmtimeError, OSError):
                # The script that needs one is told so.
                return False
        return True
