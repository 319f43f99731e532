"""Calls of one organization at once are bounded, and others do not wait for them."""

from __future__ import annotations

import asyncio

from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.features.gateway.host import ApiHost
from ammeter.features.gateway.lanes import Lanes
from tests.features.gateway.shop import Known, served
from tests.upstream import running_upstream


def test_an_organization_whose_calls_hang_leaves_room_for_others() -> None:
    with running_upstream() as upstream:
        api = served(upstream)

        async def story() -> None:
            egress, lanes = Egress(Guard(["127.0.0.0/8"])), Lanes(2)

            def host(tenant: str) -> ApiHost:
                return ApiHost(api, egress=egress, credentials=Known(), max_calls=50, lane=lanes.of(tenant))

            hanging = [asyncio.create_task(host("slow").call("getSlow", {})) for _ in range(5)]
            assert await asyncio.to_thread(upstream.wait_until_seen, 2)
            await host("other").call("listPages", {})
            assert [seen.path for seen in upstream.seen] == ["/v1/slow", "/v1/slow", "/v1/pages"]
            upstream.release.set()
            await asyncio.gather(*hanging)
            assert len(upstream.seen) == 6
            await egress.close()

        asyncio.run(story())


def test_scripts_of_one_organization_share_a_lane() -> None:
    lanes = Lanes(2)
    lane = lanes.of("a")
    assert lanes.of("a") is lane
    assert lanes.of("b") is not lane
