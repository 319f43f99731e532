"""A SQLite file that is locked, read-only or on a full disk: reads go on, writes say 503, nothing is lost."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from ammeter.features.orgs.model import Role
from ammeter.wiring import House
from tests.household import Household, make_client, make_household, make_settings, opened_house, refusal

BUSY_S = 5.0


@pytest.fixture
def server(sqlite_url: str, tmp_path: Path) -> Iterator[Household]:
    with opened_house(make_settings(sqlite_url, tmp_path)) as house, make_client(house) as client:
        yield make_household(house, client)


@contextmanager
def locked(house: House) -> Iterator[None]:
    """Another program writes to the file, until the block ends."""
    other = sqlite3.connect(str(make_url(house.db.url).database), isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


@contextmanager
def writer_told(house: House, word: str, back: str) -> Iterator[None]:
    """The one connection that writes is told a PRAGMA, until the block ends."""
    _tell(house, word)
    yield
    _tell(house, back)


def _tell(house: House, word: str) -> None:
    with closing(house.db.writer.raw_connection()) as pooled:
        driver = pooled.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute(f"PRAGMA {word}").close()


def test_while_the_file_is_locked_reads_go_on_and_writes_are_put_off(server: Household) -> None:
    assert server.call("PUT", "/org/secrets/BEFORE", json={"value": "x"}).status_code == 201
    with locked(server.house), ThreadPoolExecutor(2) as threads:
        started = time.monotonic()
        write = threads.submit(server.call, "PUT", "/org/secrets/DURING", json={"value": "x"})
        # This key has not been used yet: its rate limit cannot be drawn from, and gives way.
        fresh = threads.submit(server.call, "GET", "/org", Role.viewer)
        for _ in range(20):
            assert server.call("GET", "/org").status_code == 200
            assert server.call("GET", "/org/secrets").json()["total"] == 1
        assert time.monotonic() - started < BUSY_S
        assert not write.done()
        assert_put_off(write.result(2 * BUSY_S), "the database")
        assert time.monotonic() - started >= BUSY_S - 0.5
        assert fresh.result(3 * BUSY_S).status_code == 200
    assert server.call("PUT", "/org/secrets/AFTER", json={"value": "x"}).status_code == 201
    assert names(server) == ["AFTER", "BEFORE"]


def test_a_lock_that_is_given_back_in_time_is_not_noticed(server: Household) -> None:
    assert server.call("GET", "/org").status_code == 200
    with ThreadPoolExecutor(1) as threads:
        with locked(server.house):
            write = threads.submit(server.call, "PUT", "/org/secrets/WAITED", json={"value": "x"})
            for _ in range(10):
                assert server.call("GET", "/org/members").status_code == 200
            assert not write.done()
        assert write.result(BUSY_S).status_code == 201


def test_a_read_only_file_is_read_and_writes_are_put_off(server: Household) -> None:
    assert server.call("PUT", "/org/secrets/BEFORE", json={"value": "x"}).status_code == 201
    with writer_told(server.house, "query_only = ON", "query_only = OFF"):
        for role in Role:
            assert server.call("GET", "/org", role).status_code == 200
        for answer in (
            server.call("PUT", "/org/secrets/DURING", json={"value": "x"}),
            server.call("DELETE", "/org/secrets/BEFORE"),
            server.call("POST", "/org/keys", json={"name": "k", "role": "viewer"}),
        ):
            assert_put_off(answer, "the database file is read-only")
        assert server.client.get("/readyz").status_code == 200
    assert server.call("PUT", "/org/secrets/AFTER", json={"value": "x"}).status_code == 201
    assert names(server) == ["AFTER", "BEFORE"]


def test_on_a_full_disk_what_was_acknowledged_is_kept_and_nothing_else(server: Household) -> None:
    acknowledged = []
    with server.house.db.read() as tx:
        pages = tx.exec_driver_sql("PRAGMA page_count").scalar_one()
    with writer_told(server.house, f"max_page_count = {pages + 20}", "max_page_count = 1000000"):
        for number in range(40):
            answer = put_large(server, number)
            if answer.status_code == 201:
                acknowledged.append(f"LARGE_{number:02}")
            else:
                assert_put_off(answer, "the disk that holds the database is full")
        assert 0 < len(acknowledged) < 20
        assert names(server) == acknowledged
    assert put_large(server, 40).status_code == 201
    assert names(server) == [*acknowledged, "LARGE_40"]
    with server.house.db.read() as tx:
        assert tx.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        assert server.house.secrets.reveal(tx, server.org.id, acknowledged[-1]) == "x" * 16_000


def put_large(server: Household, number: int) -> Any:
    return server.call("PUT", f"/org/secrets/LARGE_{number:02}", json={"value": "x" * 16_000})


def names(server: Household) -> list[str]:
    return [row["name"] for row in server.call("GET", "/org/secrets").json()["rows"]]


def assert_put_off(answer: Any, reason: str) -> None:
    assert refusal(answer) == (503, "unavailable")
    assert answer.json()["error"]["message"].startswith(f"Not done: {reason}")
    assert answer.headers["retry-after"] == "1"
