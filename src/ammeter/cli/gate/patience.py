"""Requests that are tried again while it makes sense: when the server says to come back later (429, 503), or
is out of reach for a moment. What is wrong stays wrong, and is told at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ammeter.cli.gate.end import Infrastructure
from ammeter.cli.remote import Refused, RemoteError, Unreachable

T = TypeVar("T")

_LATER = frozenset({429, 500, 502, 503, 504})
_FIRST_S = 0.5
_MOST_S = 15.0


class Patience:
    def __init__(
        self, *, lasts_s: float, tell: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`lasts_s`: how long a row of failures may last; `tell` hears of each pause that is worth a line."""
        self._lasts_s = lasts_s
        self._tell = tell
        self._sleep = sleep

    def ask(self, request: Callable[[], T]) -> T:
        began = time.monotonic()
        pause_s = _FIRST_S
        while True:
            try:
                return request()
            except RemoteError as error:
                wait_s = self._pause(error, pause_s)
                if time.monotonic() + wait_s - began > self._lasts_s:
                    told = f"{error.message} It was tried for {self._lasts_s:g} s."
                    raise Infrastructure(told) from None
            self._sleep(wait_s)
            pause_s = min(_MOST_S, pause_s * 2)

    def _pause(self, error: RemoteError, pause_s: float) -> float:
        if isinstance(error, Unreachable):
            self._tell(f"{error.message} Trying again in {pause_s:g} s.")
            return pause_s
        if not isinstance(error, Refused) or error.status not in _LATER:
            raise error
        wait_s = max(pause_s, float(error.retry_after_s or 0))
        self._tell(f"The server asks to wait ({error.status} {error.refusal}); {wait_s:g} s.")
        return wait_s
