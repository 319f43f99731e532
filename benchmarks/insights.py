"""Insights on a large organization: how fast telemetry is loaded, how long each answer takes by range.

    python -m benchmarks.insights [--sessions 50000] [--tasks 9.2] [--database URL | --postgres] [--keep DIR]

One process, a fresh SQLite file on this machine's disk, `synchronous=FULL` as served, unless a database is
named; with `--postgres` a server of its own, as tests start it (without `fsync`). Sessions are the demo's,
made longer, spread evenly over 90 days: a million events; batches of 5,000 with all sums, as `ammeter demo
seed` loads them. Answers go through the whole application, without a socket; the slowest of each twenty is
told, and which of them is over the limit.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from starlette.testclient import TestClient

from ammeter.asgi import build_app
from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.cli.demo_seed.days import Shop, sessions_of_day
from ammeter.cli.demo_seed.load import BATCH
from ammeter.cli.house import operator
from ammeter.features.insights.refresh import refresh
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event
from ammeter.settings import Settings
from ammeter.wiring import House, open_house
from benchmarks.machine import machine
from tests.postgres import postgres_server

RANGES = ("24h", "7d", "30d", "90d")
DAYS = 90
LIMIT_MS = 150


def batches(shop: Shop, sessions: int, tasks: float, at: datetime, first: int) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for age in range(DAYS - 1, -1, -1):
        day = (at - timedelta(days=age)).date()
        made = sessions_of_day(shop, day, sessions // DAYS, last_day=at.date(), tasks=tasks, first=first)
        for events in sorted(made, key=lambda events: events[0].at):
            batch += events
            if len(batch) >= BATCH:
                yield batch
                batch = []
    yield batch


def load(house: House, shop: Shop, sessions: int, tasks: float, first: int = 0) -> tuple[int, float, float]:
    """How many events, and the seconds and CPU seconds that storing them took."""
    count, took, cpu = 0, 0.0, 0.0
    for batch in batches(shop, sessions, tasks, now(), first):
        begun, begun_cpu = time.perf_counter(), time.process_time()
        with house.db.write() as tx:
            store.insert_batch(tx, batch)
        took += time.perf_counter() - begun
        cpu += time.process_time() - begun_cpu
        count += len(batch)
    return count, took, cpu


def paths(client: Any) -> dict[str, str]:
    """Every endpoint; details of the largest of each."""
    found = {
        "overview": "/insights/overview?",
        "topics": "/insights/topics?",
        "searches": "/insights/searches?",
        "sessions": "/insights/sessions?",
        "sessions, 200": "/insights/sessions?limit=200&",
        "sessions, high frustration": "/insights/sessions?view=high_frustration&",
        "sessions, repeat": "/insights/sessions?view=repeat&",
        "sessions, flagged": "/insights/sessions?view=flagged&",
        "sessions, by intent": "/insights/sessions?intent=Sell%20a%20gift%20card&",
        "sessions, by failed search": "/insights/sessions?search_miss=gift%20card&",
    }
    for name, detail in (("topics", "topic"), ("searches", "failed search")):
        rows = client.get(f"/api/service/v1/insights/{name}?range=90d&limit=1").json()["rows"]
        if rows:
            found[detail] = f"/insights/{name}/{rows[0]['id']}?"
    session = client.get("/api/service/v1/insights/sessions").json()["rows"][0]["id"]
    return found | {"trace": f"/insights/sessions/{session}/trace"}


def slowest_of_twenty(client: Any, path: str, rounds: int) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        answer = client.get(f"/api/service/v1{path}")
        times.append((time.perf_counter() - begun) * 1000)
        assert answer.status_code == 200, answer.text
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.95)]


def measure(house: House, token: str, rounds: int) -> None:
    over = []
    with TestClient(build_app(house), base_url="http://127.0.0.1:8321") as client:
        client.headers["authorization"] = f"Bearer {token}"
        print(f"\n{'ms, median and p95':28}" + "".join(f"{within:>16}" for within in RANGES))
        for name, path in paths(client).items():
            cells = []
            for within in RANGES:
                told = path + (f"range={within}" if path.endswith(("?", "&")) else "")
                middle, slow = slowest_of_twenty(client, told, rounds)
                cells.append(f"{middle:8.0f}{slow:8.0f}")
                if slow > LIMIT_MS:
                    over.append(f"{name} {within}")
            print(f"{name:28}" + "".join(cells))
    print(f"over {LIMIT_MS} ms: {', '.join(over) or 'none'}")


def prepare(house: House, asked: argparse.Namespace) -> str:
    """An organization with a million events, and the token of its key."""
    with house.db.write() as tx:
        slug = f"bench-{new_id()}"
        org = service.create_org(tx, operator(), slug=slug, name="Bench", region="us", mcp_analytics=True)
        _, token = keys.mint_key(tx, operator(), org.id, name="bench", role=Role.viewer)
    shop = Shop(org_id=org.id, source_id=new_id(), key_ids=[new_id() for _ in range(200)])
    count, took, cpu = load(house, shop, asked.sessions, asked.tasks)
    print(f"{count} events of {asked.sessions} sessions stored with all sums, batches of {BATCH}:")
    print(f"  {count / took:,.0f} events/s, {cpu / count * 1e6:.0f} µs CPU an event", flush=True)
    if not asked.without_topics:
        begun = time.perf_counter()
        done = refresh(house.db, house.blobs, org.id)
        print(f"topics and clusters of all of it: {time.perf_counter() - begun:.1f} s; {done}", flush=True)
    return token


def main() -> None:
    # As the product's own process has it, see `ammeter/__main__.py`.
    gc.set_threshold(100_000, 50, 50)
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=50_000)
    options.add_argument("--tasks", type=float, default=9.2)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--database", default="")
    options.add_argument("--postgres", action="store_true")
    options.add_argument("--without-topics", action="store_true")
    options.add_argument("--keep", type=Path, help="a folder whose data is used again the next time")
    asked = options.parse_args()
    print(machine())
    with ExitStack() as stack:
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        url = asked.database or f"sqlite:///{folder}/ammeter.db"
        if asked.postgres:
            url = stack.enter_context(postgres_server())
        given: dict[str, Any] = {"rate_api_burst": 1_000_000, "rate_api_per_second": 1_000_000}
        house = open_house(Settings(database_url=SecretStr(url), data_dir=folder, **given))
        stack.callback(house.close)
        kept = folder / "token"
        if not kept.exists():
            kept.write_text(prepare(house, asked))
        measure(house, kept.read_text(), asked.rounds)


if __name__ == "__main__":
    main()
