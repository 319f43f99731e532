"""Real parts for every test: a SQLite file and a PostgreSQL database, each fresh.

A test that takes `database_url` (or anything built on it) runs once on each database.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from argon2 import PasswordHasher

from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.features.orgs import members
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
    with _postgres_database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ammeter.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest) -> str:
    """A fresh, empty database of each kind."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh, migrated database of each kind: a copy of one that was migrated before."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        shutil.copyfile(request.getfixturevalue("migrated_file"), url.removeprefix("sqlite:///"))
        yield url
    else:
        with _postgres_database(template=request.getfixturevalue("migrated_name")) as url:
            yield url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("migrated") / "ammeter.db"
    _migrate(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def migrated_name() -> Iterator[str]:
    with _postgres_database() as url:
        _migrate(url)
        yield url.rsplit("/", 1)[1]


@contextmanager
def _postgres_database(template: str = "template1") -> Iterator[str]:
    server = os.environ[VARIABLE]
    name = f"t{new_id().replace('-', '')}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    yield server.rsplit("/", 1)[0] + "/" + name
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _migrate(url: str) -> None:
    database = Database(url)
    migrate(database)
    database.close()


@pytest.fixture(scope="session", autouse=True)
def _passwords_are_cheap() -> Iterator[None]:
    """Half a second for each password is right for people, and minutes for tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """A fresh, migrated database of each kind."""
    database = Database(database_url)
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
