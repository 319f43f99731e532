"""The demo organization with all its data, as `make run` brings it, for the browser to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.flows.demo_server import serving_demo
from tests.server import Server, until

READY_S = 120.0


@dataclass(frozen=True, slots=True)
class Owner:
    email: str
    password: str
    token: str


@dataclass(frozen=True, slots=True)
class FullDemo:
    server: Server
    folder: Path
    owner: Owner


@contextmanager
def demo_with_data(folder: Path, **settings: str) -> Iterator[FullDemo]:
    with serving_demo(folder, **settings) as demo:
        log = demo.server.log
        # The last of what a start brings along.
        last = "the demo has a history of evals"
        until(lambda: last in log.read_text(), last, READY_S)
        told = json.loads((folder / "demo.json").read_text())
        full = FullDemo(demo.server, folder, Owner(told["email"], told["password"], told["token"]))
        # A source that is still being looked at tells so on its page, and the page grows when it is done.
        until(lambda: not _looked_at(full), "all sources have been looked at", READY_S)
        yield full


def _looked_at(demo: FullDemo) -> list[str]:
    """Sources under way to be known."""
    with httpx2.Client(headers={"authorization": f"Bearer {demo.owner.token}"}) as client:
        rows = client.get(f"{demo.server.api}/mcp-servers").json()["rows"]
        records = [client.get(f"{demo.server.api}/mcp-servers/{row['id']}").json() for row in rows]
    return [record["name"] for record in records if record["discovery"]["status"] in ("queued", "running")]
