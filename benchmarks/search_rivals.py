"""What Ammeter's search is compared with: plain substrings, a flat BM25 over the same text, and FastMCP's
search transform, which answers from a Python of its own.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ammeter.engines.compiler.model import Card

FASTMCP_ANSWERER = Path(__file__).with_name("search_fastmcp.py")


class Engine(Protocol):
    def search(self, query: str, limit: int) -> list[int]:
        """Places among the cards, best first."""


def text_of(card: Card) -> str:
    """Everything that Ammeter's index reads of a card, as one text."""
    return " ".join(
        (
            *(card.operation_id, card.path, card.summary, *card.tags, card.description),
            *(text for pair in (*card.parameter_texts, *card.body_fields) for text in pair),
            *(*card.body_types, *card.response_fields, *card.response_types, *card.enums),
        )
    )


class Substring:
    """Operations that contain the query as it is written, in the order of the description."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.texts = [f"{card.method} {text_of(card)}".lower() for card in cards]

    def search(self, query: str, limit: int) -> list[int]:
        asked = query.lower().strip()
        return [i for i, text in enumerate(self.texts) if asked in text][:limit]


class FlatBm25:
    """Okapi BM25 (k1 1.5, b 0.75) over one bag of words per operation, identifiers split at their case."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.counts = [Counter(_words(text_of(card))) for card in cards]
        self.lengths = [sum(c.values()) for c in self.counts]
        self.mean = sum(self.lengths) / max(len(cards), 1)
        self.having = Counter(word for c in self.counts for word in c)

    def search(self, query: str, limit: int) -> list[int]:
        scores: Counter[int] = Counter()
        for word in set(_words(query)) & self.having.keys():
            having = self.having[word]
            rarity = math.log(1 + (len(self.counts) - having + 0.5) / (having + 0.5))
            for i, counts in enumerate(self.counts):
                if often := counts.get(word, 0):
                    spread = 1.5 * (0.25 + 0.75 * self.lengths[i] / self.mean)
                    scores[i] += rarity * often * 2.5 / (often + spread)  # type: ignore[assignment]
        return [i for i, _ in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]]


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [word.lower() for word in re.findall(r"[A-Za-z0-9]+", spaced)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What another process answered to a list of queries, and how long each took."""

    found: list[list[str]]
    seconds: list[float]
    version: str


def ask_fastmcp(python: Path, document: dict[str, Any], queries: Sequence[str], limit: int) -> Answers | str:
    """The answers as `METHOD /path`, or why there are none."""
    if not python.exists():
        return f"not installed ({python} is missing)"
    given = json.dumps({"document": document, "queries": list(queries), "limit": limit})
    begun = time.perf_counter()
    done = subprocess.run(
        [python, "-P", FASTMCP_ANSWERER],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"failed after {time.perf_counter() - begun:.0f} s: {why[:160]}"
    return Answers(**json.loads(done.stdout.splitlines()[-1]))
