"""Canaries: tokens of known shape go through every live path of the server. Afterwards none of them is in
anything that it stored, said in an error or logged."""

from __future__ import annotations

import json
import logging
import random
import string
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import inspect, text

from ammeter.features.orgs.model import Role
from tests.doors.hosted.test_protocol import INITIALIZE
from tests.doors.hosted.visitor import Visitor
from tests.doors.uploading import BASE, pets, signed
from tests.upstream import TOKEN

THING = "client.echo.getThing({{ id: '{id}', 'X-Api-Key': 'k' }})"


class Canaries:
    """A token for each path it is sent on, so that one that is found tells which."""

    def __init__(self) -> None:
        self._draw = random.Random(20261115)
        self.sent: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        letters = "".join(self._draw.choice(string.ascii_letters) for _ in range(36))
        return self.sent.setdefault(path, "gh" + f"p_{letters}")


def test_no_canary_is_stored_or_logged(visitor: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    canary = Canaries()
    _search(visitor, canary)
    _run_scripts(visitor, canary)
    _send_headers(visitor, canary)
    said = [*_rest(visitor, canary), *_uploads(visitor, canary)]
    codes = [row["code"] for row in visitor.events(4, kind="script")]
    assert all("[redacted:github_token]" in code for code in codes[:3])
    stored = "\n".join(_stored(visitor))
    assert "[redacted:github_token]" in stored
    assert visitor.household.org.id in stored
    ours = [record for record in caplog.records if record.name.startswith("ammeter")]
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in ours)
    assert "/org/keys" in logged
    places = {"stored": stored, "logged": logged, "answered": "\n".join(said)}
    found = [
        (place, path)
        for place, held in places.items()
        for path, token in canary.sent.items()
        if token in held
    ]
    # The sender of a request chooses its id, for the log to hold it.
    assert found in ([], [("logged", "x_request_id")])
    assert len(canary.sent) >= 25
    assert not [place for place, held in places.items() if TOKEN in held]


def _search(visitor: Visitor, canary: Canaries) -> None:
    visitor.tool("search_sdk", {"query": f"list things {canary('query')}"})
    visitor.tool("search_sdk", {"query": canary("whole query")})
    visitor.ask("tools/call", {"name": canary("tool name"), "arguments": {}})
    visitor.ask("tools/call", {"name": "search_sdk", "arguments": {"q": canary("argument")}})


def _run_scripts(visitor: Visitor, canary: Canaries) -> None:
    """What a script returns is its agent's to see; what is kept of it is not."""
    header = (
        f"/** @intent use {canary('intent')}\n * @context {canary('context')}\n"
        f" * @frustration_level {canary('frustration')} */\n"
    )
    visitor.run(f"{header}// {canary('comment')}\nreturn 1")
    call = THING.format(id=canary("path of a call"))
    visitor.run(
        f"console.log('{canary('log')}'); const t = await {call}; return {{ t, s: '{canary('result')}' }}"
    )
    visitor.run(f"throw new Error('no {canary('thrown')}')")
    # The API sends its caller's own credentials back.
    visitor.run("const t = await client.echo.getThing({ id: 'a', 'X-Api-Key': 'k' }); return t")
    visitor.ask("tools/call", {"name": "execute_script", "arguments": {"code": 1, canary("field"): 2}})


def _send_headers(visitor: Visitor, canary: Canaries) -> None:
    info = {"name": canary("client name"), "version": canary("client version")}
    visitor.ask("initialize", {**INITIALIZE, "clientInfo": info})
    for name in ("mcp_session_id", "traceparent", "user_agent", "x_request_id", "referer", "cookie"):
        visitor.ask("tools/list", **{name: canary(name)})
    visitor.ask("ping", mcp_protocol_version=canary("protocol version"))
    visitor.post({"jsonrpc": "2.0", "id": 1, "method": canary("method")})
    visitor.post("{}", token=canary("bearer"))
    visitor.ask("ping", query=f"?environment={canary('environment')}")


def _rest(visitor: Visitor, canary: Canaries) -> Iterator[str]:
    call = visitor.household.call
    yield call("GET", "/org/keys", params={"page": canary("page")}).text
    yield call("POST", "/org/keys", json={"name": "k", "role": canary("role")}).text
    yield call("DELETE", f"/org/keys/{canary('key id')}").text
    yield call("GET", f"/insights/sessions/{canary('session id')}/trace").text
    yield call("GET", "/insights/sessions", params={"intent": canary("intent filter")}).text
    yield call("PUT", "/org/secrets/CANARY", json={"value": canary("secret")}).text
    yield call("POST", "/org/keys", content=f'{{"name": "{canary("malformed")}'.encode()).text


def _uploads(visitor: Visitor, canary: Canaries) -> Iterator[str]:
    client, token = visitor.household.client, visitor.household.tokens[Role.owner]

    def send(body: dict[str, Any], **headers: str) -> str:
        raw = json.dumps({"source": visitor.slug, "openapi": pets(), **body}).encode()
        answer = client.post(f"{BASE}/upload", content=raw, headers=signed(token, raw) | headers)
        assert answer.status_code >= 400, answer.text
        return str(answer.text)

    yield send({"manifest": {"auth": {"type": "bearer", "secretRef": canary("manifest")}}})
    yield send({}, **{"x-service-signature": canary("signature")})
    yield send({"source": canary("slug")})


def _stored(visitor: Visitor) -> Iterator[str]:
    """Every value of every table. The sealed secret is there, but not to be read."""
    with visitor.household.house.db.read() as tx:
        for table in inspect(tx).get_table_names():
            for row in tx.execute(text(f'SELECT * FROM "{table}"')):
                yield " ".join(map(str, row))
