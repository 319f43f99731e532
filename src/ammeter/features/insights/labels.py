"""A name for a topic from the words that set it apart: a verb first, then what it is done to. Pure.

Only words come out, never whole texts: what agents write is not shown as a heading unread.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ammeter.engines.search.words import verb_class, word_set
from ammeter.features.insights.intents import said_words

MAX_CHARS = 80
_OBJECTS = 3
_LEAST_SHARE = 0.25
_LOOKED_AT = 400
# Verbs to a search, but no verb to begin a name with.
_NO_VERBS = word_set("all every new index")
# They begin many intents and say nothing of what is wanted.
_EMPTY = word_set(
    """all every help let try user api sdk client script task goal agent have has had did am im up way s t m
    ll re ve"""
)


def word_counts(forms: Sequence[str]) -> Counter[str]:
    """In how many of the forms each word is."""
    return Counter(word for form in forms for word in set(said_words(form)))


def label_of(forms: Sequence[str], background: Mapping[str, int], background_forms: int) -> str:
    """`background`: in how many forms of all topics each word is."""
    told = [found for form in forms[:_LOOKED_AT] if (found := said_words(form))]
    if not told:
        return "Other"
    counts = Counter(word for found in told for word in set(found))
    places: dict[str, list[float]] = defaultdict(list)
    for found in told:
        for at, word in enumerate(dict.fromkeys(found)):
            places[word].append(at / len(found))

    def worth(word: str) -> float:
        rarity = math.log((background_forms + 2) / (background.get(word, 0) + 1))
        return counts[word] * max(rarity, 0.1) * (0.05 if word in _EMPTY else 1)

    ranked = sorted(counts, key=lambda word: (-worth(word), word))
    verb = _verb(told, counts)
    objects: list[str] = []
    for word in ranked:
        common = counts[word] >= _LEAST_SHARE * len(told) or not objects
        if word != verb and common and not _is_said(word, objects) and len(objects) < _OBJECTS:
            objects.append(word)
    objects.sort(key=lambda word: (sum(places[word]) / len(places[word]), word))
    text = " ".join([verb, *objects] if verb else objects)
    text = text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1].rstrip() + "…"
    return text[:1].upper() + text[1:]


def _verb(told: Sequence[Sequence[str]], counts: Counter[str]) -> str | None:
    """The verb that most begin with; else one of the known verbs that a third of them have."""
    first = Counter(found[0] for found in told)
    word, often = min(first.items(), key=lambda item: (-item[1], item[0]))
    if _is_verb(word) and often >= _LEAST_SHARE * len(told):
        return word
    if 2 * often >= len(told) and any(len(found) > 1 for found in told) and word not in _EMPTY:
        return word
    known = [word for word in counts if _is_verb(word) and 3 * counts[word] >= len(told)]
    return min(known, key=lambda word: (-counts[word], word)) if known else None


def _is_verb(word: str) -> bool:
    return verb_class(word) is not None and word not in _NO_VERBS


def _is_said(word: str, objects: Sequence[str]) -> bool:
    """Its singular or plural is there already."""
    return any(word.rstrip("s") == other.rstrip("s") for other in objects)
