"""A blob store as the tests see it from both ends: through its face, and from behind, where content
can be tampered with. `python -m tests.engines.blobs.sides` puts blobs until it is killed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ammeter.engines.blobs.open import open_blobs
from ammeter.engines.blobs.port import Blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    options: dict[str, Any]
    overwrite: Callable[[str, bytes], None]
    """Put other bytes at a storage path, behind the store's back."""

    def open(self) -> Blobs:
        return open_blobs(**self.options)


def put_until_killed(options: dict[str, Any]) -> None:
    """One acknowledged digest a line; sizes differ so that a kill meets every step of a put."""
    blobs = open_blobs(**options)
    while True:
        for size_bytes in (10, 5_000, 700_000):
            print(blobs.put(os.urandom(size_bytes)), flush=True)


if __name__ == "__main__":
    put_until_killed(json.loads(sys.argv[1]))
