"""A pool for each file of tests. Compiled modules are kept from one session to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.sandbox.parts import Opened


@pytest.fixture(scope="session")
def sandbox_cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    return Path(request.config.cache.mkdir("sandbox"))


@pytest.fixture(scope="module")
def sandbox(sandbox_cache: Path) -> Iterator[Opened]:
    opened = Opened(sandbox_cache)
    yield opened
    opened.close()
