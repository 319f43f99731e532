"""A store of artifacts, and a teller of sessions, for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from tests.features.insights.stories import Teller, teller


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def told(shared_db: Database, org: Organization) -> Teller:
    return teller(shared_db, org.id)
