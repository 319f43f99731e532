"""The words of one index and how well a query's words are met: exact first, then stems and abbreviations,
and only for a word that the index lacks its parts, its continuations and its near spellings.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import Stemmer  # type: ignore[import-not-found]
from rapidfuzz import process
from rapidfuzz.distance import OSA

from ammeter.engines.search import weights
from ammeter.engines.search.embed import Floats
from ammeter.engines.search.postings import MARKS, VERB_CLASS, WHOLE, Postings
from ammeter.engines.search.words import (
    ABBREVIATIONS,
    PLAIN_VERBS,
    STOP_WORDS,
    joined,
    verb_class,
    words,
)

# Looking for near spellings costs up to a millisecond a word; no honest question has more slips.
MAX_LOOKUPS = 12
MAX_WHOLE_NAME_WORDS = 7
MAX_SEGMENTS = 6
MAX_SEGMENT_CHARS = 18
MAX_CONTINUATIONS = 20

_TOKEN = re.compile(r"[A-Za-z][\w\-]*")
_NAME_SIGN = re.compile(r"[_A-Z\-]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Match:
    """One way a query's word is met: by a term, and for less by terms of the same stem."""

    term: int
    weight: float
    scores: Floats
    """What it adds to each operation; worked out once, for a query's clauses ask again."""
    covered: Floats
    """What it names of each operation's title."""


Stem = Callable[[str], str]

Meanings = Mapping[str, tuple[Match, ...]]
"""What each word of a query was taken for; empty where it was taken for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    scores: Floats
    whole_name_words: int
    """Words of the longest whole name that the query spells out; 0 where it tells a plain verb too."""


class Lexicon:
    def __init__(self, postings: Postings, operations: int) -> None:
        self.operations = operations
        self.terms = postings.terms
        self.ids = {term: i for i, term in enumerate(postings.terms)}
        self.starts = np.concatenate(([0], np.cumsum(postings.counts)))
        self.documents = postings.documents.astype(np.int32)
        self.impacts = postings.impacts.astype(np.float32) / np.float32(255)
        counts = postings.counts.astype(np.float64)
        self.rarity = np.log(1 + (operations - counts + 0.5) / (counts + 0.5)).astype(np.float32)
        self.most_rare = float(np.log(1 + (operations + 0.5) / 0.5))
        self._read_titles(postings)
        self._read_words(postings)

    def _read_titles(self, postings: Postings) -> None:
        term_of = np.repeat(np.arange(len(self.terms)), postings.counts)
        marked = np.array([term.startswith(MARKS) for term in self.terms], bool)
        titled = postings.titles & ~marked[term_of]
        self.title_documents = self.documents[titled]
        self.title_starts = np.concatenate(([0], np.cumsum(titled)))[self.starts]
        told = np.bincount(
            self.title_documents, weights=self.rarity[term_of[titled]], minlength=self.operations
        )
        self.title_share = (1 / np.maximum(told, 1e-6)).astype(np.float32)

    def _read_words(self, postings: Postings) -> None:
        stemmer = Stemmer.Stemmer("english")
        plain = [term for term in self.terms if not term.startswith(MARKS)]
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        for term, stem in zip(plain, stemmer.stemWords(plain), strict=True):
            self.by_stem[stem].append(self.ids[term])
        self.surface = postings.surface
        self.typed = {term for term in plain if self.surface[self.ids[term]]}
        self.long_typed = [term for term in plain if len(term) >= 4 and term in self.typed]

    def meanings(self, query_words: Sequence[str]) -> Meanings:
        # One per query: a stemmer is not to be shared between threads.
        stem: Stem = Stemmer.Stemmer("english").stemWord
        lookups = MAX_LOOKUPS
        found: dict[str, tuple[Match, ...]] = {}
        for word in dict.fromkeys(query_words):
            matches = self._direct(word, stem)
            if not matches and lookups and len(word) >= 3:
                lookups -= 1
                meant = self._meant(word)
                matches = [m for w, weight in meant for m in self._matches(w, weight, stem)]
            found[word] = tuple(matches)
        return found

    def _direct(self, word: str, stem: Stem) -> list[Match]:
        matches = self._matches(word, 1.0, stem)
        for full in ABBREVIATIONS.get(word, ()):
            beside = weights.ABBREVIATION_BESIDE if matches else weights.ABBREVIATION_INSTEAD
            matches += self._matches(full, beside, stem)
        return matches

    def _matches(self, word: str, weight: float, stem: Stem) -> list[Match]:
        term = self.ids.get(word)
        variants = [i for i in self.by_stem.get(stem(word), ()) if i != term]
        stem_weight = weight * weights.STEM
        if term is not None:
            return [self._match([(term, weight), *((v, stem_weight) for v in variants)])]
        return [self._match([(v, stem_weight) for v in variants])] if variants else []

    def _match(self, ways: Sequence[tuple[int, float]]) -> Match:
        """The best of the ways counts for an operation; the first one gives the match its name."""
        scores = np.zeros(self.operations, np.float32)
        covered = np.zeros(self.operations, np.float32)
        for term, weight in ways:
            at = slice(self.starts[term], self.starts[term + 1])
            documents = self.documents[at]
            worth = self.impacts[at] * (weight * self.rarity[term])
            scores[documents] = np.maximum(scores[documents], worth)
            titled = self.title_documents[self.title_starts[term] : self.title_starts[term + 1]]
            covered[titled] += weight * self.rarity[term]
        return Match(term=ways[0][0], weight=ways[0][1], scores=scores, covered=covered)

    def _meant(self, word: str) -> list[tuple[str, float]]:
        """Words of the index that an unknown word may stand for, each with its worth."""
        if len(word) >= 6 and (segments := self._segments(word)):
            return [(segment, weights.SEGMENT) for segment in segments]
        begin = bisect_left(self.long_typed, word)
        end = bisect_left(self.long_typed, word + "\U0010ffff")
        if 0 < end - begin <= MAX_CONTINUATIONS:
            longer = sorted(self.long_typed[begin:end], key=lambda w: (-int(self.surface[self.ids[w]]), w))
            return [(w, weights.PREFIX) for w in longer[:3]]
        if len(word) < 4:
            return []
        slips = 1 if len(word) <= 7 else 2
        near = process.extract(word, self.long_typed, scorer=OSA.distance, score_cutoff=slips, limit=3)
        return [
            (w, weights.ONE_SLIP if distance <= 1 else weights.TWO_SLIPS)
            for w, distance, _ in near
            if distance == near[0][1]
        ]

    def _segments(self, word: str) -> tuple[str, ...]:
        """`pullrequest` → pull, request: the fewest known words that make up this one."""
        best: list[tuple[float, tuple[str, ...]] | None] = [(0.0, ())] + [None] * len(word)
        for end in range(1, len(word) + 1):
            for begin in range(max(0, end - MAX_SEGMENT_CHARS), end - 1):
                before, part = best[begin], word[begin:end]
                if before is None or part not in self.typed:
                    continue
                cost = before[0] + (1.0 if len(part) > 2 else 2.5)
                known = best[end]
                if known is None or cost < known[0]:
                    best[end] = (cost, (*before[1], part))
        whole = best[-1]
        return whole[1] if whole and len(whole[1]) <= MAX_SEGMENTS else ()

    def score(self, text: str, meanings: Meanings) -> Lexical:
        """How well each operation meets the words of `text`, as a share of what could be met."""
        said = words(text)
        wholes, whole_name_words = self._whole_names(text, said)
        content = [w for w in said if w not in STOP_WORDS] or said
        asked: dict[int, Match] = {}
        attainable = 0.0
        for word in dict.fromkeys(content):
            for match in meanings[word]:
                known = asked.get(match.term)
                if known is None or known.weight < match.weight:
                    asked[match.term] = match
            if not meanings[word]:
                attainable += weights.UNKNOWN * self.most_rare
        attainable += sum(m.weight * float(self.rarity[m.term]) for m in asked.values())

        scores = np.zeros(self.operations, np.float32)
        covered = np.zeros(self.operations, np.float32)
        for match in asked.values():
            scores += match.scores
            covered += match.covered
        verb = next((v for v in map(verb_class, said) if v), None)
        if verb and (term := self.ids.get(VERB_CLASS + verb)) is not None:
            self._add_term(scores, term, weights.VERB)
        for term in wholes:
            self._add_term(scores, term, self._whole_name_weight(said))
        scores /= max(attainable, 1e-6)
        scores += weights.REVERSE_COVERAGE * np.minimum(covered * self.title_share, 1)
        return Lexical(scores=scores, whole_name_words=whole_name_words)

    def _whole_names(self, text: str, said: Sequence[str]) -> tuple[list[int], int]:
        written = {joined(token) for token in _TOKEN.findall(text) if _NAME_SIGN.search(token, 1)}
        found: dict[int, None] = {}
        longest = 0
        for begin in range(len(said)):
            name = ""
            for end in range(begin, min(len(said), begin + MAX_WHOLE_NAME_WORDS)):
                name += said[end]
                term = self.ids.get(WHOLE + name)
                if term is not None:
                    found[term] = None
                    if end > begin or name in written:
                        longest = max(longest, end - begin + 1)
        return list(found), 0 if _tells_a_verb(said) else longest

    def _whole_name_weight(self, said: Sequence[str]) -> float:
        beside = weights.WHOLE_NAME_BESIDE_A_VERB if _tells_a_verb(said) else 1.0
        return weights.WHOLE_NAME * beside

    def _add_term(self, scores: Floats, term: int, weight: float) -> None:
        at = slice(self.starts[term], self.starts[term + 1])
        scores[self.documents[at]] += self.impacts[at] * (weight * self.rarity[term])


def _tells_a_verb(said: Sequence[str]) -> bool:
    return any(word in PLAIN_VERBS or word.removesuffix("s") in PLAIN_VERBS for word in said)
