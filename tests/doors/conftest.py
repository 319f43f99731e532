"""One House of each kind for all tests of the doors, and an organization in it for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ammeter.base.ids import new_id
from ammeter.wiring import House
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.shared import fresh_url


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("doors")
    with fresh_url(request.param, folder) as url, opened_house(make_settings(url, folder)) as house:
        yield house


@pytest.fixture(scope="session")
def shared_client(shared_house: House) -> Iterator[TestClient]:
    with make_client(shared_house) as client:
        yield client


@pytest.fixture
def tenant(shared_house: House, shared_client: TestClient) -> Household:
    """An organization of its own, with a key of each role."""
    return make_household(shared_house, shared_client, slug=f"org-{new_id()}")


@pytest.fixture
def neighbour(shared_house: House, shared_client: TestClient) -> Household:
    """Another organization on the same server."""
    return make_household(shared_house, shared_client, slug=f"org-{new_id()}")
