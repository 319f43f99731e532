"""Where an operation's path ids come from: for each card, the SDK name of one that gives them.

A path is read from its last hole to its first. For a hole, the collection that it stands in
(`GET /users` for `/users/{id}`), else an operation without holes that lists or finds the same thing
(`GET /search/movie` for `{movie_id}`), else the one that makes it (`POST /jobs` for `/jobs/{id}`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ammeter.engines.compiler.model import Card
from ammeter.engines.search.fields import TEMPLATE
from ammeter.engines.search.words import joined, verb_class, word_set, words

_ID_WORDS = word_set("id ids key name slug uuid guid gid sid number num code handle ref")
_FINDING = word_set("search find list lookup query all")

Segments = tuple[str, ...]


def ids_from(cards: Sequence[Card]) -> tuple[str | None, ...]:
    """In the order of the cards; None where a path needs no id or nothing here gives it."""
    book = _Book(cards)
    return tuple(book.producer_of(position) for position in range(len(cards)))


class _Book:
    def __init__(self, cards: Sequence[Card]) -> None:
        self.cards = cards
        self.segments = [_segments(card.path) for card in cards]
        self.getters: dict[Segments, int] = {}
        self.makers: dict[Segments, int] = {}
        self.listing: dict[str, list[int]] = defaultdict(list)
        # Living operations first, so that a deprecated one gives ids only where nothing else does.
        for i in sorted(range(len(cards)), key=lambda i: (cards[i].deprecated, i)):
            template = tuple(_template(s) for s in self.segments[i])
            if cards[i].method == "get":
                self.getters.setdefault(template, i)
                if not any("{" in s for s in template):
                    # The last word is the thing: `file_locks` gives locks, not files.
                    for noun in {_singular(w) for s in template for w in words(s)[-1:]}:
                        self.listing[noun].append(i)
            elif cards[i].method == "post":
                self.makers.setdefault(template, i)

    def producer_of(self, position: int) -> str | None:
        segments = self.segments[position]
        for at in range(len(segments) - 1, -1, -1):
            hole = TEMPLATE.search(segments[at])
            if hole is None:
                continue
            found = self._producer(segments, at, hole[1], position)
            if found is not None:
                return self.cards[found].sdk_name
        return None

    def _producer(self, segments: Segments, at: int, parameter: str, position: int) -> int | None:
        before = tuple(_template(s) for s in segments[:at])
        collection = self.getters.get(before)
        if before and "{" not in before[-1] and collection not in (None, position):
            return collection
        noun = _noun(segments, at, parameter)
        found = [i for i in self.listing.get(noun, ()) if i != position]
        if found:
            return max(found, key=lambda i: (self._fitness(i, noun, parameter), -len(self.segments[i]), -i))
        maker = self.makers.get(before)
        if maker not in (None, position) and self._gives(maker, noun, parameter):
            return maker
        return None

    def _fitness(self, i: int, noun: str, parameter: str) -> int:
        last = words(self.segments[i][-1])
        said = [*words(self.cards[i].operation_id), *(w for s in self.segments[i] for w in words(s))]
        about = 2 * (noun in {_singular(w) for w in last[-1:]})
        finds = any(w in _FINDING or verb_class(w) == "list" for w in said)
        return about + 2 * finds + self._gives(i, noun, parameter) - 2 * self.cards[i].deprecated

    def _gives(self, i: int, noun: str, parameter: str) -> bool:
        wanted = {joined(parameter), "id", f"{noun}id"}
        return any(joined(field) in wanted for field in self.cards[i].response_fields)


def _segments(path: str) -> Segments:
    return tuple(s for s in path.partition("#")[0].split("/") if s)


def _template(segment: str) -> str:
    return TEMPLATE.sub("{}", segment)


def _noun(segments: Segments, at: int, parameter: str) -> str:
    """What the hole names: `movie` for `{movie_id}`; for `{id}` the segment before it."""
    named = [w for w in words(parameter) if w not in _ID_WORDS]
    if not named:
        named = next((words(s) for s in reversed(segments[:at]) if "{" not in s), [])
    return _singular(named[-1]) if named else ""


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word
