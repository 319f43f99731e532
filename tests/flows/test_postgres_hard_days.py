"""PostgreSQL that drops its connections, goes away, or takes no writes, under a real server."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import pytest
from sqlalchemy import make_url

from ammeter.features.orgs.model import Role
from tests.doors.wire import all_rows, settle
from tests.flows.outage import cut_connections, postgres_admin, postgres_away
from tests.server import Server, running, until
from tests.shared import fresh_url

CLIENTS = 8
CUTS = 12
# Longer than any wait the server allows itself: an answer that is later than this hangs.
HANGS_S = 15.0


@dataclass(frozen=True, slots=True)
class Site:
    server: Server
    client: httpx2.Client
    database_url: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hard-days")
    with fresh_url("postgresql", folder) as url:
        headers = {"authorization": f"Bearer {settle(url, folder)[Role.owner]}"}
        with (
            running(folder, database_url=url) as server,
            httpx2.Client(base_url=server.api, headers=headers, timeout=HANGS_S) as client,
        ):
            yield Site(server, client, url)


def test_connections_that_are_cut_under_requests_cost_at_most_those_requests(site: Site) -> None:
    over = threading.Event()
    minted: list[str] = []

    def keep_minting(number: int) -> list[int]:
        statuses = []
        while not over.is_set():
            body = {"name": f"client {number}", "role": "viewer"}
            for answer in (site.client.post("/org/keys", json=body), site.client.get("/org")):
                statuses.append(answer.status_code)
                if answer.status_code == 201:
                    minted.append(answer.json()["key"]["id"])
                elif answer.status_code != 200:
                    assert answer.json()["error"]["code"] == "unavailable"
        return statuses

    with ThreadPoolExecutor(CLIENTS) as threads:
        minting = [threads.submit(keep_minting, number) for number in range(CLIENTS)]
        try:
            for _ in range(CUTS):
                _until_more(minted)
                assert cut_connections(site.database_url) > 1
        finally:
            over.set()
        statuses = Counter(status for client in minting for status in client.result(2 * HANGS_S))
    assert set(statuses) <= {200, 201, 503}, statuses
    assert statuses[503] > 0
    assert set(minted) <= {row["id"] for row in all_rows(site.client, "/org/keys")}
    for _ in range(20):
        assert site.client.get("/org").status_code == 200


def test_while_the_database_is_away_the_server_says_so_and_it_comes_back_by_itself(site: Site) -> None:
    assert site.client.put("/org/secrets/BEFORE", json={"value": "x"}).status_code in (200, 201)
    with postgres_away(site.database_url):
        for _ in range(5):
            for answer in (
                site.client.get("/org"),
                site.client.get("/org/secrets"),
                site.client.put("/org/secrets/DURING", json={"value": "x"}),
            ):
                assert answer.status_code == 503
                assert answer.json()["error"]["code"] == "unavailable"
                assert int(answer.headers["retry-after"]) >= 1
                assert "the database cannot be reached" in answer.json()["error"]["message"]
        ready = httpx2.get(f"{site.server.url}/readyz", timeout=HANGS_S)
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert "the database cannot be reached" in ready.json()["checks"]["database"]
        assert httpx2.get(f"{site.server.url}/healthz").status_code == 200
        assert site.server.process.poll() is None
    assert site.client.get("/org").status_code == 200
    assert site.client.put("/org/secrets/AFTER", json={"value": "x"}).status_code in (200, 201)
    assert httpx2.get(f"{site.server.url}/readyz").status_code == 200
    names = [row["name"] for row in site.client.get("/org/secrets").json()["rows"]]
    assert names == ["AFTER", "BEFORE"]


def test_a_database_that_takes_no_writes_is_read_and_writes_are_put_off(site: Site) -> None:
    assert site.client.put("/org/secrets/READ_ONLY", json={"value": "x"}).status_code in (200, 201)
    with _read_only(site.database_url):
        for _ in range(10):
            assert site.client.get("/org/secrets").status_code == 200
        answer = site.client.delete("/org/secrets/READ_ONLY")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
        assert "the database is read-only" in answer.json()["error"]["message"]
    assert site.client.delete("/org/secrets/READ_ONLY").status_code == 200


def test_no_hard_day_left_a_traceback_of_a_request(site: Site) -> None:
    assert "request failed" not in site.server.log.read_text()


def _until_more(minted: list[str]) -> None:
    enough = len(minted) + 3
    until(lambda: len(minted) >= enough, "keys are minted again")


@contextmanager
def _read_only(url: str) -> Iterator[None]:
    name = make_url(url).database
    with postgres_admin(url) as admin:
        admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
        cut_connections(url)
        yield
        admin.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())
    cut_connections(url)
