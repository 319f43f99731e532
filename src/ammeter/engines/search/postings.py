"""Fielded BM25 compiled to arrays: for each term, the operations that have it and how much it says there.

A posting holds BM25's saturated part (0 to 1, one byte); rarity is counted from the postings at load. Terms
are of three kinds, told by their first sign: words, whole names (`=userid`) and verb classes (`@create`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ammeter.engines.search.fields import FIELDS, Field, Parts
from ammeter.engines.search.weights import FIELD_WEIGHTS, SATURATION
from ammeter.engines.search.words import words

WHOLE = "="
VERB_CLASS = "@"
MARKS = (WHOLE, VERB_CLASS)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    terms: tuple[str, ...]
    """In order; each has at least one posting."""
    counts: Ints
    """Postings of each term."""
    documents: Ints
    """Rising within a term."""
    impacts: npt.NDArray[np.uint8]
    titles: npt.NDArray[np.bool_]
    """Whether the term is in the operation's title, per posting."""
    surface: Ints
    """How often each term stands in a field that people type from."""


class _Interned:
    """Term ids in order of first sight; texts repeat across operations, so each is taken apart once."""

    def __init__(self) -> None:
        self.ids: defaultdict[str, int] = defaultdict()
        # A term that was not seen before gets the next number.
        self.ids.default_factory = self.ids.__len__
        self._words: dict[str, tuple[int, ...]] = {}
        self._wholes: dict[str, tuple[int, ...]] = {}

    def of(self, field: Field) -> Callable[[str], tuple[int, ...]]:
        match field.kind:
            case "words":
                return self._of_words
            case "whole":
                return self._of_whole
            case "verb":
                return lambda verb: (self.ids[VERB_CLASS + verb],)

    def _of_words(self, text: str) -> tuple[int, ...]:
        found = self._words.get(text)
        if found is None:
            found = self._words[text] = tuple(map(self.ids.__getitem__, words(text)))
        return found

    def _of_whole(self, name: str) -> tuple[int, ...]:
        found = self._wholes.get(name)
        if found is None:
            parts = words(name)
            found = (self.ids[WHOLE + "".join(parts)],) if len(parts) > 1 else ()
            self._wholes[name] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mentions:
    """One field over all operations: which term, where, and how much each mention weighs."""

    field: Field
    terms: Ints
    documents: Ints
    weights: npt.NDArray[np.float64]


def compile_postings(operations: Sequence[Parts]) -> Postings:
    interned = _Interned()
    mentions = [_mentions(field, operations, interned) for field in FIELDS]
    terms = sorted(interned.ids)
    place = np.empty(len(terms), np.int64)
    place[[interned.ids[term] for term in terms]] = np.arange(len(terms))

    many = max(len(operations), 1)
    keys = [place[m.terms] * many + m.documents for m in mentions]
    distinct, inverse = np.unique(_joined(keys), return_inverse=True)
    said = np.bincount(inverse, weights=_joined([m.weights for m in mentions]), minlength=len(distinct))
    titles = np.isin(distinct, _joined([k for k, m in zip(keys, mentions, strict=True) if m.field.title]))
    surface = [place[m.terms] for m in mentions if m.field.surface]
    return Postings(
        terms=tuple(terms),
        counts=np.bincount(distinct // many, minlength=len(terms)),
        documents=distinct % many,
        impacts=np.clip(np.rint(said / (SATURATION + said) * 255), 1, 255).astype(np.uint8),
        titles=titles,
        surface=np.bincount(_joined(surface), minlength=len(terms)),
    )


def _mentions(field: Field, operations: Sequence[Parts], interned: _Interned) -> _Mentions:
    of = interned.of(field)
    terms: list[int] = []
    ends = []
    for parts in operations:
        for text in field.texts(parts):
            terms += of(text)
        ends.append(len(terms))
    lengths: Ints = np.array(ends, np.int64) - np.array([0, *ends[:-1]], np.int64)[: len(ends)]
    told = lengths[lengths > 0]
    mean = float(told.mean()) if len(told) else 1.0
    weight = FIELD_WEIGHTS[field.name]
    per_mention = weight.weight / (1 - weight.b + weight.b * lengths / mean)
    return _Mentions(
        field=field,
        terms=np.array(terms, np.int64),
        documents=np.repeat(np.arange(len(operations)), lengths),
        weights=np.repeat(per_mention, lengths),
    )


def _joined(arrays: Iterable[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    return np.concatenate(list(arrays))
