"""A browser, and a server with the demo organization and all its data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.browser import chromium
from tests.browser.demo import FullDemo, demo_with_data


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDemo]:
    with demo_with_data(tmp_path_factory.mktemp("demo")) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not for the whole session: while it is open, no other test of this process could run an event loop.
    with chromium() as opened:
        yield opened
