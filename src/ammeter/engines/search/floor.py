"""The relevance floor: does this API have anything of what was asked for?

Three signs, weighed: how well the best operation does, how near any operation is in meaning, and how much
of the query the index has words for. Values in a question ("movies by Sofia Coppola") are no words of an
API, so a query under the floor gets a second hearing without them.
"""

from __future__ import annotations

import re

from ammeter.engines.search.lexicon import Lexicon, Meanings
from ammeter.engines.search.rank import MAX_QUERY_CHARS, Ranked, Ranker
from ammeter.engines.search.words import content_words, verb_class, words

# A logistic fit on development queries, rounded; the floor itself is set low, because a real question
# that is called a miss costs more than a miss that shows far-off operations.
SCORE = 0.30
COSINE = 0.45
KNOWN = 0.25
FLOOR = 0.34
VERB_RARITY = 0.3
"""Every API has verbs: one that is known says little."""

_QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)|`[^`]*`")
_AROUND = ".,;:!?()[]{}\"'"


def is_miss(query: str, ranked: Ranked, ranker: Ranker) -> bool:
    if ranked.certain or relevance(ranked, ranker.lexicon) >= FLOOR:
        return False
    bare = without_values(query[:MAX_QUERY_CHARS], ranker.lexicon)
    if bare == query or not content_words(words(bare)):
        return True
    return relevance(ranker.rank(bare), ranker.lexicon) < FLOOR


def relevance(ranked: Ranked, lexicon: Lexicon) -> float:
    known = known_share(ranked.meanings, lexicon)
    return SCORE * float(ranked.scores.max()) + COSINE * float(ranked.cosine.max()) + KNOWN * known


def known_share(meanings: Meanings, lexicon: Lexicon) -> float:
    """How much of the query, by rarity, is made of words that the index has."""
    known = asked = 0.0
    for word, matches in meanings.items():
        rarity = max((float(lexicon.rarity[m.term]) for m in matches), default=lexicon.most_rare)
        if verb_class(word):
            rarity *= VERB_RARITY
        asked += rarity
        known += rarity * max((m.weight for m in matches), default=0.0)
    return known / asked if asked else 0.0


def without_values(query: str, lexicon: Lexicon) -> str:
    """The query without quotations and without names and numbers that the index does not know."""
    tokens = _QUOTED.sub(" ", query).split()
    if sum(token[:1].islower() for token in tokens) < 2:
        return " ".join(tokens)
    kept = []
    begins = True
    for token in tokens:
        core = token.strip(_AROUND)
        value = (core[:1].isupper() and not begins) or any(c.isdigit() for c in core)
        if not value or all(word in lexicon.ids for word in words(core)):
            kept.append(token)
        begins = token.endswith((".", "!", "?"))
    return " ".join(kept)
