"""Cards become a search index, as bytes for the bundle, and the index answers questions.

Pure but for the embedding table, which is read once. What a hit looks like to an agent is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ammeter.engines.compiler.model import Card
from ammeter.engines.search.blob import MAX_OPERATIONS, Contents, DamagedIndex, from_bytes, to_bytes
from ammeter.engines.search.embed import Embedding, packaged_embedding, quantized, unit_rows
from ammeter.engines.search.fields import embedded_text, parts_of
from ammeter.engines.search.floor import is_miss
from ammeter.engines.search.lexicon import Lexicon
from ammeter.engines.search.paths import PathBook
from ammeter.engines.search.postings import compile_postings
from ammeter.engines.search.rank import Ranker, names_of

NEAREST_GROUPS = 5
_GROUPS_AMONG = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    position: int
    """The operation's place among the cards that the index was built from."""
    operation_id: str
    sdk_name: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    hits: tuple[Hit, ...]
    """Best first. On a miss these are only the least far away."""
    miss: bool
    """This API very likely has nothing of what was asked for."""
    nearest_groups: tuple[str, ...]
    """The SDK groups of the best operations, best first."""


def build_index(cards: Sequence[Card], embedding: Embedding | None = None) -> bytes:
    if len(cards) > MAX_OPERATIONS:
        raise ValueError(f"{len(cards)} operations; an index holds {MAX_OPERATIONS}")
    parts = [parts_of(card) for card in cards]
    table = embedding or packaged_embedding()
    return to_bytes(
        Contents(
            operation_ids=tuple(card.operation_id for card in cards),
            sdk_names=tuple(card.sdk_name for card in cards),
            methods=tuple(card.method for card in cards),
            paths=tuple(card.path for card in cards),
            deprecated=np.array([card.deprecated for card in cards], bool),
            postings=compile_postings(parts),
            vectors=quantized(table.sums([embedded_text(p) for p in parts])),
        )
    )


class SearchIndex:
    def __init__(self, contents: Contents, embedding: Embedding) -> None:
        self.operation_ids = contents.operation_ids
        self.sdk_names = contents.sdk_names
        self._ranker = Ranker(
            lexicon=Lexicon(contents.postings, len(contents.operation_ids)),
            vectors=unit_rows(contents.vectors),
            embedding=embedding,
            paths=PathBook(contents.methods, contents.paths),
            names=names_of(contents.operation_ids, contents.sdk_names),
            deprecated=contents.deprecated,
        )

    @classmethod
    def load(cls, blob: bytes, embedding: Embedding | None = None) -> SearchIndex:
        table = embedding or packaged_embedding()
        contents = from_bytes(blob)
        if contents.vectors.shape[1] != table.width:
            raise DamagedIndex(f"its vectors have {contents.vectors.shape[1]} numbers, not {table.width}")
        return cls(contents, table)

    def search(self, query: str, limit: int = 12) -> SearchResult:
        if not self.operation_ids or not query.strip():
            return SearchResult(hits=(), miss=True, nearest_groups=())
        ranked = self._ranker.rank(query)
        best = np.argsort(-ranked.scores, kind="stable")[: max(limit, _GROUPS_AMONG)]
        hits = tuple(
            Hit(
                position=int(i),
                operation_id=self.operation_ids[i],
                sdk_name=self.sdk_names[i],
                score=float(ranked.scores[i]),
            )
            for i in best
            if ranked.scores[i] > 0
        )
        groups = dict.fromkeys(hit.sdk_name.rpartition(".")[0] for hit in hits[:_GROUPS_AMONG])
        return SearchResult(
            hits=hits[: max(limit, 0)],
            miss=is_miss(query, ranked, self._ranker),
            nearest_groups=tuple(g for g in groups if g)[:NEAREST_GROUPS],
        )
