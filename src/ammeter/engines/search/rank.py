"""One score per operation for a query: words and meaning, weighed, then what is certain (a path, a whole
name) on top and what is on its way out below.

Scores are fused as shares, not as ranks: a vector's order of a field name is noise, and a rank hides that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ammeter.engines.search import weights
from ammeter.engines.search.embed import Embedding, Floats
from ammeter.engines.search.lexicon import Lexicon, Meanings
from ammeter.engines.search.paths import PathBook
from ammeter.engines.search.words import content_words, joined, words

MAX_QUERY_CHARS = 1000
MAX_CLAUSES = 8
CLAUSE_WORDS = 2
LONG_QUERY_WORDS = 7

_CLAUSE_END = re.compile(
    r"[,;.!?]+\s+|\s+(?:and then|then|and|also|finally|afterwards|as well as)\s+", re.IGNORECASE
)
_CALL = re.compile(r"\s*(?:await\s+)?(?:client\.)?([\w.\-/]+)\s*(?:\(.*\)?)?;?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    scores: Floats
    cosine: Floats
    meanings: Meanings
    certain: bool
    """The query names an operation or a path of this API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranker:
    lexicon: Lexicon
    vectors: Floats
    """Rows of length one."""
    embedding: Embedding
    paths: PathBook
    names: dict[str, list[int]]
    """Operation ids and SDK names, joined, and the operations that bear them."""
    deprecated: npt.NDArray[np.bool_]

    def rank(self, query: str) -> Ranked:
        query = query[:MAX_QUERY_CHARS]
        said = words(query)
        content = content_words(said)
        meanings = self.lexicon.meanings(content or said)
        whole = self._blend(query, meanings)
        scores = whole.scores
        clauses = [c for c in _CLAUSE_END.split(query) if len(content_words(words(c))) >= CLAUSE_WORDS]
        if len(clauses) > 1 and len(content) >= LONG_QUERY_WORDS:
            best = np.max([self._blend(c, meanings).scores for c in clauses[:MAX_CLAUSES]], axis=0)
            scores = (1 - weights.CLAUSE_SHARE) * scores + weights.CLAUSE_SHARE * best
        certain = self._add_certain(query, scores)
        scores -= weights.DEPRECATED * self.deprecated
        # Machines differ in the last bits of a dot product; equal operations must stay in order.
        return Ranked(
            scores=np.round(scores, 5),
            cosine=whole.cosine,
            meanings=meanings,
            certain=certain,
        )

    def _blend(self, text: str, meanings: Meanings) -> _Blend:
        lexical = self.lexicon.score(text, meanings)
        cosine = self.vectors @ self.embedding.query(text)
        names = lexical.whole_name_words
        is_field = names > 0 and len(content_words(words(text))) <= max(names + 1, 3)
        share = weights.LEXICAL_SHARE_FOR_A_FIELD if is_field else weights.LEXICAL_SHARE
        return _Blend(scores=share * lexical.scores + (1 - share) * cosine, cosine=cosine)

    def _add_certain(self, query: str, scores: Floats) -> bool:
        certain = False
        for i, worth in self.paths.matches(query):
            scores[i] += worth
            certain = True
        for i in self.names.get(called_name(query), ()):
            scores[i] += weights.EXACT_NAME
            certain = True
        return certain


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blend:
    scores: Floats
    cosine: Floats


def called_name(query: str) -> str:
    """`await client.users.create({…})` → userscreate; a name of three letters or less is just a word."""
    call = _CALL.fullmatch(query)
    name = joined(call[1] if call else query)
    return name if len(name) > 3 else ""


def names_of(operation_ids: Sequence[str], sdk_names: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, both in enumerate(zip(operation_ids, sdk_names, strict=True)):
        for name in dict.fromkeys(joined(n) for n in both):
            found.setdefault(name, []).append(i)
    return found
