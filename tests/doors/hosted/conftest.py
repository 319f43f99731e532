"""One served API for all tests of the hosted endpoint, on each database: a real upload, a real upstream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ammeter.wiring import House
from tests.doors.hosted.visitor import Visitor, serve
from tests.household import make_client, make_settings, opened_house
from tests.shared import fresh_url
from tests.upstream import Upstream, running_upstream


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    with running_upstream() as running:
        yield running


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def hosting_house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("hosted")
    with fresh_url(request.param, folder) as url:
        settings = make_settings(url, folder, allow_private_networks=("127.0.0.0/8",))
        with opened_house(settings) as house:
            yield house


@pytest.fixture(scope="session")
def visitor(hosting_house: House, upstream: Upstream) -> Iterator[Visitor]:
    with make_client(hosting_house) as client:
        yield serve(hosting_house, client, upstream)


@pytest.fixture(autouse=True)
def _forget(upstream: Upstream) -> None:
    upstream.seen.clear()
    upstream.redirect_to = ""
