"""Clusters judged against the bundle that is served: gap, suggestion, overlay. Reads and writes the store;
what is decided is `gaps` and `replay`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from ammeter.engines.blobs.port import Blobs
from ammeter.engines.compiler.bundle import DamagedBundle, unpack
from ammeter.engines.db.database import Database
from ammeter.features.bundles import store as bundles
from ammeter.features.bundles.artifacts import find_artifact
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.insights import refresh_store as store
from ammeter.features.insights.forming import Writing
from ammeter.features.insights.gaps import Described, Judgement, Question, described, judge
from ammeter.features.insights.refresh_store import Row
from ammeter.features.insights.replay import Remedy, find_remedy

log = logging.getLogger("ammeter.insights")

RULES = 4
"""Of judging; another number has every cluster judged anew."""
_MAX_JUDGED = 300
_MAX_REPLAYED = 200
# A replay builds an index of all cards, twice at most: this many cards' worth in one refresh.
_MAX_INDEXED = 30_000


def judge_clusters(db: Database, blobs: Blobs, writing: Writing, org_id: str, since: datetime) -> int:
    """Those that are new, have grown to twice their size or meet another bundle; how many."""
    with db.read() as tx:
        often = dict(store.recent_clusters(tx, org_id, since, limit=_MAX_JUDGED * 4))
        clusters = store.find_clusters(tx, list(often))
    clusters.sort(key=lambda row: (-often[row["id"]], row["id"]))
    by_place: dict[tuple[str, str], list[Row]] = {}
    for row in clusters:
        by_place.setdefault((row["source_id"], row["environment"]), []).append(row)
    judged, budget = 0, _MAX_INDEXED
    for (source_id, environment), rows in by_place.items():
        with db.read() as tx:
            active = bundles.find_active(tx, source_id, environment)
        if active is None:
            continue
        mark = {row["id"]: f"{RULES}:{active[0].digest}:{often[row['id']].bit_length()}" for row in rows}
        due = [row for row in rows if row["judged_by"] != mark[row["id"]]][: _MAX_JUDGED - judged]
        api = _described(blobs, active[0]) if due else None
        if api is None:
            continue
        for row in due:
            judgement, queries = _judge(db, row, api)
            affordable = judgement.target is None or budget > 0
            remedy = find_remedy(judgement, api, queries) if affordable else None
            if judgement.target is not None:
                budget -= 2 * len(api.cards)
            values = {
                "gap_kind": judgement.kind,
                "suggestion": written(judgement, remedy),
                # What could not be replayed is judged again the next time.
                "judged_by": mark[row["id"]] if affordable else None,
            }
            with writing() as tx:
                store.save_judgement(tx, row["id"], values)
        judged += len(due)
    return judged


def _described(blobs: Blobs, bundle: StoredBundle) -> Described | None:
    artifact = find_artifact(blobs, bundle)
    if artifact is None:
        return None
    try:
        return described(unpack(artifact))
    except (DamagedBundle, ValueError) as error:
        log.error("the artifact of bundle %s cannot be read: %s", bundle.id, error)
        return None


def _judge(db: Database, row: Row, api: Described) -> tuple[Judgement, list[str]]:
    """And the stored searches that an overlay is to be tried with."""
    with db.read() as tx:
        misses = store.latest_misses(tx, row["id"], limit=_MAX_REPLAYED)
    queries = [miss["query"] for miss in misses]
    used = Counter(name for names in _used_by_session(misses).values() for name in names)
    sessions = len({miss["session_id"] for miss in misses})
    shown = Counter(name for miss in misses for name in miss["shown"])
    question = Question(queries=queries, later_used=used, sessions=sessions, rejected=shown)
    return judge(question, api), queries


def _used_by_session(misses: Sequence[Row]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for miss in misses:
        found.setdefault(miss["session_id"], set()).update(miss["later_used"])
    return found


def written(judgement: Judgement, remedy: Remedy | None) -> dict[str, Any]:
    """As it is stored; `cluster_store.read_suggestion` reads it."""
    stored: dict[str, Any] = {
        "text": suggestion_text(judgement, remedy),
        "nearest_operations": [asdict(one) for one in judgement.nearest],
    }
    if remedy is not None:
        stored |= {"overlay": dict(remedy.overlay), "replay": asdict(remedy.replay)}
    return stored


def suggestion_text(judgement: Judgement, remedy: Remedy | None) -> str:
    target = judgement.target
    words = ", ".join(judgement.missing[:6])
    match judgement.kind:
        case "alias":
            text = f"{target} seems to do this, but under other words."
            text += f" Name these in its summary or description: {words}."
        case "documentation":
            text = f"{target} seems to do this, but its description hardly says so."
            text += f" Tell it in the summary: {words}." if words else " Describe what it does and for whom."
        case "capability":
            text = "The API knows the subject, but no operation does this. Consider offering it."
        case "out_of_scope":
            text = "This is not what the API is about. Say in its description what it does not do."
    if judgement.proven:
        text += " Agents went on to use it after their search had failed."
    if remedy is not None:
        replay = remedy.replay
        text += (
            f" With the overlay {replay.hits_after} of {replay.searches} of these searches find it,"
            f" {replay.hits_before} without."
        )
    return text
