"""Real parts for every test: a SQLite file and a PostgreSQL database, each fresh.

A test that takes `database_url` (or anything built on it) runs once on each database.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.wiring import House
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.postgres import VARIABLE, postgres_server

_server = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    # Once for the whole session: the xdist workers inherit the variable.
    if not hasattr(config, "workerinput"):
        os.environ[VARIABLE] = _server.enter_context(postgres_server())


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _server.close()
        os.environ.pop(VARIABLE, None)


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A fresh, empty PostgreSQL database."""
    server = os.environ[VARIABLE]
    name = f"t{new_id().replace('-', '')}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    yield server.rsplit("/", 1)[0] + "/" + name
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ammeter.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh, empty database of each kind."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """A fresh, migrated database of each kind."""
    database = Database(database_url)
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[House]:
    """A whole House on a fresh database of each kind."""
    with opened_house(make_settings(database_url, tmp_path)) as opened:
        yield opened


@pytest.fixture
def household(house: House) -> Iterator[Household]:
    """An organization with a key of each role, and a client at the doors."""
    with make_client(house) as client:
        yield make_household(house, client)
