"""429: a key's quota, told in headers, spent from one bucket whichever server is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ammeter.base.ids import new_id
from ammeter.features.orgs.model import Role
from ammeter.wiring import House
from tests.household import API, Household, make_client, make_household, opened_house, refusal
from tests.server import until


@contextmanager
def limited(house: House, *, per_second: float, servers: int = 1) -> Iterator[list[Household]]:
    """Servers on one database where a key has a burst of three requests; all see one organization."""
    settings = house.settings.model_copy(update={"rate_api_burst": 3, "rate_api_per_second": per_second})
    with ExitStack() as stack:
        houses = [stack.enter_context(opened_house(settings)) for _ in range(servers)]
        clients = [stack.enter_context(make_client(each)) for each in houses]
        first = make_household(houses[0], clients[0], slug=f"org-{new_id()}")
        yield [
            replace(first, house=each, client=client) for each, client in zip(houses, clients, strict=True)
        ]


def test_a_key_over_its_quota_is_told_how_long_to_wait(shared_house: House) -> None:
    with limited(shared_house, per_second=0.02) as (server,):
        for left in (2, 1, 0):
            answer = server.call("GET", "/org")
            assert answer.status_code == 200
            assert answer.headers["ratelimit"] == f'"api";r={left};t=150'
            assert answer.headers["ratelimit-policy"] == '"api";q=3;w=150'
            assert "retry-after" not in answer.headers
        assert_limited(server.call("GET", "/org"), within_s=50)
        assert server.call("GET", "/org", Role.viewer).status_code == 200


def test_what_is_refused_for_another_reason_counts_too(shared_house: House) -> None:
    with limited(shared_house, per_second=0.02) as (server,):
        server.call("GET", "/org?unknown=1")
        server.call("POST", "/org/keys", content=b"{")
        refused = server.call("DELETE", "/org/keys/none")
        assert refused.headers["ratelimit"] == '"api";r=0;t=150'
        assert_limited(server.call("GET", "/org"), within_s=50)


def test_a_refused_change_is_not_done_and_no_body_is_judged(shared_house: House) -> None:
    with limited(shared_house, per_second=0.02) as (server,):
        for _ in range(3):
            server.call("GET", "/org")
        assert_limited(server.call("PUT", "/org/secrets/S", json={"value": "x"}), within_s=50)
        assert_limited(server.call("PUT", "/org/secrets/S", content=b"not json"), within_s=50)
        assert server.call("GET", "/org/secrets", Role.admin).json()["total"] == 0


def test_strangers_spend_nobodys_quota(shared_house: House) -> None:
    with limited(shared_house, per_second=0.02) as (server,):
        wrong = f"Bearer {server.tokens[Role.owner][:-1]}"
        for _ in range(5):
            answer = server.client.get(f"{API}/org", headers={"authorization": wrong})
            assert refusal(answer) == (401, "unauthenticated")
        assert server.call("GET", "/org").headers["ratelimit"] == '"api";r=2;t=150'


def test_two_servers_on_one_database_share_a_quota(shared_house: House) -> None:
    with limited(shared_house, per_second=0.02, servers=2) as (first, second):
        left = [server.call("GET", "/org").headers["ratelimit"] for server in (first, second, first)]
        assert left == [f'"api";r={n};t=150' for n in (2, 1, 0)]
        for server in (second, first):
            assert_limited(server.call("GET", "/org"), within_s=50)


def test_a_quota_comes_back_with_time(shared_house: House) -> None:
    with limited(shared_house, per_second=1) as (server,):
        until(lambda: server.call("GET", "/org").status_code == 429, "the quota is used up")
        until(lambda: server.call("GET", "/org").status_code == 200, "the quota is back", 5)


def assert_limited(answer: Any, *, within_s: int) -> None:
    assert refusal(answer) == (429, "rate_limited")
    retry_after_s = int(answer.headers["retry-after"])
    assert 1 <= retry_after_s <= within_s
    assert answer.headers["ratelimit"] == f'"api";r=0;t={retry_after_s}'
    assert answer.headers["ratelimit-policy"].startswith('"api";q=3;w=')
    assert f"Try again in {retry_after_s} s." in answer.json()["error"]["message"]
