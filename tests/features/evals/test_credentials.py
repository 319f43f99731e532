"""Sources that ask who comes: every kind of auth profile against a server that wants just that, and none of
what it is met with in a trace."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import pytest
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ammeter.base.ids import new_id
from ammeter.features.sources import store as source_store
from ammeter.features.sources.model import AuthProfile, AuthType, Source
from tests.evaluating import add_source, plan, step
from tests.features.evals.playing import echoed, end_of, played
from tests.household import Household
from tests.notes_server import NotesServer, serving

SECRET = "quiet-harbour-1234"
TOKEN = "fetched-lantern-5678"
PAIR = base64.b64encode(f"ada:{SECRET}".encode()).decode()


def guarded(lab: Household, notes: NotesServer, kind: AuthType, config: dict[str, Any]) -> Source:
    source = add_source(lab.house, lab.org.id, notes.url)
    for name, value in (("NOTES", SECRET), ("USER", "ada")):
        assert lab.call("PUT", f"/org/secrets/{name}", json={"value": value}).status_code == 201
    profile = AuthProfile(
        id=new_id(),
        org_id=lab.org.id,
        source_id=source.id,
        name="default",
        auth_type=kind,
        auth_config=config,
        created_at=source.created_at,
    )
    with lab.house.db.write() as tx:
        source_store.insert_auth_profile(tx, profile)
    return source


@contextmanager
def token_server() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """An authorization server that gives its one token to whoever knows the secret; what it was asked."""
    asked: list[dict[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        request = Request(scope, receive)
        form = dict(parse_qsl((await request.body()).decode()))
        asked.append(form)
        known = base64.b64encode(f"robot:{SECRET}".encode()).decode()
        answer: Response = JSONResponse({"error": "invalid_client"}, 401)
        if request.headers.get("authorization") == f"Basic {known}":
            answer = JSONResponse({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 600})
        await answer(scope, receive, send)

    with serving(app) as url:
        yield f"{url}/token", asked


@pytest.mark.parametrize(
    ("kind", "config", "wanted"),
    [
        ("bearer_token", {"secret_ref": "secret:NOTES"}, f"Bearer {SECRET}"),
        ("api_key_header", {"secret_ref": "secret:NOTES", "header_name": "Authorization"}, SECRET),
        ("basic", {"username_ref": "secret:USER", "password_ref": "secret:NOTES"}, f"Basic {PAIR}"),
    ],
)
def test_secrets_open_the_source_and_never_reach_the_trace(
    lab: Household, notes: NotesServer, kind: AuthType, config: dict[str, Any], wanted: str
) -> None:
    notes.authorization = wanted
    run = played(lab, guarded(lab, notes, kind, config), echoed(SECRET))
    assert end_of(run) == ("pass", "Passed", "none"), run
    # The agent goes on with what it heard; what is kept is blanked.
    assert notes.made("echo")[1]["text"].startswith(f"{SECRET} ")
    assert SECRET not in shown(lab, run)
    assert "[redacted:" in shown(lab, run)


def test_a_fetched_token_opens_the_source_and_never_reaches_the_trace(
    lab: Household, notes: NotesServer
) -> None:
    notes.authorization = f"Bearer {TOKEN}"
    with token_server() as (url, asked):
        config = {
            "token_url": url,
            "client_id": "robot",
            "client_secret_ref": "secret:NOTES",
            "scopes": ["notes.read"],
        }
        source = guarded(lab, notes, "oauth2_client_credentials", config)
        run = played(lab, source, echoed(f"{TOKEN} and {SECRET}"))
    assert end_of(run) == ("pass", "Passed", "none"), run
    assert asked == [{"grant_type": "client_credentials", "scope": "notes.read"}]
    assert TOKEN not in shown(lab, run)
    assert SECRET not in shown(lab, run)


class Rotating(NotesServer):
    """Takes the newest token that was fetched, and revokes it after so many requests."""

    def __init__(self, taken: int) -> None:
        super().__init__()
        self.left = self.taken = taken
        self.revoked: set[str] = set()
        self.sent = ""

    def _tools(self) -> MCPServer[Any]:
        server = super()._tools()

        @server.tool(description="Tells what it is met with.")
        def tell() -> str:
            self.calls.append(("tell", {}))
            return self.sent.removeprefix("Bearer ")

        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = Request(scope).headers.get("authorization", "")
            if self.left == 0:
                self.revoked.add(sent)
                self.left = self.taken
            if sent in self.revoked or not sent.startswith("Bearer lantern-"):
                await Response("who are you?", 401)(scope, receive, send)
                return
            self.left, self.sent = self.left - 1, sent
        await super().__call__(scope, receive, send)


@contextmanager
def counting_token_server() -> Iterator[tuple[str, list[str]]]:
    given: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        await Request(scope, receive).body()
        given.append(f"lantern-{len(given):06}-of-the-harbour")
        answer = JSONResponse({"access_token": given[-1], "token_type": "Bearer", "expires_in": 600})
        await answer(scope, receive, send)

    with serving(app) as url:
        yield f"{url}/token", given


@pytest.mark.parametrize(("taken", "fetched"), [(100, 1), (4, 2), (3, 3)])
def test_a_token_that_is_revoked_early_is_fetched_anew_and_no_call_is_lost(
    lab: Household, taken: int, fetched: int
) -> None:
    notes = Rotating(taken)
    with serving(notes) as place, counting_token_server() as (url, given):
        notes.url = f"{place}/mcp"
        config = {"token_url": url, "client_id": "robot", "client_secret_ref": "secret:NOTES"}
        source = guarded(lab, notes, "oauth2_client_credentials", config)
        run = played(lab, source, plan(*[step("tell")] * 5))
    assert end_of(run) == ("pass", "Passed", "none"), run
    assert len(notes.made("tell")) == 5
    assert len(given) == fetched
    assert "[redacted:" in shown(lab, run)
    assert not any(token in shown(lab, run) for token in given)


def test_a_source_that_takes_no_token_is_asked_with_one_more_and_no_further(lab: Household) -> None:
    notes = Rotating(0)
    with serving(notes) as place, counting_token_server() as (url, given):
        notes.url = f"{place}/mcp"
        config = {"token_url": url, "client_id": "robot", "client_secret_ref": "secret:NOTES"}
        source = guarded(lab, notes, "oauth2_client_credentials", config)
        run = played(lab, source, plan(step("list_notes")))
    assert end_of(run) == ("fail", "Errored", "auth_error"), run
    assert 2 <= len(given) <= 4
    assert notes.calls == []


def test_a_token_that_is_not_to_be_had_is_told_without_the_secret(lab: Household, notes: NotesServer) -> None:
    with token_server() as (url, _):
        config = {"token_url": url, "client_id": "nobody", "client_secret_ref": "secret:NOTES"}
        source = guarded(lab, notes, "oauth2_client_credentials", config)
        run = played(lab, source, plan(step("list_notes")))
    assert end_of(run) == ("fail", "Errored", "auth_error")
    assert "401" in run["error"]
    assert SECRET not in shown(lab, run)


def shown(lab: Household, run: dict[str, Any]) -> str:
    place = f"/runs/{run['id']}"
    return "".join(lab.call("GET", place + part).text for part in ("", "/trace", "/evaluation"))
