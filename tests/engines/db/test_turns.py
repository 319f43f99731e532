"""Who writes next: requests before the background, which has its turn in the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from ammeter.engines.db.turns import Turns


class Writer(threading.Thread):
    """Takes a turn as soon as it gets one, and keeps it until told."""

    def __init__(self, take: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__(daemon=True)
        self._take = take
        self.has_turn = threading.Event()
        self.let_go = threading.Event()
        self.start()

    def run(self) -> None:
        with self._take():
            self.has_turn.set()
            assert self.let_go.wait(10)

    def finish(self) -> None:
        self.let_go.set()
        self.join(10)
        assert not self.is_alive()


def test_the_background_waits_for_requests_that_write() -> None:
    turns = Turns(patience_s=30)
    request, other = Writer(turns.first), Writer(turns.first)
    assert request.has_turn.wait(10)
    assert other.has_turn.wait(10), "who goes first among requests is not decided here"
    behind = Writer(turns.behind)
    request.finish()
    assert not behind.has_turn.wait(0.1)
    other.finish()
    assert behind.has_turn.wait(10)
    behind.finish()


def test_the_background_has_its_turn_though_requests_never_end() -> None:
    turns = Turns(patience_s=0.01)
    request = Writer(turns.first)
    assert request.has_turn.wait(10)
    behind = Writer(turns.behind)
    assert behind.has_turn.wait(10)
    behind.finish()
    request.finish()


def test_of_the_background_one_at_a_time_stands_before_a_request() -> None:
    turns = Turns(patience_s=30)
    one, other = Writer(turns.behind), Writer(turns.behind)
    while not (one.has_turn.is_set() or other.has_turn.is_set()):
        one.has_turn.wait(0.01)
    having, waiting = (one, other) if one.has_turn.is_set() else (other, one)
    assert not waiting.has_turn.wait(0.1)
    request = Writer(turns.first)
    assert request.has_turn.wait(10), "a request never waits for who has no turn yet"
    having.finish()
    assert not waiting.has_turn.wait(0.1)
    request.finish()
    assert waiting.has_turn.wait(10)
    waiting.finish()
