"""One demo server for the flows that only read from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flows.demo_server import Demo, serving_demo


@pytest.fixture(scope="session")
def demo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with serving_demo(tmp_path_factory.mktemp("demo")) as demo:
        yield demo
