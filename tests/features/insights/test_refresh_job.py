"""The refresh as workers do it: set off for every organization with analytics, one of each at a time."""

from __future__ import annotations

import asyncio
import time

from ammeter.base.pages import PageRequest
from ammeter.engines.jobs.port import Job, Status
from ammeter.engines.jobs.schedule import find_schedule
from ammeter.features.insights import refresh_job, topic_store
from ammeter.features.orgs import service
from ammeter.wiring import House
from tests.evaluating import working
from tests.features.insights.stories import teller
from tests.features.insights.test_refresh import REFUNDS, SINCE
from tests.household import OPERATOR
from tests.shared import new_org


def open_jobs(house: House) -> list[Job]:
    with house.db.read() as tx:
        return list(house.jobs.list(tx, PageRequest(page_size=200)).rows)


async def worked_off(house: House) -> list[Job]:
    def is_over() -> bool:
        return all(job.status in (Status.SUCCEEDED, Status.FAILED) for job in open_jobs(house))

    deadline = time.monotonic() + 60
    async with working(house):
        while not await asyncio.to_thread(is_over):
            assert time.monotonic() < deadline, "the jobs did not end in time"
            await asyncio.sleep(0.05)
    return open_jobs(house)


def test_every_organization_with_analytics_is_refreshed(house: House) -> None:
    with house.db.write() as tx:
        seen, unseen = new_org(tx), new_org(tx)
        for org, on in ((seen, True), (unseen, False)):
            service.set_features(tx, OPERATOR, org, mcp_analytics=on)
    for org in (seen, unseen):
        teller(house.db, org.id).wants(*REFUNDS)
    with house.db.write() as tx:
        house.jobs.enqueue(tx, kind=refresh_job.KIND, payload={})
    jobs = asyncio.run(worked_off(house))
    assert [job.status for job in jobs] == [Status.SUCCEEDED] * 2
    results = {job.org_id: job.result for job in jobs}
    assert results[None] == {"organizations": 1}
    assert results[seen.id]["new_topics"] == 1
    with house.db.read() as tx:
        assert len(topic_store.list_topics(tx, seen.id, since=SINCE)) == 1
        assert topic_store.list_topics(tx, unseen.id, since=SINCE) == []


def test_a_refresh_that_waits_stands_in_for_a_second_one(house: House) -> None:
    with house.db.write() as tx:
        org = new_org(tx)
        first = refresh_job.enqueue(tx, house.jobs, org.id)
        second = refresh_job.enqueue(tx, house.jobs, org.id)
    assert (first.is_new, second.is_new) == (True, False)
    assert [job.result["sessions"] for job in asyncio.run(worked_off(house))] == [0]


def test_the_hourly_schedule_is_made_once(house: House) -> None:
    for _ in range(2):
        refresh_job.ensure_scheduled(house.db)
    with house.db.read() as tx:
        schedule = find_schedule(tx, "insights")
    assert schedule is not None
    assert (schedule.kind, schedule.timing.every_minutes) == (refresh_job.KIND, 60)
