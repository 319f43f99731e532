"""Uploads and promotions at the same time: one wins, and every answer is true."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar

import pytest

from ammeter.base.errors import Conflict
from ammeter.engines.compiler.bundle import unpack
from ammeter.features.bundles import service
from ammeter.features.orgs.model import Role
from tests.doors.uploading import Publisher, make_publisher, pets
from tests.household import Household, make_client, make_household, make_settings, opened_house, refusal
from tests.shared import acting, at_once

T = TypeVar("T")


@pytest.fixture
def owner(tenant: Household) -> Publisher:
    return make_publisher(tenant)


def together(*works: Callable[[], T]) -> list[T]:
    """What comes of works that begin at the same moment."""
    start = Barrier(len(works))

    def begin(work: Callable[[], T]) -> T:
        start.wait(10)
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        return [done.result(60) for done in [threads.submit(begin, work) for work in works]]


def active_of(owner: Publisher) -> str:
    rows = owner.call("GET", f"?source={owner.slug}&pageSize=200").json()["rows"]
    (active,) = [row["id"] for row in rows if row["status"] == "active"]
    return str(active)


@pytest.mark.parametrize("has_active", [False, True])
def test_of_two_promotions_in_one_moment_the_second_sees_the_first(
    owner: Publisher, has_active: bool
) -> None:
    """The second has begun before the first is committed: it loses, or knows what it replaces."""
    before = owner.upload(openapi=pets("/0"), promote=True)["bundleId"] if has_active else None
    one, two = (owner.stored(owner.upload(openapi=pets(path))["bundleId"]) for path in ("/1", "/2"))
    admin = acting(Role.admin)

    def promote_second(tx: Any) -> service.Promoted | None:
        try:
            return service.promote(tx, admin, two)
        except Conflict:
            return None

    firsts: list[service.Promoted] = []
    second = at_once(
        owner.household.house.db,
        lambda tx: firsts.append(service.promote(tx, admin, one)),
        promote_second,
    )
    assert firsts[0].previous_id == before
    if second is None:
        assert active_of(owner) == one.id
    else:
        assert second.previous_id == one.id
        assert active_of(owner) == two.id


def test_equal_uploads_at_once_are_one_bundle(owner: Publisher) -> None:
    answers = together(*[lambda: owner.upload(openapi=pets("/same")) for _ in range(8)])
    assert len({answer["bundleId"] for answer in answers}) == 1
    assert owner.total() == 1
    audited = owner.household.call("GET", "/org/audit").json()["rows"]
    assert [row["action"] for row in audited].count("bundle.upload") == 1


def test_uploads_that_promote_and_promotions_at_once_all_tell_the_truth(owner: Publisher) -> None:
    stored = [owner.upload(openapi=pets(f"/{n}"))["bundleId"] for n in range(3)]
    works: list[Callable[[], Any]] = [
        *(partial(owner.send, openapi=pets(f"/new{n}"), promote=True) for n in range(3)),
        *(partial(owner.call, "POST", f"/{bundle}/promote") for bundle in stored),
    ]
    answers = together(*works)
    won = [answer.json() for answer in answers if answer.status_code in (200, 201)]
    assert all(refusal(answer) == (409, "conflict") for answer in answers if answer.status_code >= 300)
    check_chain(owner, won)
    for answer in won:
        if "apiDiff" in answer:
            # The diff is against the very bundle that was replaced.
            before = answer["rollback"]["previousBundleId"]
            removed = {entry["path"] for entry in answer["apiDiff"]["removed"]}
            assert removed == ({path_of(owner, before)} if before else set())


def test_rolling_back_serves_the_old_bundle_at_once(owner: Publisher) -> None:
    one = owner.upload(openapi=pets("/1"), promote=True)["bundleId"]
    previous = owner.upload(openapi=pets("/2"), promote=True)["rollback"]["previousBundleId"]
    assert previous == one
    assert owner.call("POST", f"/{previous}/promote").status_code == 200
    assert active_of(owner) == one
    with owner.household.house.db.read() as tx:
        served = service.find_active(tx, owner.stored(one).source_id, "production")
    assert served == owner.stored(one)


@pytest.fixture
def nodes(postgres_url: str, tmp_path: Path) -> Iterator[Sequence[Publisher]]:
    """One organization at two servers that share a database and a store."""
    with ExitStack() as stack:
        houses = [stack.enter_context(opened_house(make_settings(postgres_url, tmp_path))) for _ in range(2)]
        first, second = (stack.enter_context(make_client(house)) for house in houses)
        one = make_publisher(make_household(houses[0], first))
        yield one, replace(one, household=replace(one.household, house=houses[1], client=second))


def test_promotions_at_two_servers_form_one_chain(nodes: Sequence[Publisher]) -> None:
    one = nodes[0]
    bundles = [one.upload(openapi=pets(f"/{n}"))["bundleId"] for n in range(4)]

    def promote_some(number: int) -> list[Any]:
        wanted = random.Random(number).choices(bundles, k=5)
        return [nodes[number % 2].call("POST", f"/{bundle}/promote") for bundle in wanted]

    works = [partial(promote_some, number) for number in range(4)]
    answers = [answer for some in together(*works) for answer in some]
    assert {answer.status_code for answer in answers} <= {200, 409}
    check_chain(one, [answer.json() for answer in answers if answer.status_code == 200])
    assert active_of(nodes[1]) == active_of(one)


def check_chain(owner: Publisher, won: Sequence[dict[str, Any]]) -> None:
    """Every answer is a step of the audit log, and its steps lead from nothing to the bundle that is
    served: each is made once, so from each bundle as many go out as come in, but for the ends."""
    events = owner.household.call("GET", "/org/audit?pageSize=200").json()["rows"]
    steps = [(row["details"]["was"], row["target"]) for row in events if row["action"] == "bundle.promote"]
    told = [(answer["rollback"]["previousBundleId"], answer["bundle"]["id"]) for answer in won]
    assert set(told) == set(steps)
    surplus = Counter(was for was, _ in steps)
    surplus.subtract(target for _, target in steps)
    assert {bundle: count for bundle, count in surplus.items() if count} == {None: 1, active_of(owner): -1}


def path_of(owner: Publisher, bundle_id: str) -> str:
    """The one path of a bundle's description."""
    bundle = unpack(owner.household.house.blobs.get(owner.stored(bundle_id).digest))
    (operation,) = bundle.api.operations
    return operation.path
