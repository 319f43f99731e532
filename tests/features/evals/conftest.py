"""One House of each kind that may call this machine's own servers, and an organization for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ammeter.base.ids import new_id
from ammeter.wiring import House
from tests.evaluating import LOOPBACK
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.notes_server import NotesServer, notes_server
from tests.shared import fresh_url


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def lab_house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("evals")
    with (
        fresh_url(request.param, folder) as url,
        opened_house(make_settings(url, folder, **LOOPBACK)) as house,
    ):
        yield house


@pytest.fixture(scope="session")
def lab_client(lab_house: House) -> Iterator[TestClient]:
    with make_client(lab_house) as client:
        yield client


@pytest.fixture
def lab(lab_house: House, lab_client: TestClient) -> Household:
    """An organization of its own, with a key of each role."""
    return make_household(lab_house, lab_client, slug=f"org-{new_id()}")


@pytest.fixture
def notes() -> Iterator[NotesServer]:
    with notes_server() as server:
        yield server
