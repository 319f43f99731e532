"""A secret, a key and a password go in; then every byte that the server wrote or sent is searched."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from psycopg import sql
from sqlalchemy import make_url

from ammeter.features.orgs.model import Role
from tests.doors.wire import settle
from tests.flows.outage import rename_table
from tests.server import Server, run_command, running

OVER_REST = "rest-Zo4eiph7shohNg0a"
BY_COMMAND = "cli-ahW9aiph2OoGh3mu"


class Caller:
    """A client that keeps what it was answered, head and body; the answer that mints is the exception."""

    def __init__(self, server: Server, token: str) -> None:
        self.heard: list[bytes] = []
        self._client = httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {token}"})

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, method: str, path: str, *, is_kept: bool = True, **more: Any) -> httpx2.Response:
        answer = self._client.request(method, path, **more)
        if is_kept:
            head = [name + b": " + value for name, value in answer.headers.raw]
            self.heard.append(b"\n".join([*head, answer.content]))
        return answer


def test_no_secret_is_found_where_it_was_not_put(database_url: str, tmp_path: Path) -> None:
    owner = settle(database_url, tmp_path)[Role.owner]
    start = {"database_url": database_url, "log_level": "debug"}
    with running(tmp_path, **start) as server, Caller(server, owner) as caller:
        api = "/api/service/v1"
        minted = caller.ask(
            "POST", f"{api}/org/keys", json={"name": "k", "role": "admin"}, is_kept=False
        ).json()
        assert caller.ask("PUT", f"{api}/org/secrets/REST", json={"value": OVER_REST}).status_code == 201
        password = _commands(tmp_path, database_url)
        tokens = [minted["token"], owner]
        for word in (OVER_REST, BY_COMMAND, password, *tokens):
            _put_in_wrong_places(caller, api, word)
        for path in ("/org", "/org/keys", "/org/members", "/org/secrets", "/org/audit"):
            caller.ask("GET", api + path, params={} if path == "/org" else {"pageSize": 200})
        for path in ("/", "/healthz", "/readyz", "/metrics", f"{api}/openapi"):
            caller.ask("GET", path)
        with rename_table(database_url, "audit_events"):
            for path, body in (
                ("/org/secrets/LATE", {"value": OVER_REST}),
                ("/org/secrets/REST", {"value": password}),
            ):
                assert caller.ask("PUT", api + path, json=body).status_code == 500
        written = list(_written(database_url, tmp_path))
    assert b"Traceback" in server.log.read_bytes()
    places = [*caller.heard, *written, server.log.read_bytes(), (tmp_path / "server.out").read_bytes()]
    # What is no secret is found by the same search.
    assert [place for place in written if b"a@example.com" in place]
    assert [place for place in places if owner[4:16].encode() in place]
    for word in (OVER_REST, BY_COMMAND, password, *(token[17:] for token in tokens)):
        for spelling in _spellings(word):
            assert not [place for place in places if spelling in place], f"{word} as {spelling!r}"


def _commands(folder: Path, database_url: str) -> str:
    """A secret by way of standard input, and a member whose password is printed once."""
    put = run_command(
        folder,
        "admin",
        "secret",
        "set",
        "--org",
        "acme",
        "CLI",
        stdin=BY_COMMAND + "\n",
        database_url=database_url,
    )
    assert put.returncode == 0, put.stderr
    assert BY_COMMAND not in put.stdout + put.stderr
    added = run_command(
        folder,
        "admin",
        "member",
        "add",
        "--org",
        "acme",
        "a@example.com",
        "--json",
        database_url=database_url,
    )
    assert added.returncode == 0, added.stderr
    return str(json.loads(added.stdout)["password"])


def _put_in_wrong_places(caller: Caller, api: str, word: str) -> None:
    asked = [
        caller.ask("GET", f"{api}/org/members", params={"page": word}),
        caller.ask("GET", f"{api}/org", params={"token": word}),
        caller.ask("POST", f"{api}/org/keys", json={"name": "k", "role": word}),
        caller.ask("POST", f"{api}/org/keys", json={"name": "k", "role": "viewer", "password": word}),
        caller.ask("POST", f"{api}/org/keys", json={"name": "k", "role": "viewer", "expiresAt": word}),
        caller.ask("POST", f"{api}/org/members", json={"email": word, "name": "n", "role": "viewer"}),
        caller.ask("PUT", f"{api}/org/secrets/REST", json=[word]),
        caller.ask("PUT", f"{api}/org/secrets/REST", json={"value": [word]}),
        caller.ask("PUT", f"{api}/org/secrets/REST", content=f'{{"value": "{word}"'.encode()),
        caller.ask("PUT", f"{api}/org/secrets/REST", content=f"{word}".encode()),
        caller.ask(
            "PUT", f"{api}/org/secrets/REST", content=f'{{"value": "{word}", "value": "{word}"}}'.encode()
        ),
        caller.ask("PUT", f"{api}/org/secrets/{word}", json={"value": "x"}),
        caller.ask("DELETE", f"{api}/org/keys/{word}"),
        caller.ask("DELETE", f"{api}/org/members/{word}"),
        caller.ask("GET", f"/{word}"),
        caller.ask("GET", f"{api}/{word}/keys"),
        caller.ask("GET", f"{api}/org", headers={"x-request-id": f"{word}!"}),
        caller.ask("GET", f"{api}/org", headers={"host": word}),
        caller.ask("GET", f"{api}/org", headers={"authorization": f"Bearer {word}x"}),
        caller.ask("GET", f"{api}/org", headers={"authorization": f"Basic {word}"}),
        caller.ask("GET", f"{api}/org", headers={"authorization": word}),
    ]
    statuses = [answer.status_code for answer in asked]
    assert all(status >= 400 for status in statuses[:-5]), statuses
    assert 500 not in statuses


def _spellings(word: str) -> list[bytes]:
    raw = word.encode()
    return [raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")[:-1], json.dumps(word)[1:-1].encode()]


def _written(database_url: str, folder: Path) -> Iterator[bytes]:
    """All that the database holds: the bytes of its files, or every value of every table."""
    if database_url.startswith("sqlite"):
        files = sorted(folder.glob("ammeter.db*"))
        assert {file.name for file in files} >= {"ammeter.db", "ammeter.db-wal"}
        for file in files:
            yield file.read_bytes()
        return
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert len(tables) >= 9
        for (table,) in tables:
            for (row,) in connection.execute(
                sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table))
            ):
                yield row.encode()
