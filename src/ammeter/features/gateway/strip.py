"""The credentials of a call out of whatever its API sends back, so that one which echoes its request reveals
nothing to the script. Only values that are known: a script gets everything else as the API said it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ammeter.engines.redact.known import KnownValues
from ammeter.engines.redact.spans import Span, cut, merged

# Letters and digits that JSON wrote as \u0041: they are seen only once the text is read.
_HIDDEN = re.compile(rb"\\u00[3-7]")


class Stripper:
    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(values)
        self._known = KnownValues(self.values) if self.values else None
        self._looked: tuple[bytes, bool] = (b"", False)

    def finds(self, raw: bytes) -> bool:
        # Asked once for the record of a call and once more when its answer is read, perhaps in a thread
        # beside others: what is returned is never read back from where they write, too.
        looked = self._looked
        if looked[0] is not raw:
            looked = self._looked = (raw, bool(self._spans(raw.decode("utf-8", "surrogateescape"))))
        return looked[1]

    def is_clean(self, raw: bytes) -> bool:
        """Whether no string of this JSON can hold a value: most answers need no further look."""
        return self._known is None or not (self.finds(raw) or _HIDDEN.search(raw))

    def text(self, text: str) -> str:
        spans = self._spans(text)
        return cut(text, spans) if spans else text

    def bytes(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        spans = self._spans(text)
        return cut(text, spans).encode("utf-8", "surrogateescape") if spans else raw

    def json(self, value: Any) -> Any:
        """Every text in it, names of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.json(item) for name, item in value.items()}
        return value

    def _spans(self, text: str) -> list[Span]:
        if self._known is None:
            return []
        return merged(self._known.spans(text, text.encode("latin-1", "replace").lower()))
