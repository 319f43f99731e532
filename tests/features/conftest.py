"""One database of each kind for all tests of the features, and an organization for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from tests.shared import fresh_url, migrated, new_org


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with fresh_url(request.param, tmp_path_factory.mktemp("shared")) as url, migrated(url) as database:
        yield database


@pytest.fixture
def org(shared_db: Database) -> Organization:
    with shared_db.write() as tx:
        return new_org(tx)
