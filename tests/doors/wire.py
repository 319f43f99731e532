"""HTTP by hand, for requests that no client library would send, and an organization to send them for."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ammeter.base.pages import MAX_PAGE_SIZE
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from tests.household import API, OPERATOR, make_settings, opened_house
from tests.server import Server

ANSWER_S = 10.0


def settle(database_url: str, folder: Path) -> dict[Role, str]:
    """An organization with a key of each role, for a server that is started afterwards."""
    with opened_house(make_settings(database_url, folder)) as house, house.db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug="acme", name="Acme", region="us")
        return {role: keys.mint_key(tx, OPERATOR, org.id, name=role.name, role=role)[1] for role in Role}


def all_rows(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    """Every row of a list, page after page."""
    rows: list[dict[str, Any]] = []
    page: dict[str, Any] = {"hasMore": True}
    while page["hasMore"]:
        number = len(rows) // MAX_PAGE_SIZE + 1
        page = client.get(path, params={"page": number, "pageSize": MAX_PAGE_SIZE}).json()
        rows += page["rows"]
    return rows


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection to a server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def ask(self, method: str, path: str, token: str, *headers: str, body: bytes = b"") -> None:
        """The head of a request to the API, and as much of a body as is given."""
        self.send("\r\n".join(self._head(method, path, token, *headers)).encode() + b"\r\n\r\n" + body)

    @staticmethod
    def _head(method: str, path: str, token: str, *headers: str) -> Iterator[str]:
        yield f"{method} {API}{path} HTTP/1.1"
        yield "host: localhost"
        if token:
            yield f"authorization: Bearer {token}"
        yield from headers

    def answer(self, timeout_s: float = ANSWER_S) -> Answer:
        self._connection.settimeout(timeout_s)
        response = http.client.HTTPResponse(self._connection)
        response.begin()
        return Answer(status=response.status, headers=response.headers, body=response.read())

    def is_answered(self, within_s: float) -> bool:
        """Whether an answer has begun to arrive; waits that long for it."""
        self._connection.settimeout(within_s)
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return False

    def is_closed(self, timeout_s: float = ANSWER_S) -> bool:
        """Whether the server ends the connection without another word."""
        self._connection.settimeout(timeout_s)
        try:
            return self._connection.recv(1) == b""
        except ConnectionResetError:
            return True

    def dribble(self, data: bytes, *, every_s: float, for_s: float) -> None:
        """Send byte after byte until an answer comes or the time is over."""
        deadline = time.monotonic() + for_s
        for byte in data:
            if self.is_answered(within_s=every_s) or time.monotonic() > deadline:
                return
            self.send(bytes([byte]))


@contextmanager
def connected(server: Server) -> Iterator[Wire]:
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), ANSWER_S) as connection:
        yield Wire(connection)
