"""Tenants are served in turn, within their share; who cannot be served soon is told so at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ammeter.engines.sandbox.port import Busy, Outcome, Script, Value
from ammeter.engines.sandbox.turns import Turns
from tests.engines.sandbox.parts import QUICK, SDK, WAIT_S, Answering, Opened


def test_those_who_wait_are_served_in_turn_between_tenants() -> None:
    async def story() -> list[str]:
        turns = Turns(running=1, running_each=1, waiting=10, waiting_each=10)
        assert await turns.take("a", patience_s=WAIT_S)
        order: list[str] = []

        async def one(tenant: str) -> None:
            assert await turns.take(tenant, patience_s=WAIT_S)
            order.append(tenant)
            turns.give_back(tenant)

        waiting = [asyncio.create_task(one(tenant)) for tenant in ("a", "a", "a", "b", "c", "b")]
        await asyncio.sleep(0)
        assert (turns.running, turns.waiting) == (1, 6)
        turns.give_back("a")
        await asyncio.gather(*waiting)
        assert (turns.running, turns.waiting) == (0, 0)
        return order

    assert asyncio.run(story()) == ["a", "b", "c", "a", "b", "a"]


def test_a_tenant_at_its_share_waits_while_others_go_first() -> None:
    async def story() -> None:
        turns = Turns(running=3, running_each=2, waiting=10, waiting_each=1)
        assert [await turns.take("a", patience_s=WAIT_S) for _ in range(2)] == [True, True]
        third = asyncio.create_task(turns.take("a", patience_s=WAIT_S))
        await asyncio.sleep(0)
        assert await turns.take("a", patience_s=WAIT_S) is False, "its queue is full, which is said at once"
        assert await turns.take("b", patience_s=WAIT_S) is True
        assert not third.done()
        turns.give_back("b")
        await asyncio.sleep(0)
        assert not third.done(), "there is room, but not for this tenant"
        turns.give_back("a")
        assert await third is True

    asyncio.run(story())


def test_a_turn_that_nobody_waits_for_any_more_is_given_on() -> None:
    async def story() -> None:
        turns = Turns(running=1, running_each=1, waiting=10, waiting_each=10)
        assert await turns.take("a", patience_s=WAIT_S)
        assert await turns.take("b", patience_s=0.001) is False
        gone = asyncio.create_task(turns.take("b", patience_s=WAIT_S))
        kept = asyncio.create_task(turns.take("c", patience_s=WAIT_S))
        await asyncio.sleep(0)
        turns.give_back("a")
        gone.cancel()
        await asyncio.wait([gone])
        assert await kept is True
        turns.give_back("c")
        assert (turns.running, turns.waiting) == (0, 0)

    asyncio.run(story())


def test_a_greedy_tenant_is_busy_and_another_is_not(sandbox_cache: Path) -> None:
    opened = Opened(
        sandbox_cache, workers=1, running=4, running_per_tenant=2, waiting_per_tenant=1, patience_s=0.2
    )

    async def story() -> tuple[list[Outcome], Outcome]:
        def script(code: str, tenant: str) -> Script:
            return Script(code=code, sdk=SDK, limits=QUICK, tenant=tenant)

        host = Answering()
        greedy = [
            asyncio.create_task(opened.pool.run(script("await client.never()", "greedy"), host))
            for _ in range(6)
        ]
        async with asyncio.timeout(WAIT_S):
            while host.under_way < 2:  # noqa: ASYNC110 - the host sets no event
                await asyncio.sleep(0.005)
        other = await opened.pool.run(script("return 'served'", "other"), host)
        counted = opened.pool.counters()
        assert (counted.running, counted.workers, counted.scripts) == (2, 1, 3)
        refused = [await task for task in greedy[2:]]
        for task in greedy[:2]:
            task.cancel()
        await asyncio.wait(greedy)
        return refused, other

    try:
        busy, other = opened.within(story())
        assert isinstance(other, Value)
        assert len(busy) == 4
        assert all(isinstance(one, Busy) for one in busy)
        assert opened.pool.counters().busy == 4
        assert opened.pool.counters().running == 0
    finally:
        opened.close()
