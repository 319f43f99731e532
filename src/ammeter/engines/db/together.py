"""Writes that wait at the same moment go into one transaction, and so to the disk once.

Many small writes of one process come in, each a function of a transaction; each is all or nothing, and done
when its await ends. For the background's writes to one machine's own file, which takes one writer at a time:
there a queue of small writes keeps everybody waiting. A server of many machines has its own way, and gets
each write by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError

from ammeter.base.errors import Unavailable
from ammeter.engines.db.database import Database, Tx

T = TypeVar("T")

_AT_ONCE = 32
"""So that nobody else waits long for the writer."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    work: Callable[[Tx], Any]
    done: asyncio.Future[Any]


class SharedWrites:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Callable[[Tx], T]) -> T:
        """`work` within a transaction, committed; what it raises undoes its own changes and nobody else's."""
        if self._db.dialect.distributed:
            return await self._db.run(self._alone, work)
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # Of an earlier loop nobody waits any more.
            self._loop, self._waiting, self._writing = loop, [], None
        one = _Waiting(work, loop.create_future())
        self._waiting.append(one)
        if self._writing is None:
            self._writing = loop.create_task(self._write_all(), name="shared writes")
        result: T = await one.done
        return result

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
                for one, outcome in zip(batch, await self._db.run(self._batch, batch), strict=True):
                    if one.done.cancelled():
                        continue
                    if isinstance(outcome, BaseException):
                        one.done.set_exception(outcome)
                    else:
                        one.done.set_result(outcome)
        finally:
            self._writing = None

    def _batch(self, batch: list[_Waiting]) -> list[Any]:
        """What came of each, or what it raised."""
        if len(batch) > 1:
            try:
                with self._db.write_behind() as tx:
                    return [_within(tx, one.work) for one in batch]
            except (DBAPIError, Unavailable):
                # Whose fault it was is told when each tries by itself; all of it was undone.
                pass
        return [self._tried(one.work) for one in batch]

    def _tried(self, work: Callable[[Tx], Any]) -> Any:
        try:
            return self._alone(work)
        except Exception as error:  # noqa: BLE001  handed to whoever waits for it
            return error

    def _alone(self, work: Callable[[Tx], T]) -> T:
        with self._db.write_behind() as tx:
            return work(tx)


def _within(tx: Tx, work: Callable[[Tx], Any]) -> Any:
    try:
        with tx.begin_nested():
            return work(tx)
    except DBAPIError:
        raise
    except Exception as error:  # noqa: BLE001  handed to whoever waits for it
        return error
