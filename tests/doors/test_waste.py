"""What a request leaves behind is gone with it. Objects that hold each other would wait for the collector of
Python, and while it looks through what thousands of requests have left no request is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ammeter.doors.http.edge import Notes
from tests.household import Household
from tests.waste import waste, waste_of

REQUESTS: dict[str, Callable[[Household], Any]] = {
    "a record": lambda tenant: tenant.call("GET", "/org"),
    "a list": lambda tenant: tenant.call("GET", "/mcp-servers"),
    "a write": lambda tenant: tenant.call("PUT", "/org/secrets/NAME", json={"value": "open-sesame"}),
    "a wrong parameter": lambda tenant: tenant.call("GET", "/runs?pagesize=5"),
    "a wrong body": lambda tenant: tenant.call("POST", "/org/keys", json={"name": 5}),
    "an unknown id": lambda tenant: tenant.call("GET", "/runs/nothing"),
    "an unknown path": lambda tenant: tenant.call("GET", "/nothing"),
    "no key": lambda tenant: tenant.client.get("/api/service/v1/org"),
}


@pytest.mark.parametrize("request_for", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_request_leaves_nothing_for_the_collector(
    tenant: Household, request_for: Callable[[Household], Any]
) -> None:
    assert waste_of(lambda: request_for(tenant)) == []


def test_waste_is_seen_here() -> None:
    with waste() as found:
        notes: Any = Notes("held by itself")
        notes.headers = [notes]
        del notes
    assert [thing.request_id for thing in found] == ["held by itself"]
