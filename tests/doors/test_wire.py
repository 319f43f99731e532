"""On a real socket: bodies that are endless, slow or broken off, and what a proxy adds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from ammeter.features.orgs.model import Role
from tests.doors.wire import connected, settle
from tests.server import Server, running, until
from tests.shared import fresh_url

PIECE = b" " * 65_536
PIECES = 4096
BODY_TIMEOUT_S = 1.0
TRUSTED = {"sqlite": "127.0.0.0/8,203.0.113.9", "postgresql": "10.0.0.0/8"}
FORWARDED = {"x-forwarded-for": "198.51.100.1, 203.0.113.9", "x-forwarded-proto": "https"}
# What the socket buffers of both ends may hold beyond what the server has looked at.
BUFFERED_BYTES = 24 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Site:
    server: Server
    token: str
    trusts_us: bool
    """Whether this machine is a trusted proxy of the server."""

    def log_of(self, request_id: str) -> str:
        """The lines of the log about a request, once the last of them is there."""

        def lines() -> list[str]:
            return [line for line in self.server.log.read_text().splitlines() if request_id in line]

        until(lambda: any('"status"' in line for line in lines()), f"the log tells of {request_id}")
        return "\n".join(lines())


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("wire")
    with fresh_url(request.param, folder) as url:
        token = settle(url, folder)[Role.owner]
        settings = {"body_timeout_s": str(BODY_TIMEOUT_S), "trusted_proxies": TRUSTED[request.param]}
        with running(folder, "--role", "web", database_url=url, **settings) as server:
            yield Site(server, token, trusts_us=request.param == "sqlite")


class Pieces:
    """A body without a declared length, far over any limit, and how much of it was taken."""

    def __init__(self) -> None:
        self.taken_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(PIECES):
            self.taken_bytes += len(PIECE)
            yield PIECE


def test_an_endless_body_is_refused_while_it_is_sent(site: Site) -> None:
    body = Pieces()
    with httpx2.Client(headers={"authorization": f"Bearer {site.token}"}) as client:
        answer = client.put(f"{site.server.api}/org/secrets/ENDLESS", content=iter(body), timeout=20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")
    assert answer.headers["connection"] == "close"
    assert body.taken_bytes < BUFFERED_BYTES < PIECES * len(PIECE)


def test_an_endless_body_of_a_stranger_is_not_taken_either(site: Site) -> None:
    body = Pieces()
    answer = httpx2.put(f"{site.server.api}/org/secrets/ENDLESS", content=iter(body), timeout=20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert answer.headers["connection"] == "close"
    assert body.taken_bytes < BUFFERED_BYTES


def test_an_endless_body_where_none_belongs_is_not_taken_either(site: Site) -> None:
    body = Pieces()
    headers = {"authorization": f"Bearer {site.token}"}
    answer = httpx2.request("GET", f"{site.server.api}/org", content=iter(body), headers=headers, timeout=20)
    assert answer.status_code == 200
    assert body.taken_bytes < BUFFERED_BYTES


def test_a_body_declared_too_large_is_refused_before_a_byte_of_it_is_sent(site: Site) -> None:
    with connected(site.server) as wire:
        wire.ask("PUT", "/org/secrets/LARGE", site.token, "content-length: 1048577")
        answer = wire.answer()
        assert (answer.status, answer.code) == (413, "payload_too_large")
        assert wire.is_closed()


def test_a_body_that_waits_for_leave_gets_it_only_with_a_key(site: Site) -> None:
    with connected(site.server) as wire:
        wire.ask("PUT", "/org/secrets/LEAVE", "", "content-length: 14", "expect: 100-continue")
        assert wire.answer().status == 401
    with connected(site.server) as wire:
        wire.ask("PUT", "/org/secrets/LEAVE", site.token, "content-length: 14", "expect: 100-continue")
        assert wire.is_answered(within_s=5)
        wire.send(b'{"value": "x"}')
        assert wire.answer().status in (200, 201)


@pytest.mark.parametrize("framing", ["content-length: 1000", "transfer-encoding: chunked"])
def test_a_body_that_dribbles_is_refused_within_its_time(site: Site, framing: str) -> None:
    with connected(site.server) as wire:
        started = time.monotonic()
        wire.ask(
            "PUT", "/org/secrets/SLOW", site.token, framing, body=b"3e8\r\n" if "chunked" in framing else b""
        )
        wire.dribble(b" " * 999, every_s=0.1, for_s=10)
        answer = wire.answer()
        assert BODY_TIMEOUT_S <= time.monotonic() - started < BODY_TIMEOUT_S + 3
        assert (answer.status, answer.code) == (400, "malformed_json")
        assert "did not arrive within 1 seconds" in answer.json()["error"]["message"]
        assert wire.is_closed()


def test_a_body_that_stands_still_is_refused_within_its_time(site: Site) -> None:
    with connected(site.server) as wire:
        wire.ask("PUT", "/org/secrets/SLOW", site.token, "content-length: 14", body=b'{"value')
        answer = wire.answer(BODY_TIMEOUT_S + 3)
        assert (answer.status, answer.code) == (400, "malformed_json")
        assert "(7 bytes came)" in answer.json()["error"]["message"]


def test_slow_bodies_hold_nobody_else_up(site: Site) -> None:
    with connected(site.server) as slow:
        slow.ask("PUT", "/org/secrets/SLOW", site.token, "content-length: 14", body=b"{")
        for _ in range(20):
            with connected(site.server) as quick:
                quick.ask("GET", "/org", site.token)
                assert quick.answer(BODY_TIMEOUT_S / 2).status == 200
        assert slow.answer().status == 400


def test_a_client_that_goes_away_within_its_body_is_no_fault_of_ours(site: Site) -> None:
    request_id = "gone-away-0001"
    with connected(site.server) as wire:
        wire.ask(
            "PUT",
            "/org/secrets/GONE",
            site.token,
            "content-length: 14",
            f"x-request-id: {request_id}",
            body=b"{",
        )
    logged = site.log_of(request_id)
    assert json.loads(logged)["status"] == 400
    assert "Traceback" not in site.server.log.read_text()


def test_a_small_refused_body_keeps_the_connection(site: Site) -> None:
    with connected(site.server) as wire:
        for token, status in (("", 401), (site.token, 422), ("", 401), (site.token, 400)):
            body = b'{"valu": 1}' if status == 422 else b"not json"
            wire.ask("PUT", "/org/secrets/KEPT", token, f"content-length: {len(body)}", body=body)
            answer = wire.answer()
            assert answer.status == status
            assert answer.headers["connection"] is None


@pytest.mark.parametrize(
    "nonsense",
    [
        b"GARBAGE\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0" * 100,
    ],
)
def test_what_is_not_http_is_refused_and_nothing_else_happens(site: Site, nonsense: bytes) -> None:
    with connected(site.server) as wire:
        wire.send(nonsense)
        assert wire.answer().status == 400
        assert wire.is_closed()
    assert "Traceback" not in site.server.log.read_text()


def test_a_request_to_become_a_web_socket_is_answered_as_the_read_it_is(site: Site) -> None:
    with connected(site.server) as wire:
        wire.ask(
            "GET",
            "/org",
            site.token,
            "connection: Upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        )
        assert wire.answer().status == 200
    assert "Traceback" not in site.server.log.read_text()


def test_a_request_without_a_host_is_refused(site: Site) -> None:
    with connected(site.server) as wire:
        wire.send(b"GET / HTTP/1.0\r\n\r\n")
        assert wire.answer().status == 404


def test_forwarded_headers_are_believed_from_a_trusted_proxy_only(site: Site) -> None:
    headers = {"authorization": f"Bearer {site.token}", "x-request-id": "forwarded-0001"}
    with httpx2.Client(base_url=site.server.api, headers=headers) as client:
        put = client.put("/org/secrets/FORWARDED", json={"value": "x"}, headers=FORWARDED)
        plain = client.get("/org/audit")
    origin = "198.51.100.1" if site.trusts_us else "127.0.0.1"
    assert plain.json()["rows"][0]["origin"] == origin
    assert f'"client": "{origin}"' in site.log_of("forwarded-0001")
    assert ("strict-transport-security" in put.headers) == site.trusts_us
    assert "strict-transport-security" not in plain.headers
