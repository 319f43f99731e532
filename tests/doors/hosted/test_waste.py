"""What a message to the hosted endpoint leaves behind is gone with it; see `tests/doors/test_waste.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.doors.hosted.test_access import READ
from tests.doors.hosted.visitor import Visitor
from tests.waste import waste_of

MESSAGES: dict[str, Callable[[Visitor], Any]] = {
    "tools": lambda visitor: visitor.ask("tools/list"),
    "a search": lambda visitor: visitor.tool("search_sdk", {"query": "list things"}),
    "a script": lambda visitor: visitor.run("return 1"),
    "a script that calls": lambda visitor: visitor.run(READ),
    "a script that fails": lambda visitor: visitor.run("throw new Error('so')"),
    "a modern one": lambda visitor: visitor.ask_modern("tools/list"),
    "no key": lambda visitor: visitor.ask("tools/list", authorization=""),
    "an unknown method": lambda visitor: visitor.ask("tools/nothing"),
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_leaves_nothing_for_the_collector(
    visitor: Visitor, message: Callable[[Visitor], Any]
) -> None:
    assert waste_of(lambda: message(visitor)) == []
