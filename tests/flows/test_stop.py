"""An orderly stop: what is in flight is finished, what is new is refused, and the process ends with 0."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from ammeter.features.orgs.model import Role
from tests.doors.wire import Wire, connected, settle
from tests.household import make_settings, opened_house
from tests.server import Server, running, until

BODY = b'{"value": "in flight"}'
DRAIN_S = 2.5


def test_a_stop_is_announced_then_new_requests_are_refused_and_old_ones_finished(
    database_url: str, tmp_path: Path
) -> None:
    token = settle(database_url, tmp_path)[Role.owner]
    headers = {"authorization": f"Bearer {token}"}
    settings = {"database_url": database_url, "drain_s": str(DRAIN_S)}
    with running(tmp_path, **settings) as server, connected(server) as wire:
        begin(server, wire, token)
        assert httpx2.get(f"{server.url}/readyz").status_code == 200
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        until(lambda: httpx2.get(f"{server.url}/readyz").status_code == 503, "it says that it is not ready")
        ready = httpx2.get(f"{server.url}/readyz").json()
        assert ready["checks"]["stop"] == "the server is stopping"
        late = httpx2.put(f"{server.api}/org/secrets/DRAINED", json={"value": "x"}, headers=headers)
        assert late.status_code == 201
        assert httpx2.get(f"{server.url}/healthz").status_code == 200
        until(lambda: is_refused(server), "the port is closed")
        assert time.monotonic() - told >= DRAIN_S
        assert server.process.poll() is None
        wire.send(BODY[10:])
        answer = wire.answer()
        assert answer.status == 201
        assert answer.json()["name"] == "IN_FLIGHT"
        assert server.process.wait(15) == 0
    with opened_house(make_settings(database_url, tmp_path)) as house, house.db.read() as tx:
        org_id = tx.exec_driver_sql("SELECT id FROM organizations").scalar_one()
        assert house.secrets.reveal(tx, org_id, "IN_FLIGHT") == "in flight"
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("settings", [{}, {"stop_grace_s": "1"}], ids=["told twice", "grace time over"])
def test_what_is_not_finished_in_time_is_told_to_try_again(
    sqlite_url: str, tmp_path: Path, settings: dict[str, str]
) -> None:
    token = settle(sqlite_url, tmp_path)[Role.owner]
    with running(tmp_path, database_url=sqlite_url, **settings) as server, connected(server) as wire:
        begin(server, wire, token)
        server.process.send_signal(signal.SIGINT)
        until(lambda: is_refused(server), "the port is closed")
        if not settings:
            server.process.send_signal(signal.SIGINT)
        answer = wire.answer()
        assert (answer.status, answer.code) == (503, "unavailable")
        assert answer.headers["retry-after"] == "2"
        assert server.process.wait(10) == 0
    assert "Traceback" not in server.log.read_text()


def begin(server: Server, wire: Wire, token: str) -> None:
    """Send half of a request, and wait until the server works on it."""
    wire.ask("PUT", "/org/secrets/IN_FLIGHT", token, f"content-length: {len(BODY)}", body=BODY[:10])

    def in_flight() -> bool:
        # The question itself is one of the two.
        return "ammeter_http_requests_in_flight 2.0" in httpx2.get(f"{server.url}/metrics").text

    until(in_flight, "the request is in flight")


def is_refused(server: Server) -> bool:
    address = urlsplit(server.url)
    try:
        with socket.create_connection((str(address.hostname), int(address.port or 0)), 2):
            return False
    except OSError:
        return True
