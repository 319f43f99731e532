"""An event as it may be stored: secrets out of everything that came from outside, texts no longer than
they may be, no sign that a database refuses. Where secrets cannot be taken out, the texts are left out.

Secrets go before texts are cut: half a secret would not be known for one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ammeter.engines.redact.known import KnownValues
from ammeter.engines.redact.redactor import Redactor
from ammeter.features.telemetry.model import Event, Flag

log = logging.getLogger("ammeter.telemetry")

_LIMITS = {
    "code": 65_536,
    "result": 24_000,
    "query": 2_000,
    "intent": 2_000,
    "context": 4_000,
    "frustration_text": 500,
    "error_class": 200,
    "error_message": 4_000,
    "client_name": 200,
    "client_version": 100,
    "protocol_version": 40,
    "request_id": 200,
    "trace_id": 64,
}
_MAX_NAME = 300
_MAX_NAMES = 50
_MAX_CALLS = 200
_MAX_CALL_TEXT = 2_000
_MAX_LOG_LINES = 200
_MAX_LOG_TEXT = 2_000
_MAX_TAGS = 32
# Text beyond this is not even looked at: what is kept is far shorter.
_LOOKED_AT = 262_144
# No token of known shape that could be cut in two is longer than this.
_LONGEST_TOKEN = 8_192


Prepared = dict[tuple[str, ...], KnownValues]
"""Secrets of a batch, made ready to be looked for once; it goes with the batch."""


def storable(event: Event, known_secrets: Iterable[str], prepared: Prepared | None = None) -> Event:
    try:
        return _cleaned(event, Redactor(_prepare(tuple(known_secrets), {} if prepared is None else prepared)))
    except Exception:  # noqa: BLE001
        # The fault itself is not logged: its message may hold what it was about.
        log.error("secrets cannot be taken out of an event; it is stored without its texts")
        return without_content(event)


def _prepare(secrets: tuple[str, ...], prepared: Prepared) -> KnownValues:
    if secrets not in prepared:
        prepared[secrets] = KnownValues(secrets)
    return prepared[secrets]


def without_content(event: Event) -> Event:
    """The event with what Ammeter itself knows of it: ids, times, sizes, outcome."""
    return replace(
        event,
        client_name="",
        client_version="",
        protocol_version="",
        request_id="",
        error_class=None,
        error_message=None,
        intent=None,
        context=None,
        frustration_text=None,
        tags={},
        query=None,
        result_operations=(),
        code=None,
        result=None,
        logs=(),
        calls=(),
        invented=(),
        content_dropped=True,
    )


def size_of(event: Event) -> int:
    """About how many bytes of memory an event holds until it is stored."""
    texts = (event.code, event.result, event.query, event.context, event.intent, event.error_message)
    small = 1_000 + 300 * len(event.calls) + sum(len(line["text"]) for line in event.logs)
    return small + sum(len(text) for text in texts if text)


def _cleaned(event: Event, redactor: Redactor) -> Event:
    # Most events hold no secret at all: one look at everything tells.
    strip = _nothing_to_strip if redactor.finds_nothing(_texts(event)) else redactor.text
    tail = redactor.longest + _LONGEST_TOKEN

    def text(given: str, limit: int) -> str:
        return _fit(given, limit, strip, tail)

    def names(given: Sequence[str]) -> tuple[str, ...]:
        return tuple(text(name, _MAX_NAME) for name in given[:_MAX_NAMES])

    changes: dict[str, Any] = {
        name: text(given, limit) for name, limit in _LIMITS.items() if (given := getattr(event, name))
    }
    changes["tags"] = {
        text(name, _MAX_NAME): text(value, _MAX_NAME) for name, value in list(event.tags.items())[:_MAX_TAGS]
    }
    changes["result_operations"] = names(event.result_operations)
    changes["invented"] = names(event.invented)
    changes["logs"] = tuple(
        {"level": text(line["level"], 20), "text": text(line["text"], _MAX_LOG_TEXT)}
        for line in event.logs[:_MAX_LOG_LINES]
    )
    changes["calls"] = tuple(
        {
            name: text(value, _MAX_CALL_TEXT) if isinstance(value, str) else value
            for name, value in call.items()
        }
        for call in event.calls[:_MAX_CALLS]
    )
    stripped = changes["secrets_stripped"] = event.secrets_stripped + redactor.stripped
    changes["flags"] = _flags(event.flags, stripped)
    changed = {name: value for name, value in changes.items() if value != getattr(event, name)}
    return replace(event, **changed) if changed else event


def _texts(event: Event) -> Iterator[str]:
    """Everything that came from outside, as far as it is looked at."""
    for name in _LIMITS:
        if given := getattr(event, name):
            yield given[:_LOOKED_AT]
    for name, value in event.tags.items():
        yield from (name, value)
    yield from event.result_operations
    yield from event.invented
    for line in event.logs[:_MAX_LOG_LINES]:
        yield from (line["level"], line["text"])
    for call in event.calls[:_MAX_CALLS]:
        yield from (value for value in call.values() if isinstance(value, str))


def _nothing_to_strip(text: str) -> str:
    return text


def _flags(flags: Sequence[Flag], stripped: int) -> tuple[Flag, ...]:
    if stripped and "secret_stripped" not in flags:
        return (*flags, "secret_stripped")
    return tuple(flags)


def _fit(text: str, limit: int, strip: Callable[[str], str], tail: int) -> str:
    # The cut may leave half a secret at the end: what could be one goes.
    text = strip(text) if len(text) <= _LOOKED_AT else strip(text[:_LOOKED_AT])[:-tail]
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii():
        # A half of a surrogate pair is no text for a database.
        text = text.encode("utf-8", "replace").decode()
    return text
