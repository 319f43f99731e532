"""A server is killed while it works: what it has answered with success is there afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2

from ammeter.features.orgs.model import Role
from tests.doors.wire import all_rows, settle
from tests.server import Server, running

CLIENTS = 200
ANSWERED_BEFORE_THE_KILL = 40


def test_every_key_that_was_handed_out_works_after_a_kill(database_url: str, tmp_path: Path) -> None:
    owner = settle(database_url, tmp_path)[Role.owner]
    with running(tmp_path, "--role", "web", database_url=database_url) as server:
        tokens = asyncio.run(_mint_and_kill(server, owner))
    assert len(tokens) >= ANSWERED_BEFORE_THE_KILL
    with running(tmp_path, "--role", "web", name="again", database_url=database_url) as server:
        statuses = asyncio.run(_use(server, tokens))
        with httpx2.Client(base_url=server.api, headers=_bearer(owner)) as client:
            keys = all_rows(client, "/org/keys")
            audited = [row["target"] for row in all_rows(client, "/org/audit") if row["action"] == "key.mint"]
    assert statuses == [200] * len(tokens)
    assert {token[4:16] for token in tokens} <= {row["keyId"] for row in keys}
    assert sorted(audited) == sorted(row["keyId"] for row in keys)


async def _mint_and_kill(server: Server, owner: str) -> list[str]:
    """Many mint keys at once, on and on, until the server is killed; the tokens that arrived."""
    tokens: list[str] = []
    limits = httpx2.Limits(max_connections=None)

    async with httpx2.AsyncClient(base_url=server.api, headers=_bearer(owner), limits=limits) as client:

        async def keep_minting(number: int) -> None:
            while True:
                try:
                    body = {"name": f"k{number}", "role": "viewer"}
                    answer = await client.post("/org/keys", json=body, timeout=30)
                except httpx2.TransportError:
                    return
                assert answer.status_code == 201
                tokens.append(answer.json()["token"])
                if len(tokens) == ANSWERED_BEFORE_THE_KILL:
                    server.process.kill()

        await asyncio.gather(*(keep_minting(number) for number in range(CLIENTS)))
    server.process.wait(10)
    return tokens


async def _use(server: Server, tokens: list[str]) -> list[int]:
    async with httpx2.AsyncClient(base_url=server.api, timeout=30) as client:
        answers = await asyncio.gather(*(client.get("/org", headers=_bearer(token)) for token in tokens))
    return [answer.status_code for answer in answers]


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
