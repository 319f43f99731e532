"""`ammeter serve --demo`: a first start gives an organization, an API that answers and its bundle; a second
one finds them."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ammeter.cli.demo import serve_demo
from ammeter.cli.first import FirstOwner
from ammeter.cli.remote import Remote
from ammeter.doors.demo_api.names import DEMO_SECRET
from ammeter.engines.compiler.bundle import Bundle, unpack
from ammeter.features.bundles.service import find_active
from ammeter.features.orgs import service
from ammeter.features.sources.service import get_source
from tests.household import CACHE, make_settings, opened_house
from tests.server import Server, running, until

SERVED = "the demo's bundle"


def demo(folder: Path, port: int, name: str) -> Any:
    return running(folder, "--demo", name=name, port=str(port), cache_dir=str(CACHE))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def owner(folder: Path) -> FirstOwner:
    return FirstOwner(**json.loads((folder / "demo.json").read_text()))


def upload(server: Server, by: FirstOwner) -> str:
    """A bundle of the owner's own, promoted."""
    answer = {"200": {"description": "ok"}}
    mine = {
        "openapi": "3.0.3",
        "info": {"title": "Mine", "version": "1"},
        "servers": [{"url": "https://mine.example"}],
        "paths": {"/x": {"get": {"responses": answer}}},
    }
    remote = Remote(server.url, by.token)
    raw = json.dumps({"source": "demo-api", "openapi": mine, "promote": True}).encode()
    made: str = remote.post("/api/openapi-artifacts/upload", raw, headers=remote.signature(raw))["bundleId"]
    return made


def rows(server: Server, folder: Path) -> Any:
    """The demo's bundles; the one of its pull request, which comes later, is left out."""
    headers = {"authorization": f"Bearer {owner(folder).token}"}
    found = httpx2.get(f"{server.url}/api/openapi-artifacts?source=demo-api", headers=headers).json()["rows"]
    return [row for row in found if row["pullRequestNumber"] is None]


def logged(server: Server) -> list[str]:
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return [line["message"] for line in lines if line["logger"] == "ammeter.demo"]


def settled(server: Server) -> list[str]:
    until(lambda: any(SERVED in line and "is served" in line for line in logged(server)), "it is served", 60)
    return logged(server)


def served(folder: Path) -> tuple[Bundle, str]:
    """The bundle that the demo serves, and the token of its API."""
    with opened_house(make_settings("", folder)) as house, house.db.read() as tx:
        org = service.get_org(tx, "demo")
        active = find_active(tx, get_source(tx, org.id, "demo-api").id, "production")
        assert active is not None
        return unpack(house.blobs.get(active.digest)), house.secrets.reveal(tx, org.id, DEMO_SECRET)


def test_the_demo_serves_its_api_and_a_second_start_the_same_bundle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    caplog.set_level(logging.INFO, "ammeter.demo")
    with demo(tmp_path, port, "first") as server:
        said = (tmp_path / "first.out").read_text()
        assert f"{server.url}/product-mcp/demo-api" in said
        assert settled(server)[0] == "compiling the demo's bundle in the background"
        [row] = rows(server, tmp_path)
        assert (row["status"], row["operations"]) == ("active", 24)
        bundle, token = served(tmp_path)
        assert (bundle.client_name, bundle.base_url) == ("shop", f"{server.url}/demo-api")
        auth = bundle.manifest["auth"]
        assert (auth["type"], auth["secretRef"]) == ("bearer", f"secret:{DEMO_SECRET}")
        known = {"authorization": f"Bearer {token}"}
        assert len(httpx2.get(f"{bundle.base_url}/books", headers=known).json()["items"]) == 20
        assert httpx2.get(f"{bundle.base_url}/books").status_code == 401
        assert token not in server.log.read_text() + said
        assert server.stop() == 0
    with demo(tmp_path, port, "second") as server:
        assert settled(server) == [f"the demo's bundle {row['id']} is served"]
        assert rows(server, tmp_path) == [row]
        mine = upload(server, owner(tmp_path))
        asyncio.run(serve_demo(owner(tmp_path), server.url))
        assert [(r["id"], r["status"]) for r in rows(server, tmp_path)] == [
            (mine, "active"),
            (row["id"], "generated"),
        ]
        assert server.stop() == 0
    asyncio.run(serve_demo(owner(tmp_path), server.url))
    assert [record.getMessage() for record in caplog.records] == [
        "the demo's source serves a bundle of its owner's; it is left as it is",
        f"the demo has no bundle: Nothing listens at {server.url}."
        " Is the server running, is --url (AMMETER_URL) right?",
    ]
