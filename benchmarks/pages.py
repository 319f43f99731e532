"""How long the server takes for each page of the dashboard, on the data of the demo organization:

    python -m benchmarks.pages [--rounds 20] [--million]

With `--million`, a million events of 50,000 sessions and a million runs are added to that organization first,
and its topics are formed anew. Each page is asked for in turn over one connection, as a reader does; the
first time, when templates are compiled, is one of the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text

from ammeter.cli.demo_seed.days import Shop
from ammeter.features.evals import store
from ammeter.features.insights.refresh import refresh
from ammeter.settings import Settings
from ammeter.wiring import open_house
from benchmarks.insights import load
from benchmarks.machine import machine
from benchmarks.run_lists import add_runs
from tests.browser.browser import chromium, open_context, sign_in
from tests.browser.demo import FullDemo, demo_with_data
from tests.browser.pages import PAGES

LIMIT_MS = 150.0
LARGE_LIMIT_MS = 400.0
SESSIONS, TASKS = 50_000, 9.2
RUNS = 1_000_000
FIRST = 1_000
"""The demo has its sessions of a day numbered from 0; these are others."""


def addresses(demo: FullDemo) -> tuple[dict[str, str], dict[str, str]]:
    """The address of each page, and the cookies of somebody who is signed in."""
    found: dict[str, str] = {}
    with chromium() as browser, open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, demo.owner.email, demo.owner.password)
        for shown in (shown for shown in PAGES if shown.signed_in):
            shown.open(page)
            found[shown.name] = page.url
        return found, {cookie["name"]: cookie["value"] for cookie in context.cookies()}


def grow(folder: Path) -> None:
    """A million events and a million runs more, of the demo's own source and cases."""
    given: dict[str, Any] = {"data_dir": folder}
    house = open_house(Settings(**given))
    try:
        with house.db.read() as tx:
            org_id, source_id = tx.execute(
                text("SELECT org_id, source_id FROM telemetry_sessions LIMIT 1")
            ).one()
            keys = list(tx.scalars(text("SELECT id FROM api_keys")))
            cases = list(tx.scalars(text("SELECT id FROM workflows WHERE status = 'active'")))
            first = list(store.last_runs(tx, org_id, cases).values())
        shop = Shop(org_id=org_id, source_id=source_id, key_ids=keys)
        count, took, _ = load(house, shop, SESSIONS, TASKS, first=FIRST)
        print(f"{count:,} events added, {count / took:,.0f} a second", flush=True)
        add_runs(house, first, RUNS)
        begun = time.perf_counter()
        refresh(house.db, house.blobs, org_id)
        print(f"topics of all of it in {time.perf_counter() - begun:.0f} s", flush=True)
    finally:
        house.close()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--million", action="store_true")
    asked = options.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, demo_with_data(Path(folder)) as demo:
        pages, cookies = addresses(demo)
        if asked.million:
            grow(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in pages}
        headers = {"accept": "text/html", "accept-encoding": "gzip"}
        with httpx2.Client(cookies=cookies, headers=headers, timeout=30) as client:
            for _ in range(asked.rounds):
                for name, url in pages.items():
                    started = time.perf_counter()
                    answer = client.get(url)
                    times[name].append((time.perf_counter() - started) * 1000)
                    assert answer.status_code < 500, f"{url}: {answer.status_code}"
    report(times, LARGE_LIMIT_MS if asked.million else LIMIT_MS)


def report(times: dict[str, list[float]], limit_ms: float) -> None:
    print(f"load {os.getloadavg()[0]:.1f}")
    for name, taken in sorted(times.items(), key=lambda each: -statistics.median(each[1])):
        p95 = statistics.quantiles(taken, n=20)[-1]
        print(
            f"{name:28} median {statistics.median(taken):7.1f} ms   p95 {p95:7.1f} ms"
            f"{'   over the limit' if p95 > limit_ms else ''}"
        )


if __name__ == "__main__":
    main()
