"""Why searches of a cluster found nothing: judged against the whole description. Pure.

`alias`: an operation does it, under other words. `documentation`: it is told, but deep down or hardly at all.
`capability`: the API has the thing, not this to do with it. `out_of_scope`: it is not about this at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.model import Card, Operation
from ammeter.engines.search.embed import Floats, packaged_embedding, unit_rows
from ammeter.engines.search.fields import embedded_text, parts_of, verbs_of
from ammeter.engines.search.index import SearchIndex
from ammeter.engines.search.words import verb_class, words
from ammeter.features.insights.intents import form_of, said_words
from ammeter.features.insights.topic_model import GapKind, NearOperation

NEAR = 0.36
"""So near in meaning that the operation is what was asked for, in other words."""
RELATED = 0.30
"""So near that the API has at least to do with it."""
STRANGE_FITS = 0.28
"""How near to an operation the words must be that the API itself never uses: `flight` beside `book`."""
STRANGE_ANYWHERE = 0.15
OFTEN = 10
"""So many sessions do not ask by mistake: what is at all near is missing."""
_SEEN_ENOUGH = 5
_QUERIES = 20
_NEAREST = 5
_EVIDENCE_SHARE = 0.3
# A script looks something up with one operation to do what is wanted with another: both are used as often.
_AS_OFTEN = 0.75
_SHORT_TEXT = 30
# Of the words of a cluster those that so many of its searches have.
_WORD_SHARE = 0.34


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A cluster's stored searches."""

    queries: Sequence[str]
    later_used: Mapping[str, int]
    """Operations that sessions went on to use after the search failed, with how many sessions did."""
    sessions: int
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Operations that these searches showed, with how often; no script used them afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A bundle, made ready to be asked whether something is in it at all."""

    cards: Sequence[Card]
    operations: Mapping[str, Operation]
    index: SearchIndex
    meanings: Floats
    surface: Sequence[frozenset[str]]
    """Words of each operation's name, path, summary and tags."""
    deep: Sequence[frozenset[str]]
    """Words of all that is told of it."""
    verbs: Sequence[frozenset[str]]

    def place_of(self, operation_id: str) -> int | None:
        return next((i for i, card in enumerate(self.cards) if card.operation_id == operation_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    kind: GapKind
    nearest: Sequence[NearOperation]
    target: str | None
    """The operation that should have been found."""
    missing: Sequence[str]
    """Words of the searches that the target's surface does not have, those of most searches first."""
    proven: bool
    """Agents went on to use the target."""


def described(bundle: Bundle) -> Described:
    texts = [embedded_text(parts_of(card)) for card in bundle.cards]
    return Described(
        cards=bundle.cards,
        operations={operation.id: operation for operation in bundle.api.operations},
        index=SearchIndex.load(bundle.search),
        meanings=unit_rows(packaged_embedding().sums(texts)),
        surface=[frozenset(map(_stem, _surface(card))) for card in bundle.cards],
        deep=[frozenset(map(_stem, _deep(card))) for card in bundle.cards],
        verbs=[frozenset(verbs_of(parts_of(card))) for card in bundle.cards],
    )


def judge(question: Question, api: Described) -> Judgement:
    queries = list(dict.fromkeys(question.queries))[:_QUERIES]
    asked = _asked_words(queries)
    if not api.cards or not asked:
        return Judgement(kind="out_of_scope", nearest=(), target=None, missing=(), proven=False)
    likeness = _likeness(queries, api)
    nearest = _nearest(queries, api, likeness)
    proven = _proven(question, api, likeness)
    if proven is not None:
        return _answered(api, proven, asked, nearest, proven=True)
    objects = [word for word in asked if not verb_class(word)] or asked
    fits = _fits(objects, api)
    possible = _verb_fits(asked, api) & ~_rejected(question, api)
    able = np.where(possible, likeness, np.float32(-1))
    buried = _buried(objects, api, able)
    best = int(able.argmax())
    if buried is not None:
        return _answered(api, buried, asked, nearest, proven=False)
    if able[best] >= NEAR and fits[best] >= STRANGE_FITS:
        return _answered(api, best, asked, nearest, proven=False)
    known = sum(any(_stem(word) in told for told in api.surface) for word in objects)
    is_near = float(likeness.max()) >= RELATED or 2 * known >= len(objects)
    is_wanted = question.sessions >= OFTEN and float(likeness.max()) >= STRANGE_ANYWHERE
    is_related = is_wanted or (is_near and float(fits.max()) >= STRANGE_ANYWHERE)
    kind: GapKind = "capability" if is_related else "out_of_scope"
    return Judgement(kind=kind, nearest=nearest, target=None, missing=(), proven=False)


def _fits(objects: Sequence[str], api: Described) -> Floats:
    """How near each operation is to what the API has no word for; 1 where it has words for everything."""
    strange = [word for word in objects if not any(_stem(word) in told for told in api.surface)]
    if not strange:
        return np.ones(len(api.cards), np.float32)
    rows = unit_rows(packaged_embedding().sums(strange))
    mean: Floats = (api.meanings @ rows.T).mean(axis=1)
    return mean


def _rejected(question: Question, api: Described) -> npt.NDArray[np.bool_]:
    """Operations that agents saw again and again and did not take for what they wanted."""
    least = max(_SEEN_ENOUGH, len(question.queries) / 4)
    return np.array([question.rejected.get(card.operation_id, 0) >= least for card in api.cards], bool)


def _verb_fits(asked: Sequence[str], api: Described) -> npt.NDArray[np.bool_]:
    """Whether each operation does what the verbs ask for: nothing that creates answers `delete`."""
    said = {verb for word in asked if (verb := verb_class(word))}
    if said & {"get", "list"}:
        said |= {"get", "list"}
    return np.array([not said or bool(said & verbs) for verbs in api.verbs], bool)


def _answered(
    api: Described, at: int, asked: Sequence[str], nearest: Sequence[NearOperation], *, proven: bool
) -> Judgement:
    card = api.cards[at]
    missing = [word for word in asked if _stem(word) not in api.surface[at]]
    told = [word for word in missing if _stem(word) in api.deep[at]]
    is_short = len(card.summary) + len(card.description) < _SHORT_TEXT
    kind: GapKind = "documentation" if 2 * len(told) > len(missing) or is_short or not missing else "alias"
    first = [one for one in nearest if one.operation_id == card.operation_id]
    rest = [one for one in nearest if one.operation_id != card.operation_id]
    first = first or [NearOperation(operation_id=card.operation_id, score=0.0)]
    return Judgement(
        kind=kind,
        nearest=tuple(first + rest)[:_NEAREST],
        target=card.operation_id,
        missing=tuple(missing),
        proven=proven,
    )


def _asked_words(queries: Sequence[str]) -> list[str]:
    """Words that a good part of the searches have, most common first."""
    counts = Counter(word for query in queries for word in set(said_words(form_of(query).text)))
    common = [word for word, count in counts.items() if count >= _WORD_SHARE * len(queries)]
    return sorted(common or counts, key=lambda word: (-counts[word], word))[:8]


def _likeness(queries: Sequence[str], api: Described) -> Floats:
    """Of each operation to the cluster: in meaning alone, not in words."""
    rows = unit_rows(packaged_embedding().sums([form_of(query).spoken for query in queries]))
    mean: Floats = (api.meanings @ rows.T).mean(axis=1)
    return mean


def _nearest(queries: Sequence[str], api: Described, likeness: Floats) -> list[NearOperation]:
    scores: dict[str, float] = defaultdict(float)
    for query in queries:
        for hit in api.index.search(query, 2 * _NEAREST).hits:
            scores[hit.operation_id] += hit.score
    for at in np.argsort(-likeness, kind="stable")[:2].tolist():
        scores.setdefault(api.cards[at].operation_id, 0)
    ranked = sorted(scores, key=lambda one: (-scores[one], one))[:_NEAREST]
    return [NearOperation(operation_id=one, score=round(scores[one] / len(queries), 4)) for one in ranked]


def _proven(question: Question, api: Described, likeness: Floats) -> int | None:
    """The operation that agents used in the end, if enough of them did; of several that were used about as
    often, the one that is most like the searches."""
    most = max(question.later_used.values(), default=0)
    if most < 2 or most < _EVIDENCE_SHARE * question.sessions:
        return None
    used = [api.place_of(name) for name, often in question.later_used.items() if often >= _AS_OFTEN * most]
    return max((at for at in used if at is not None), key=lambda at: (likeness[at], at), default=None)


def _buried(objects: Sequence[str], api: Described, likeness: Floats) -> int | None:
    """An operation of which all that is asked about is told, but not on its surface."""
    found = [
        at
        for at, told in enumerate(api.deep)
        if all(_stem(word) in told for word in objects)
        and likeness[at] >= RELATED
        and not all(_stem(word) in api.surface[at] for word in objects)
    ]
    return max(found, key=lambda at: float(likeness[at])) if found else None


def _surface(card: Card) -> list[str]:
    return [
        word
        for text in (card.operation_id, card.sdk_name, card.path, card.summary, *card.tags)
        for word in words(text)
    ]


def _deep(card: Card) -> list[str]:
    texts = [card.description, *card.response_fields, *card.body_types, *card.response_types, *card.enums]
    texts += [text for pair in (*card.parameter_texts, *card.body_fields) for text in pair]
    return _surface(card) + [word for text in texts for word in words(text)]


def _stem(word: str) -> str:
    """Singular and plural alike."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
