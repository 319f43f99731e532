"""One face for both databases: `read()` gives a consistent snapshot, `write()` one transaction that
commits on leaving. Both are synchronous; `run` carries a function into the database's own threads.

A database that cannot answer becomes `Unavailable` here, once, in words. Integrity errors pass
through: the store that knows the constraint knows what it means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import NoReturn, ParamSpec, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ammeter.base.errors import Unavailable
from ammeter.engines.db.dialects import dialect_of
from ammeter.engines.db.turns import Turns
from ammeter.engines.db.version import Watched

P = ParamSpec("P")
T = TypeVar("T")

Tx = Connection
"""A transaction in progress, as stores and services take it."""


class Database:
    def __init__(self, url: str, *, threads: int = 8) -> None:
        self.dialect = dialect_of(url)
        self.url = url
        self.writer = self.dialect.make_writer()
        self.reader = self.dialect.make_reader(self.writer, pool_size=threads)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="db")
        self._turns = Turns()
        self._kept: Watched | None = None
        self._fault_kinds = (DBAPIError, PoolTimeout, self.dialect.driver_error)

    @contextmanager
    def read(self) -> Iterator[Tx]:
        with self.faults(), self.reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Tx]:
        with self.faults(), self._turns.first(), self.writer.begin() as connection:
            yield connection

    @contextmanager
    def write_behind(self) -> Iterator[Tx]:
        """Like `write`, for work in the background: on one machine's own file, where one writes at a time,
        it lets requests go first. A server of many machines has room for both."""
        turn = nullcontext() if self.dialect.distributed else self._turns.behind()
        with self.faults(), turn, self.writer.begin() as connection:
            yield connection

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` in a thread, so that a slow disk or server never holds the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def start(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Like `run`, for work that nobody waits for; it tells its own faults."""
        self._threads.submit(work, *args, **kwargs)

    async def read_few(self, work: Callable[[Tx], T]) -> T:
        """A read of a few rows by key. On one machine's own file that takes less time than the way to
        a thread and back, and readers there wait for nobody: it is done at once, on a connection kept
        for this. On a server it goes to a thread like any other work."""
        if self.dialect.distributed:
            return await self.run(self._read, work)
        try:
            if self._kept is None:
                self._kept = Watched(self.reader.connect(), self.dialect.count_of_writes)
            self._kept.look()
            connection = self._kept.connection
            try:
                return work(connection)
            finally:
                if connection.in_transaction():
                    connection.rollback()
        except self._fault_kinds as error:
            self._raise(error)

    def _read(self, work: Callable[[Tx], T]) -> T:
        with self.read() as tx:
            return work(tx)

    def ping(self) -> None:
        with self.read() as tx:
            tx.execute(text("SELECT 1"))

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        if self._kept is not None:
            self._kept.connection.close()
        self.reader.dispose()
        self.writer.dispose()

    @contextmanager
    def faults(self) -> Iterator[None]:
        try:
            yield
        except self._fault_kinds as error:
            self._raise(error)

    def _raise(self, error: Exception) -> NoReturn:
        reason = self._why_unavailable(error)
        if reason is None:
            raise error
        raise Unavailable(f"Not done: {reason}.") from error

    def _why_unavailable(self, error: BaseException | None) -> str | None:
        # A full disk ends a SQLite transaction with its savepoints; what is raised last is then that
        # there is no savepoint to go back to, and the full disk stands behind it.
        while error is not None:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if cause is not None and (reason := self.dialect.why_unavailable(cause)):
                return reason
            error = error.__context__
        return None
