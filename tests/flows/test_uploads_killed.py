"""A server is killed while it takes uploads: no bundle is stored by halves, none that was told of is lost."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import httpx2

from ammeter.base.pages import PageRequest
from ammeter.engines.compiler.bundle import unpack
from ammeter.features.bundles import store
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import get_source, provision_source
from tests.doors.uploading import BASE, pets, signed
from tests.household import CACHE, OPERATOR, make_settings, opened_house
from tests.server import Server, running

CLIENTS = 4
DESCRIPTIONS = 8


def test_uploads_survive_a_kill_whole_or_not_at_all(database_url: str, tmp_path: Path) -> None:
    answered_before_the_kill = random.randint(1, DESCRIPTIONS - CLIENTS)
    token = _settle(database_url, tmp_path)
    settings = {"database_url": database_url, "cache_dir": str(CACHE)}
    with running(tmp_path, "--role", "web", **settings) as server:
        answered = asyncio.run(_upload_and_kill(server, token, answered_before_the_kill))
    assert len(answered) >= answered_before_the_kill
    stored = _check_store(database_url, tmp_path)
    assert set(answered.values()) <= stored
    with running(tmp_path, "--role", "web", name="again", **settings) as server:
        again = asyncio.run(_upload_all(server, token))
    assert {number: again[number] for number in answered} == answered
    assert stored <= set(again.values())
    assert _check_store(database_url, tmp_path) == set(again.values())
    assert len(again) == DESCRIPTIONS


def _settle(database_url: str, folder: Path) -> str:
    with opened_house(make_settings(database_url, folder)) as house, house.db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug="acme", name="Acme", region="us")
        service.set_features(tx, OPERATOR, org, code_mode=True)
        provision_source(tx, OPERATOR, org.id, name="Pets", source_slug="pets")
        return keys.mint_key(tx, OPERATOR, org.id, name="k", role=Role.admin)[1]


def _check_store(database_url: str, folder: Path) -> set[str]:
    """The ids of the bundles that are stored, each of them whole."""
    with opened_house(make_settings(database_url, folder)) as house:
        with house.db.read() as tx:
            org = service.get_org(tx, "acme")
            source = get_source(tx, org.id, "pets")
            rows = store.list_bundles(tx, source.id, None, PageRequest(page=1, page_size=200)).rows
        for row in rows:
            bundle = unpack(house.blobs.get(row.digest))
            assert (bundle.openapi_hash, len(bundle.api.operations)) == (row.openapi_hash, row.operations)
        assert len([row for row in rows if row.is_active]) <= 1
        return {row.id for row in rows}


async def _upload(client: httpx2.AsyncClient, token: str, number: int) -> str | None:
    """The id of the bundle; None where the server went away."""
    body = {"source": "pets", "openapi": pets(f"/{number}"), "promote": number % 2 == 0}
    raw = json.dumps(body).encode()
    try:
        answer = await client.post(f"{BASE}/upload", content=raw, headers=signed(token, raw))
    except httpx2.TransportError:
        return None
    assert answer.status_code == 201, answer.text
    return str(answer.json()["bundleId"])


async def _upload_and_kill(server: Server, token: str, last: int) -> dict[int, str]:
    """Several upload one description after the other until the server is killed; what was answered."""
    answered: dict[int, str] = {}
    numbers = iter(range(DESCRIPTIONS))

    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:

        async def keep_uploading() -> None:
            for number in numbers:
                bundle_id = await _upload(client, token, number)
                if bundle_id is None:
                    return
                answered[number] = bundle_id
                if len(answered) == last:
                    server.process.kill()

        await asyncio.gather(*(keep_uploading() for _ in range(CLIENTS)))
    server.process.wait(10)
    return answered


async def _upload_all(server: Server, token: str) -> dict[int, str]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:
        made = [await _upload(client, token, number) for number in range(DESCRIPTIONS)]
    return {number: bundle_id for number, bundle_id in enumerate(made) if bundle_id is not None}
