"""Token buckets: exact when small, lent when large, one for all nodes, and never filled by a wrong clock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from sqlalchemy import select, update

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.buckets import Buckets, Policy, prune
from ammeter.engines.db.database import Database
from ammeter.engines.db.tables import rate_buckets
from tests.server import until
from tests.shared import fresh_url, migrated

SLOW = 1e-6  # Tokens a second: nothing comes back while a test runs.
SMALL = Policy(name="small", burst=10, per_second=SLOW)
LARGE = Policy(name="large", burst=1000, per_second=SLOW)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Database, Database]]:
    """Two nodes' ways to one database."""
    folder = tmp_path_factory.mktemp("buckets")
    with fresh_url(request.param, folder) as url, migrated(url) as one, migrated(url) as two:
        yield one, two


@pytest.fixture
def buckets(nodes: tuple[Database, Database]) -> Buckets:
    return Buckets(nodes[0])


@pytest.fixture
def subject() -> str:
    return new_id()


def in_store(db: Database, subject: str) -> tuple[float, datetime]:
    """What the shared bucket holds, and when it was last drawn from."""
    chosen = select(rate_buckets.c.tokens, rate_buckets.c.updated_at).where(rate_buckets.c.subject == subject)
    with db.read() as tx:
        row = tx.execute(chosen).one()
    return row.tokens, row.updated_at


def set_store(db: Database, subject: str, *, tokens: float, updated_at: datetime) -> None:
    changed = update(rate_buckets).where(rate_buckets.c.subject == subject)
    with db.write() as tx:
        assert tx.execute(changed.values(tokens=tokens, updated_at=updated_at)).rowcount == 1


def take_until_refused(buckets: Buckets, policy: Policy, subject: str) -> int:
    taken = 0
    while buckets.take(policy, subject).allowed:
        taken += 1
    return taken


def test_a_small_bucket_gives_exactly_its_burst_and_then_says_when_to_come_back(
    buckets: Buckets, subject: str
) -> None:
    policy = Policy(name="small", burst=3, per_second=0.01)
    assert [buckets.take(policy, subject).remaining for _ in range(3)] == [2, 1, 0]
    refused = buckets.take(policy, subject)
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert 98 <= refused.retry_after_s <= 100


def test_a_refusal_never_says_to_come_back_at_once(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str
) -> None:
    quick = Policy(name="small", burst=10, per_second=1000)
    buckets.take(quick, subject)
    set_store(nodes[0], subject, tokens=0.9, updated_at=now() + timedelta(hours=1))
    assert buckets.take(quick, subject).retry_after_s == 1


def test_each_subject_and_each_policy_has_a_bucket_of_its_own(buckets: Buckets, subject: str) -> None:
    other = Policy(name="other", burst=10, per_second=SLOW)
    assert take_until_refused(buckets, SMALL, subject) == 10
    assert take_until_refused(buckets, SMALL, new_id()) == 10
    assert take_until_refused(buckets, other, subject) == 10


@pytest.mark.parametrize(("seconds", "tokens"), [(20, 0), (75, 1), (210, 4), (500, 10), (86_400, 10)])
def test_a_bucket_fills_with_time_up_to_its_burst(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str, seconds: float, tokens: int
) -> None:
    filling = Policy(name="small", burst=10, per_second=0.02)
    buckets.take(filling, subject)
    set_store(nodes[0], subject, tokens=0, updated_at=now() - timedelta(seconds=seconds))
    assert take_until_refused(buckets, filling, subject) == tokens


def test_what_has_come_in_part_is_kept_for_the_next_one(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str
) -> None:
    take_until_refused(buckets, SMALL, subject)
    set_store(nodes[0], subject, tokens=0.75, updated_at=now())
    assert not buckets.take(SMALL, subject).allowed
    assert in_store(nodes[0], subject)[0] == pytest.approx(0.75, abs=0.01)
    set_store(nodes[0], subject, tokens=1.75, updated_at=now())
    assert buckets.take(SMALL, subject).allowed
    assert in_store(nodes[0], subject)[0] == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("policy", [SMALL, LARGE], ids=["small", "large"])
def test_two_nodes_never_give_out_more_than_the_burst(
    nodes: tuple[Database, Database], subject: str, policy: Policy
) -> None:
    ours = [Buckets(node) for node in nodes]
    asks_each = policy.burst // 8 + 2
    start = Barrier(8, timeout=30)

    def ask(n: int) -> int:
        start.wait()
        return sum(ours[n % 2].take(policy, subject).allowed for _ in range(asks_each))

    with ThreadPoolExecutor(8) as threads:
        given = sum(threads.map(ask, range(8)))
    assert given <= policy.burst
    given += sum(take_until_refused(buckets, policy, subject) for buckets in ours)
    assert given == policy.burst


def test_nodes_that_ask_first_at_the_same_moment_make_one_bucket(nodes: tuple[Database, Database]) -> None:
    ours = [Buckets(node) for node in nodes]
    one = Policy(name="one", burst=1, per_second=SLOW)
    with ThreadPoolExecutor(2) as threads:
        for subject in [new_id() for _ in range(10)]:
            start = Barrier(2, timeout=30)

            def ask(buckets: Buckets, start: Barrier = start, subject: str = subject) -> bool:
                start.wait()
                return buckets.take(one, subject).allowed

            assert sorted(threads.map(ask, ours)) == [False, True]


def test_a_large_bucket_is_spent_from_loans_without_a_write_for_each(
    nodes: tuple[Database, Database], subject: str
) -> None:
    ours, theirs = (Buckets(node) for node in nodes)
    assert LARGE.loan == 50
    assert ours.spend_loan(LARGE, subject) is None
    assert ours.take(LARGE, subject).remaining == 999
    drawn = in_store(nodes[0], subject)
    assert drawn[0] == pytest.approx(950)
    for remaining in range(998, 949, -1):
        taken = ours.spend_loan(LARGE, subject)
        assert taken is not None
        assert (taken.allowed, taken.remaining) == (True, remaining)
    assert ours.spend_loan(LARGE, subject) is None
    assert in_store(nodes[0], subject) == drawn
    assert theirs.spend_loan(LARGE, subject) is None
    assert theirs.take(LARGE, subject).remaining == 949
    assert in_store(nodes[0], subject)[0] == pytest.approx(900)


def test_the_next_loan_is_drawn_before_the_last_token_of_one_is_spent(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str
) -> None:
    async def spend(count: int) -> list[bool]:
        return [(await buckets.spend(LARGE, subject)).allowed for _ in range(count)]

    assert all(asyncio.run(spend(LARGE.loan // 2)))
    assert in_store(nodes[0], subject)[0] == pytest.approx(LARGE.burst - LARGE.loan)
    assert all(asyncio.run(spend(2)))
    until(
        lambda: in_store(nodes[0], subject)[0] == pytest.approx(LARGE.burst - 2 * LARGE.loan),
        "the next loan is drawn while tokens are left",
    )
    left = LARGE.burst - LARGE.loan // 2 - 2
    answers = asyncio.run(spend(left + 20))
    assert (sum(answers), answers[-1]) == (left, False)


def test_the_last_loan_of_a_large_bucket_is_what_is_left(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str
) -> None:
    buckets.take(LARGE, subject)
    set_store(nodes[0], subject, tokens=7.5, updated_at=now())
    assert take_until_refused(buckets, LARGE, subject) == 49 + 7


def test_a_clock_that_runs_backwards_fills_nothing(
    nodes: tuple[Database, Database], buckets: Buckets, subject: str
) -> None:
    buckets.take(SMALL, subject)
    ahead = now() + timedelta(hours=1)
    set_store(nodes[0], subject, tokens=2, updated_at=ahead)
    filling = Policy(name="small", burst=10, per_second=1000)
    assert [buckets.take(filling, subject).allowed for _ in range(3)] == [True, True, False]
    assert in_store(nodes[0], subject) == (0, ahead)


def test_a_burst_that_was_made_smaller_holds_at_once(buckets: Buckets, subject: str) -> None:
    buckets.take(SMALL, subject)
    assert take_until_refused(buckets, Policy(name="small", burst=4, per_second=SLOW), subject) == 4


def test_pruning_forgets_only_buckets_that_nobody_drew_from_since(
    nodes: tuple[Database, Database], buckets: Buckets
) -> None:
    idle, busy = new_id(), new_id()
    for subject in (idle, busy):
        take_until_refused(buckets, SMALL, subject)
    set_store(nodes[0], idle, tokens=0, updated_at=now() - timedelta(days=2))
    with nodes[0].write() as tx:
        assert prune(tx, now() - timedelta(days=1)) == 1
        assert prune(tx, now() - timedelta(days=1)) == 0
    assert take_until_refused(buckets, SMALL, idle) == 10
    assert take_until_refused(buckets, SMALL, busy) == 0


@pytest.mark.parametrize(
    ("burst", "per_second", "loan", "window_s"),
    [(1, 1, 1, 1), (10, 1, 1, 10), (39, 100, 1, 1), (40, 3, 2, 14), (10_000, 5_000, 500, 2)],
)
def test_a_policy_tells_its_loan_and_how_long_it_takes_to_fill(
    burst: int, per_second: float, loan: int, window_s: int
) -> None:
    policy = Policy(name="p", burst=burst, per_second=per_second)
    assert (policy.loan, policy.window_s) == (loan, window_s)
