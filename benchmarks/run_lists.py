"""How quick `GET /runs` is over a great many runs: each filter, each kind of sort, a search.

`python -m benchmarks.run_lists` fills a table of a fresh SQLite file with `--rows` runs of 30 days; with
`--postgres`, of a PostgreSQL server of its own. `--database-url` keeps what was filled for the next time.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.tables import runs as runs_table
from ammeter.features.evals import count_store, history, list_store, store
from ammeter.features.evals.model import Run, RunQuery
from ammeter.wiring import House
from benchmarks.machine import machine
from tests.evaluating import LOOPBACK, add_source, create, plan, step
from tests.household import make_client, make_household, make_settings, opened_house
from tests.postgres import postgres_server

REPEAT = 20
LAST_PAGE = 19_000
CASES = 50
"""Workflows that the runs are of."""
KINDS = ("none", "none", "criteria_failed", "criteria_failed", "model_error", "source_error", "limit_reached")


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("--rows", type=int, default=1_000_000)
    told.add_argument("--postgres", action="store_true")
    told.add_argument("--database-url", default="")
    asked = told.parse_args()
    print(machine())
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = asked.database_url or f"sqlite:///{folder}/ammeter.db"
        if asked.postgres:
            url = stack.enter_context(postgres_server())
        house = stack.enter_context(opened_house(make_settings(url, Path(folder), **LOOPBACK)))
        _fill(house, asked.rows)
        _ask(house)


def _fill(house: House, rows: int) -> None:
    with house.db.read() as tx:
        known = tx.scalar(text("SELECT count(*) FROM runs")) or 0
    if known >= rows:
        return
    with make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, "https://notes.example/mcp")
        prompt = plan(step("echo", text="x"))
        made = [create(household, source, prompt, name=f"Case {i}")["workflow"]["id"] for i in range(CASES)]
        with house.db.read() as tx:
            first = list(store.last_runs(tx, household.org.id, made).values())
    add_runs(house, first, rows)
    if house.db.dialect.distributed:
        # As autovacuum would have done by then.
        with house.db.writer.connect().execution_options(isolation_level="AUTOCOMMIT") as server:
            server.execute(text("VACUUM ANALYZE runs, run_counts"))


def add_runs(house: House, first: list[Run], rows: int) -> None:
    """So many runs like these, of 30 days, and their counts."""
    began = time.perf_counter()
    for batch in _batches(first, rows):
        with house.db.write() as tx:
            tx.execute(insert(runs_table), batch)
            count_store.add(tx, Counter(map(count_store.place_of, batch)))
    print(f"{rows:,} rows in {time.perf_counter() - began:.0f} s")


def _ask(house: House) -> None:
    with house.db.read() as tx:
        org_id, workflow_id = tx.execute(text("SELECT org_id, workflow_id FROM runs LIMIT 1")).one()
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        "24h": ("24h", {}),
        "30d": ("30d", {}),
        "30d, status=fail": ("30d", {"status": "fail"}),
        "30d, status, classification": ("30d", {"status": "fail", "classification": "model_error"}),
        "30d, workflow, status": ("30d", {"workflow_id": workflow_id, "status": "fail"}),
        "30d, status=running": ("30d", {"status": "running"}),
        "30d, classification": ("30d", {"classification": "model_error"}),
        "30d, workflow": ("30d", {"workflow_id": workflow_id}),
        "24h, search": ("24h", {"search": "build 77"}),
        "30d, search of one": ("30d", {"search": "build 777777"}),
        "30d, search of all": ("30d", {"search": "build"}),
        "30d, search and status": ("30d", {"search": "build 77", "status": "fail"}),
        "30d, sort=-score": ("30d", {"sort": "-score"}),
        "30d, sort=durationMs": ("30d", {"sort": "durationMs"}),
        "30d, sort=-costUsd": ("30d", {"sort": "-costUsd"}),
        "24h, sort=-costUsd": ("24h", {"sort": "-costUsd"}),
        "30d, status, sort=-score": ("30d", {"sort": "-score", "status": "fail"}),
        "30d, the last page": ("30d", {"sort": "-startedAt"}),
        "30d, oldest first": ("30d", {"sort": "startedAt"}),
    }
    load = os.getloadavg()[0]
    print(
        f"{house.db.dialect.name}, load {load:.1f}: p50, p95 and the processor's p50 of {REPEAT} requests, ms"
    )
    for name, (within, fields) in asked.items():
        times, own = [], []
        page = PageRequest(page=LAST_PAGE if "last" in name else 1)
        for _ in range(REPEAT):
            start, start_own = time.perf_counter(), time.process_time()
            with house.db.read() as tx:
                query: RunQuery = replace(history.since(within), **fields)
                found = list_store.search_runs(tx, org_id, query, page)
            times.append((time.perf_counter() - start) * 1000)
            own.append((time.process_time() - start_own) * 1000)
        p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        print(
            f"  {name:28} {p50:8.1f} {p95:8.1f} {statistics.median(own):8.1f}   of {found.total:,}",
            flush=True,
        )


def _batches(first: list[Run], rows: int) -> Iterator[list[dict[str, object]]]:
    chance, at = random.Random(7), now()
    templates = [asdict(run) | {"tags": ["ci"], "job_id": None, "suite_run_id": None} for run in first]
    made: list[dict[str, object]] = []
    for i in range(rows):
        when = at - timedelta(seconds=30 * 86_400 * (rows - i - chance.random()) / rows)
        made.append(
            chance.choice(templates)
            | {
                "id": new_id(),
                "at": when,
                "queued_at": when,
                "started_at": when,
                "status": chance.choice(("pass", "pass", "pass", "fail", "partial")),
                "classification": chance.choice(KINDS),
                "score": chance.random(),
                "duration_ms": chance.randrange(100_000),
                "cost_usd": chance.random(),
                "reason": f"build {i}",
                "search_text": f"notes work builtin/scripted build {i} ci {new_id()} {new_id()}",
            }
        )
        if len(made) == 10_000 or i == rows - 1:
            yield made
            made = []


if __name__ == "__main__":
    main()
