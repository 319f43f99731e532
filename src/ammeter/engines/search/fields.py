"""A card becomes the texts that are searched, field by field, and the one text that is embedded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from ammeter.engines.compiler.model import Card
from ammeter.engines.search.words import first_sentence, plain, verb_class, word_set, words

# A description may be a book; what comes after this no longer tells operations apart.
FIRST_SENTENCE_CHARS = 250
DESCRIPTION_CHARS = 2500
PARAMETER_TEXT_CHARS = 240
BODY_TEXT_CHARS = 160
BODY_FIELDS = 400
RESPONSE_FIELDS = 200
ENUMS = 200

TEMPLATE = re.compile(r"\{([^{}]*)\}")

# As first words these are nouns or say too little about what the operation does.
_UNSURE_VERBS = word_set("set index post put start open issue new all check view return search find")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A card with its texts cleaned and its path taken apart."""

    card: Card
    summary: str
    first: str
    rest: str
    segments: tuple[str, ...]
    path_parameters: tuple[str, ...]

    def other_parameters(self) -> Iterable[tuple[str, str]]:
        return (p for p in self.card.parameter_texts if p[0] not in self.path_parameters)


def parts_of(card: Card) -> Parts:
    description = plain(card.description[: 4 * DESCRIPTION_CHARS])
    first = first_sentence(description, FIRST_SENTENCE_CHARS)
    return Parts(
        card=card,
        summary=plain(card.summary),
        first=first,
        rest=description[len(first) : DESCRIPTION_CHARS],
        segments=tuple(s for s in card.path.split("/") if s),
        path_parameters=tuple(TEMPLATE.findall(card.path)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    texts: Callable[[Parts], Iterable[str]]
    kind: Literal["words", "whole", "verb"] = "words"
    title: bool = False
    """Its words say what the operation is: they count for reverse coverage."""
    surface: bool = False
    """Its words are ones that people type: slips and beginnings are matched against them."""


def embedded_text(parts: Parts) -> str:
    """What an operation is about, without its fields: those drown the rest in a mean of words."""
    summary = parts.summary.rstrip(".")
    first = "" if parts.first.rstrip(".").lower() == summary.lower() else parts.first
    path = " ".join(w for s in parts.segments if "{" not in s for w in words(s))
    told = [summary, first, " ".join(words(parts.card.operation_id)), path, ", ".join(parts.card.tags)]
    return ". ".join(text for text in told if text) or f"{parts.card.method} {parts.card.path}"


def verbs_of(parts: Parts) -> tuple[str, ...]:
    """The verb classes of an operation: as it is told, else as its method and path say."""
    card = parts.card
    told = (words(parts.summary) or words(parts.first) or [""])[:1] + words(card.operation_id)
    for word in told:
        verb = verb_class(word)
        if verb and word not in _UNSURE_VERBS and word.removesuffix("s") not in _UNSURE_VERBS:
            return ("get",) if verb == "delete" and card.method == "get" else (verb,)
    match card.method:
        case "post":
            return ("create",)
        case "delete":
            return ("delete",)
        case "put" | "patch":
            return ("update",)
        case _:
            one = bool(parts.segments) and "{" in parts.segments[-1]
            return ("get",) if one else ("list", "get")


def _own_sdk_words(parts: Parts) -> Iterable[str]:
    """The words that only the SDK's name has: someone named the method by hand."""
    card = parts.card
    known = {w for text in (card.operation_id, card.path, *card.tags) for w in words(text)}
    return (word for word in words(card.sdk_name) if word not in known)


def _request_names(parts: Parts) -> Iterable[str]:
    yield from (name for name, _ in parts.card.body_fields[:BODY_FIELDS])
    yield from (name for name, _ in parts.other_parameters())


FIELDS = (
    Field(name="operation_id", texts=lambda p: (p.card.operation_id,), title=True, surface=True),
    Field(name="sdk_name", texts=_own_sdk_words, title=True, surface=True),
    Field(name="path", texts=lambda p: (TEMPLATE.sub(" ", s) for s in p.segments), title=True, surface=True),
    Field(name="path_parameter", texts=lambda p: p.path_parameters),
    Field(name="summary", texts=lambda p: (p.summary,), title=True, surface=True),
    Field(name="tag", texts=lambda p: p.card.tags, surface=True),
    Field(name="first_sentence", texts=lambda p: (p.first,), surface=True),
    Field(name="description", texts=lambda p: (p.rest,)),
    Field(name="parameter_name", texts=lambda p: (n for n, _ in p.other_parameters()), surface=True),
    Field(
        name="parameter_text",
        texts=lambda p: (plain(t[:PARAMETER_TEXT_CHARS]) for _, t in p.card.parameter_texts),
    ),
    Field(name="body_name", texts=lambda p: (n for n, _ in p.card.body_fields[:BODY_FIELDS]), surface=True),
    Field(
        name="body_text",
        texts=lambda p: (plain(t[:BODY_TEXT_CHARS]) for _, t in p.card.body_fields[:BODY_FIELDS]),
    ),
    Field(name="response_name", texts=lambda p: p.card.response_fields[:RESPONSE_FIELDS], surface=True),
    Field(name="body_type", texts=lambda p: p.card.body_types, surface=True),
    Field(name="response_type", texts=lambda p: p.card.response_types),
    Field(name="enum", texts=lambda p: p.card.enums[:ENUMS]),
    Field(name="verb", texts=verbs_of, kind="verb"),
    Field(name="whole_operation_id", texts=lambda p: (p.card.operation_id,), kind="whole"),
    Field(name="whole_path_segment", texts=lambda p: (TEMPLATE.sub("", s) for s in p.segments), kind="whole"),
    Field(name="whole_request_name", texts=_request_names, kind="whole"),
    Field(name="whole_response_name", texts=lambda p: p.card.response_fields[:RESPONSE_FIELDS], kind="whole"),
    Field(name="whole_type", texts=lambda p: (*p.card.body_types, *p.card.response_types), kind="whole"),
)
