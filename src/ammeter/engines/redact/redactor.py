"""Secrets out of any value. Text or JSON in, the same out with `[redacted:<kind>]` in place of each secret.

By three means: values that are known to be secret, shapes of well-known tokens, and values given to a
secret's name. Single words that merely look random stay: ids, digests and images would go with them.
One Redactor is for one event: `stripped` counts what it took out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ammeter.engines.redact.assignments import assignment_spans, is_placeholder
from ammeter.engines.redact.cards import card_spans
from ammeter.engines.redact.known import KnownValues
from ammeter.engines.redact.names import Named, meaning
from ammeter.engines.redact.spans import Span, cut, merged
from ammeter.engines.redact.tokens import token_spans

_MARK = "[redacted:secret_field]"
# Ends a word, a value and a line.
_BETWEEN = "\n\x1f\n"


class Redactor:
    def __init__(self, known: Iterable[str] | KnownValues = ()) -> None:
        """`known`: values, or what was made of them for another redactor."""
        self._known = known if isinstance(known, KnownValues) else KnownValues(known)
        self.stripped = 0

    @property
    def longest(self) -> int:
        """No form of a known value is longer: a text cut anywhere holds at most so much of half a secret."""
        return self._known.longest

    def text(self, text: str) -> str:
        spans = merged(self._spans(text))
        if not spans:
            return text
        self.stripped += len(spans)
        return cut(text, spans)

    def finds_nothing(self, texts: Iterable[str]) -> bool:
        """Whether none of many texts holds a secret: one look at all of them costs less than many."""
        return next(self._spans(_BETWEEN.join(texts)), None) is None

    def value(self, value: Any) -> Any:
        """JSON: texts and the names of fields redacted; what a secret's name holds goes whatever it is."""
        return self._walk(value, None)

    def _walk(self, value: Any, named: Named | None) -> Any:
        if isinstance(value, str):
            return self._field(value) if named and not is_placeholder(value) else self.text(value)
        if isinstance(value, dict):
            return {self._name(name): self._walk(inner, _meaning(name)) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._walk(inner, named) for inner in value]
        if isinstance(value, bool) or value is None:
            return value
        if named == "password":
            return self._field(value)
        # A number of many digits may be that of a card.
        shown = json.dumps(value)
        return value if self.text(shown) == shown else "[redacted:card_number]"

    def _field(self, value: object) -> str:
        self.stripped += 1
        return _MARK

    def _name(self, name: Any) -> Any:
        return self.text(name) if isinstance(name, str) else name

    def _spans(self, text: str) -> Iterator[Span]:
        # A byte for each sign: places agree, and searches among bytes are quick.
        lower = text.encode("latin-1", "replace").lower()
        yield from self._known.spans(text, lower)
        yield from token_spans(text, lower)
        yield from assignment_spans(text, lower)
        yield from card_spans(text, lower)


def redact_or_drop(redactor: Redactor, value: Any) -> Any | None:
    """The value without secrets, or None where they could not be taken out: never the value as it was."""
    try:
        return redactor.value(value)
    except Exception:  # noqa: BLE001
        return None


def _meaning(name: Any) -> Named | None:
    return meaning(name) if isinstance(name, str) else None
