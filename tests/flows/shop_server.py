"""A real server whose sources serve `tests/upstream.py`, one source and organization for each kind of
credential, with debug logs; and a client that keeps every byte it receives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from ammeter.features.orgs.model import Role
from tests.doors.hosted.visitor import message_of, serve
from tests.household import CACHE, make_client, make_settings, opened_house
from tests.server import Server, running
from tests.upstream import Upstream

NETWORKS = "127.0.0.0/8"


@dataclass(slots=True)
class ShopServer:
    server: Server
    folder: Path
    places: dict[str, tuple[str, str]]
    """By kind of credential: slug and key."""
    received: list[bytes] = field(default_factory=list)

    def execute(self, kind: str, code: str) -> Any:
        """What a script is answered with."""
        slug, key = self.places[kind]
        headers, message = asking(key, code)
        answer = httpx2.post(
            f"{self.server.url}/product-mcp/{slug}", headers=headers, json=message, timeout=60
        )
        self.received += [answer.content, repr(answer.headers.raw).encode()]
        assert answer.status_code == 200, answer.text
        return message_of(answer)["result"]["structuredContent"]


def asking(key: str, code: str) -> tuple[dict[str, str], dict[str, Any]]:
    headers = {
        "authorization": f"Bearer {key}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    params = {"name": "execute_script", "arguments": {"code": code}}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@contextmanager
def serving_shop(folder: Path, upstream: Upstream, auths: dict[str, Any]) -> Iterator[ShopServer]:
    folder.mkdir(parents=True, exist_ok=True)
    places = {}
    settings = make_settings("", folder, allow_private_networks=(NETWORKS,))
    with opened_house(settings) as house, make_client(house) as client:
        for kind, auth in auths.items():
            made = serve(house, client, upstream, auth=auth)
            places[kind] = (made.slug, made.household.tokens[Role.owner])
    given = {"allow_private_networks": NETWORKS, "log_level": "debug", "cache_dir": str(CACHE)}
    with running(folder, name="shop", **given) as server:
        yield ShopServer(server, folder, places)


def every_row(folder: Path) -> bytes:
    """All rows of all tables, as the program reads them."""
    from sqlalchemy import select

    from ammeter.engines.db.tables import metadata

    with opened_house(make_settings("", folder)) as house, house.db.read() as tx:
        rows = [dict(row) for table in metadata.sorted_tables for row in tx.execute(select(table)).mappings()]
    return json.dumps(rows, default=repr, ensure_ascii=False).encode()
