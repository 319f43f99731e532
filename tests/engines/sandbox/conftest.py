"""A pool for each file of tests. Compiled modules are kept from one session to the next."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.sandbox.parts import Opened


@pytest.fixture(scope="session")
def sandbox_cache() -> Path:
    """Of this user alone; the sandbox itself refuses a folder that others can write to."""
    return Path(tempfile.gettempdir()) / f"ammeter-test-sandbox-{os.getuid()}"


@pytest.fixture(scope="module")
def sandbox(sandbox_cache: Path) -> Iterator[Opened]:
    opened = Opened(sandbox_cache)
    yield opened
    opened.close()
