"""Writes that share a transaction: each is all or nothing by itself, and done when its await ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.together import SharedWrites

_PUT = text("INSERT INTO rate_buckets (policy, subject, tokens, updated_at) VALUES ('p', :subject, 0, 0)")


def put(*subjects: str) -> Callable[[Tx], str]:
    def work(tx: Tx) -> str:
        for subject in subjects:
            tx.execute(_PUT, {"subject": subject})
        return subjects[-1]

    return work


def put_and_fail(subject: str) -> Callable[[Tx], str]:
    def work(tx: Tx) -> str:
        tx.execute(_PUT, {"subject": subject})
        raise LookupError(subject)

    return work


def stored(db: Database) -> set[str]:
    with db.read() as tx:
        return set(tx.scalars(text("SELECT subject FROM rate_buckets")))


async def all_at_once(db: Database, *works: Callable[[Tx], str]) -> list[object]:
    """What came of each; they wait together, behind a first write that is under way."""
    writes, begun, go_on = SharedWrites(db), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def first(tx: Tx) -> str:
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(10)
        return put("first")(tx)

    one = asyncio.create_task(writes.write(first))
    await begun.wait()
    others = [asyncio.create_task(writes.write(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    assert await one == "first"
    return await asyncio.gather(*others, return_exceptions=True)


def test_each_gets_its_own_answer_and_all_are_stored(db: Database) -> None:
    names = [f"s{i}" for i in range(50)]
    assert asyncio.run(all_at_once(db, *(put(name) for name in names))) == names
    assert stored(db) == {"first", *names}


def test_those_that_wait_on_one_file_are_committed_together(db: Database) -> None:
    commits: list[object] = []
    event.listen(db.writer, "commit", commits.append)
    asyncio.run(all_at_once(db, *(put(f"s{i}") for i in range(10))))
    assert len(commits) == (11 if db.dialect.distributed else 2)


def test_what_one_raises_undoes_its_own_changes_alone(db: Database) -> None:
    came = asyncio.run(all_at_once(db, put("a"), put_and_fail("b"), put("c")))
    assert came[0] == "a"
    assert isinstance(came[1], LookupError)
    assert came[2] == "c"
    assert stored(db) == {"first", "a", "c"}


def test_what_the_database_refuses_is_told_to_its_author_alone(db: Database) -> None:
    came = asyncio.run(all_at_once(db, put("a"), put("b", "b"), put("c")))
    assert came[0] == "a"
    assert isinstance(came[1], IntegrityError)
    assert came[2] == "c"
    assert stored(db) == {"first", "a", "c"}


def test_one_that_no_longer_waits_keeps_nobody_from_their_answer(db: Database) -> None:
    async def story() -> str:
        writes, begun, go_on = SharedWrites(db), asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def slow(tx: Tx) -> None:
            loop.call_soon_threadsafe(begun.set)
            assert go_on.wait(10)

        gone = asyncio.create_task(writes.write(slow))
        await begun.wait()
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        other = asyncio.create_task(writes.write(put("other")))
        await asyncio.sleep(0)
        go_on.set()
        return await other

    assert asyncio.run(story()) == "other"


def test_the_next_event_loop_goes_on(db: Database) -> None:
    writes = SharedWrites(db)

    async def left_alone() -> None:
        asyncio.create_task(writes.write(put("early")))  # noqa: RUF006  nobody waits for it
        await asyncio.sleep(0)

    async def later() -> str:
        return await writes.write(put("later"))

    asyncio.run(left_alone())
    assert asyncio.run(later()) == "later"
    assert "later" in stored(db)
