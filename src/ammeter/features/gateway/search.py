"""`search_sdk`: a question in, ranked operations out, as text for the model and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ammeter.engines.compiler.model import Card
from ammeter.features.gateway.live import LiveBundle
from ammeter.features.gateway.tools import DEFAULT_LIMIT, MAX_LIMIT, MAX_QUERY

_FULL = 5
"""So many of the best hits are shown with their example; the rest with their signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    text: str
    data: dict[str, Any]
    operations: tuple[str, ...]
    top_score: float | None
    miss: bool


def search_sdk(live: LiveBundle, query: str, limit: int | None) -> Found:
    asked = DEFAULT_LIMIT if limit is None else limit
    count = min(MAX_LIMIT, max(1, asked))
    notes = [f"limit {asked} is out of 1 to {MAX_LIMIT}; {count} was used."] if count != asked else []
    if len(query) > MAX_QUERY:
        notes.append(f"Only the first {MAX_QUERY:,} characters of the query were read.")
    result = live.search.search(query[:MAX_QUERY], count)
    hits = [(live.cards[hit.position], hit.score) for hit in result.hits]
    if result.miss:
        groups = ", ".join(f"{live.manifest.client_name}.{group}" for group in result.nearest_groups)
        told = f"No operation of this API fits {query[:200]!r}."
        told += f" The nearest groups are {groups}." if groups else ""
        told += " Try other words, or tell the user that the API may not offer it."
        notes.append(told)
        hits = hits[:3]
    data: dict[str, Any] = {
        "results": [_row(card, score) for card, score in hits],
        "total": len(hits),
        "miss": result.miss,
    }
    if result.miss:
        data["nearestGroups"] = list(result.nearest_groups)
    if notes:
        data["notes"] = notes
    blocks = [_block(card, live.manifest.client_name, full=i < _FULL) for i, (card, _) in enumerate(hits)]
    if result.miss and blocks:
        blocks.insert(0, "Least far away:")
    return Found(
        text="\n\n".join([*notes, *blocks]) or "No operation.",
        data=data,
        operations=tuple(card.operation_id for card, _ in hits),
        top_score=hits[0][1] if hits else None,
        miss=result.miss,
    )


def _row(card: Card, score: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "operationId": card.operation_id,
        "sdkName": card.sdk_name,
        "signature": card.signature,
        "summary": card.summary,
        "method": card.method.upper(),
        "path": card.path,
        "example": card.example,
        "score": round(score, 4),
    }
    if card.deprecated:
        row["deprecated"] = True
    if card.ids_from:
        row["idsFrom"] = card.ids_from
    return row


def _block(card: Card, client_name: str, *, full: bool) -> str:
    summary = f" — {card.summary}" if card.summary else ""
    old = " (deprecated)" if card.deprecated else ""
    lines = [f"{client_name}.{card.sdk_name}{old}{summary}", f"  {card.method.upper()} {card.path}"]
    lines.append(f"  {card.signature}")
    if card.ids_from:
        lines.append(f"  ids come from {client_name}.{card.ids_from}")
    if full and card.example:
        lines.append("  example:")
        lines += [f"    {line}" for line in card.example.splitlines()]
    return "\n".join(lines)
