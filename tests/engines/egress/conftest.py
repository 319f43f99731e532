from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.upstream import Upstream, running_upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with running_upstream() as running:
        yield running
