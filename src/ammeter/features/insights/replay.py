"""An overlay that would close a gap, and what it would change: stored searches asked again of an index in
which it is applied. Pure.

Only words go into an overlay, never a search as an agent wrote it: descriptions are read by models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ammeter.engines.compiler.cards import plain
from ammeter.engines.compiler.model import Card
from ammeter.engines.compiler.text import comment
from ammeter.engines.search.index import SearchIndex, build_index
from ammeter.engines.search.words import verb_class
from ammeter.features.insights.gaps import Described, Judgement
from ammeter.features.insights.topic_model import Replay

AMONG = 5
"""A search hits if the operation is among so many of the best, and it is no miss."""
_MAX_WORDS = 6
_MAX_WORD = 30
# The card keeps 2,500 characters of a description and 300 of a summary.
_LONG_DESCRIPTION = 2_200
_LONG_SUMMARY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    overlay: Mapping[str, Any]
    words: Sequence[str]
    replay: Replay


def find_remedy(judgement: Judgement, api: Described, queries: Sequence[str]) -> Remedy | None:
    """The gentlest change that helps: words in the description, else in the summary too. None where there is
    nothing to add or it would not help."""
    added = [word for word in judgement.missing if _is_telling(word)][:_MAX_WORDS]
    at = None if judgement.target is None else api.place_of(judgement.target)
    if at is None or not added or not queries:
        return None
    target = api.cards[at].operation_id
    before = count_hits(api.index, queries, target)
    best: Remedy | None = None
    for change in _changes(api, at, added):
        after = count_hits(patched_index(api, at, change), queries, target)
        hits = Replay(searches=len(queries), hits_before=before, hits_after=after)
        if after > (best.replay.hits_after if best else before):
            best = Remedy(overlay=overlay_of(api.cards[at], change), words=added, replay=hits)
        if 2 * after > len(queries):
            break
    return best


def _is_telling(word: str) -> bool:
    """A word that may stand in a description and says more than `get` does."""
    return word.isalpha() and 3 <= len(word) <= _MAX_WORD and not verb_class(word)


def count_hits(index: SearchIndex, queries: Sequence[str], operation_id: str) -> int:
    known: dict[str, bool] = {}
    for query in queries:
        if query not in known:
            result = index.search(query, AMONG)
            known[query] = not result.miss and any(hit.operation_id == operation_id for hit in result.hits)
    return sum(known[query] for query in queries)


def patched_index(api: Described, at: int, change: Mapping[str, str]) -> SearchIndex:
    """As compiling the description with the overlay would make it."""
    card = api.cards[at]
    patched = replace(
        card,
        summary=comment(plain(change["summary"]), 300) if "summary" in change else card.summary,
        description=comment(plain(change["description"]), 2_500)
        if "description" in change
        else card.description,
    )
    return SearchIndex.load(build_index([*api.cards[:at], patched, *api.cards[at + 1 :]]))


def overlay_of(card: Card, change: Mapping[str, str]) -> dict[str, Any]:
    path = card.path.replace("\\", "\\\\").replace("'", "\\'")
    return {
        "overlay": "1.0.0",
        "info": {"title": f"Words that agents use for {card.operation_id}", "version": "1.0.0"},
        "actions": [{"target": f"$.paths['{path}'].{card.method}", "update": dict(change)}],
    }


def _changes(api: Described, at: int, added: Sequence[str]) -> list[dict[str, str]]:
    card = api.cards[at]
    operation = api.operations.get(card.operation_id)
    description = (operation.description if operation else card.description).strip()
    summary = (operation.summary if operation else "").strip() or card.summary
    phrase = " ".join(added)
    told = f"Also known as: {phrase}."
    changes: list[dict[str, str]] = []
    if len(description) < _LONG_DESCRIPTION:
        changes.append({"description": f"{description}\n\n{told}" if description else told})
    if len(summary) < _LONG_SUMMARY:
        in_summary = {"summary": f"{summary.rstrip('.')} ({phrase})" if summary else phrase.capitalize()}
        changes.append((changes[0] if changes else {}) | in_summary)
    return changes
