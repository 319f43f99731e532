"""Topics of intents beside known clustering: how well they agree with people's labels, whether ids stay, and
what a refresh costs.

    python -m benchmarks.insights_topics --data FOLDER [--items 9000] [--weeks 8] [--cost 10000]

FOLDER holds `clinc150.json.gz`, the CLINC150 intents (train, val and test of 150 classes; not part of this
repository). Intents come in weekly slices. scikit-learn and BERTopic get the same embeddings, all at once, in
a Python of their own; their thresholds are the best of several, chosen with the labels, which ours is not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.features.insights.intents import form_of
from ammeter.features.insights.refresh import refresh
from ammeter.features.insights.vectors import vectors_of
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.telemetry import store as telemetry
from ammeter.features.telemetry.model import Event
from benchmarks.machine import machine
from benchmarks.peers import clustering_python

OPERATOR = Actor(kind="operator", name="benchmark", role=Role.owner, origin="benchmark")
VERBS = ("refund", "cancel", "list", "export", "create", "delete", "update", "find", "check", "send", "share")
THINGS = ("order", "invoice", "book", "author", "customer", "report", "stock", "review", "ticket", "team")
WAYS = ("monthly", "late", "open", "paid", "old", "shared", "broken", "german", "large", "hidden", "daily")
Labels = list[str]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--items", type=int, default=9_000)
    asked.add_argument("--weeks", type=int, default=8)
    asked.add_argument("--cost", type=int, default=10_000)
    given = asked.parse_args()
    print(machine())
    rows = read(given.data / "clinc150.json.gz", given.items)
    intents, labels = [row[0] for row in rows], [row[1] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        ours, told = in_slices(Path(folder), intents, given.weeks)
        compare(Path(folder), intents, labels, ours, told)
        cost(Path(folder), given.cost)


def read(file: Path, items: int) -> list[tuple[str, str]]:
    with gzip.open(file) as opened:
        parts = json.load(opened)
    rows = [(text, label) for part in ("train", "val", "test") for text, label in parts[part]]
    random.Random(1).shuffle(rows)
    return rows[:items]


def opened(file: Path) -> tuple[Database, str]:
    db = Database(f"sqlite:///{file}")
    migrate(db)
    with db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug=f"bench-{new_id()}", name="Bench", region="us")
    return db, org.id


def in_slices(folder: Path, intents: list[str], weeks: int) -> tuple[Labels, dict[str, Any]]:
    """The topic of each intent at the end, and what changed on the way."""
    db, org_id = opened(folder / "slices.db")
    blobs, begin = LocalBlobs(folder / "blobs"), now() - timedelta(weeks=weeks)
    sessions: list[str] = []
    before: dict[str, str] = {}
    moved = merged = 0
    for week, part in enumerate(np.array_split(np.arange(len(intents)), weeks)):
        at = begin + timedelta(weeks=week)
        sessions += store_sessions(db, org_id, [intents[i] for i in part], at)
        merged += refresh(db, blobs, org_id, at=at + timedelta(days=6)).merged_topics
        with db.read() as tx:
            found = tx.execute(text("SELECT session_id, topic_id FROM insight_intents"))
            after = {session_id: topic_id for session_id, topic_id in found if topic_id is not None}
        moved += sum(after.get(one) != topic_id for one, topic_id in before.items())
        before = after
    with db.read() as tx:
        rows = tx.execute(text("SELECT id, coalesce(merged_into, id) FROM insight_topics"))
        into: dict[str, str] = {topic_id: root for topic_id, root in rows}  # noqa: C416
    db.close()
    topics = [into[before[one]] if one in before else f"alone {one}" for one in sessions]
    told = {"moved": moved, "merged": merged, "topics": len(set(into.values())), "covered": len(before)}
    return topics, told


def store_sessions(db: Database, org_id: str, intents: list[str], at: Any) -> list[str]:
    """One session with one script for each intent."""
    ids = [new_id() for _ in intents]
    events = [
        Event(
            id=new_id(),
            org_id=org_id,
            source_id="source",
            environment="production",
            key_id=session_id,
            kind="script",
            at=at + timedelta(seconds=number),
            session_id=session_id,
            session_source="new",
            outcome="ok",
            duration_ms=10,
            intent=intent,
        )
        for number, (session_id, intent) in enumerate(zip(ids, intents, strict=True))
    ]
    for begin in range(0, len(events), 500):
        with db.write() as tx:
            telemetry.insert_batch(tx, events[begin : begin + 500])
    return ids


def compare(folder: Path, intents: list[str], labels: Labels, ours: Labels, told: dict[str, Any]) -> None:
    np.save(folder / "vectors.npy", vectors_of([form_of(intent).spoken for intent in intents]))
    (folder / "labels.json").write_text(json.dumps({"people": labels, "ours": ours}))
    peer = Path(__file__).parent / "insights_rivals.py"
    done = subprocess.run(
        [str(clustering_python()), str(peer), str(folder)], check=True, capture_output=True, text=True
    )
    share = told["covered"] / len(intents)
    print(f"\n{len(intents)} intents of {len(set(labels))} classes; {told['topics']} topics hold {share:.0%}")
    print(
        f"items whose topic id changed from week to week: {told['moved']}; topics merged: {told['merged']}\n"
    )
    print(f"{'':44}{'NMI':>7}{'ARI':>7}{'groups':>8}")
    for name, nmi, ari, groups in json.loads(done.stdout.splitlines()[-1]):
        print(f"{name:44}{nmi:7.3f}{ari:7.3f}{groups:8}")


def cost(folder: Path, count: int) -> None:
    """A refresh of so many new intents, nearly all different."""
    draw = random.Random(2)
    intents = [
        " ".join(
            (draw.choice(VERBS), "the", draw.choice(WAYS), draw.choice(THINGS), "of", *draw.sample(THINGS, 3))
        )
        for _ in range(count)
    ]
    db, org_id = opened(folder / "cost.db")
    store_sessions(db, org_id, intents, now() - timedelta(days=1))
    began, cpu = time.perf_counter(), time.process_time()
    done = refresh(db, LocalBlobs(folder / "blobs"), org_id)
    took, used = time.perf_counter() - began, time.process_time() - cpu
    db.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nrefresh of {done.sessions} new intents: {took:.1f} s ({used:.1f} s CPU), {done.new_topics} topics"
    )
    print(f"peak memory of this process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
