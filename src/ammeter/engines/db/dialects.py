"""The two databases and all that differs between them; no other file names either.

A Dialect makes the engines, takes the migration lock, and says in words why a database would not
answer. Anything it does not know stays the driver's own exception and becomes an internal error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Index,
    MetaData,
    Table,
    create_engine,
    event,
    func,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from ammeter.base.errors import SettingsError

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")

_SQLITE_BUSY_MS = 5_000
_PG_STATEMENT_MS = 30_000
_PG_LOCK_MS = 10_000
# A failed statement is logged with its traceback: without the values, which are people's.
_HIDE = True
# Any number, as long as every process of one database agrees on it.
_PG_MIGRATION_LOCK = 4_026_531_840


class Dialect(Protocol):
    name: str
    distributed: bool
    """Whether other machines may share this database."""
    count_of_writes: str
    """A statement that says how often others than the connection itself have written; empty for none."""
    driver_error: type[Exception]

    def make_writer(self) -> Engine: ...
    def make_reader(self, writer: Engine, *, pool_size: int) -> Engine: ...
    def migrating(self, writer: Engine) -> AbstractContextManager[Connection]: ...
    def why_unavailable(self, error: BaseException) -> str | None: ...


class Sqlite:
    """One file, one machine, one writer at a time, readers never blocked (WAL)."""

    name = "sqlite"
    distributed = False
    count_of_writes = "PRAGMA data_version"
    driver_error: type[Exception] = sqlite3.Error

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="sqlite+pysqlite")
        # The driver takes both as they are, but only after a search for somebody to adapt them: half a
        # microsecond for each value, which is half of what it takes to store an event.
        sqlite3.register_adapter(type(None), lambda none: none)
        sqlite3.register_adapter(bool, int)

    def make_writer(self) -> Engine:
        assert self._url.database, "dialect_of refuses a URL without a file"
        folder = Path(self._url.database).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"The folder {folder} for the database cannot be made: {error.strerror}."
                " Name another with AMMETER_DATA_DIR or AMMETER_DATABASE_URL."
            ) from None
        # A pool of one is the in-process queue for the single writer.
        engine = create_engine(
            self._url,
            pool_size=1,
            max_overflow=0,
            pool_timeout=_SQLITE_BUSY_MS / 1000,
            hide_parameters=_HIDE,
        )
        event.listen(engine, "connect", _sqlite_writer_connect)
        event.listen(engine, "begin", _begin_immediate)
        return engine

    def make_reader(self, writer: Engine, *, pool_size: int) -> Engine:
        engine = create_engine(
            self._url, pool_size=pool_size, max_overflow=0, pool_timeout=10, hide_parameters=_HIDE
        )
        event.listen(engine, "connect", _sqlite_reader_connect)
        event.listen(engine, "begin", _begin_deferred)
        return engine

    @contextmanager
    def migrating(self, writer: Engine) -> Iterator[Connection]:
        # BEGIN IMMEDIATE keeps other processes out, and SQLite's DDL is transactional: a kill in
        # the middle leaves the file as it was.
        with writer.begin() as connection:
            yield connection

    def why_unavailable(self, error: BaseException) -> str | None:
        if isinstance(error, PoolTimeout):
            return "the database is busy with other writes"
        if not isinstance(error, sqlite3.Error):
            return None
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return {
            sqlite3.SQLITE_BUSY: "the database file is locked by another process",
            sqlite3.SQLITE_LOCKED: "the database file is locked by another process",
            sqlite3.SQLITE_READONLY: "the database file is read-only",
            sqlite3.SQLITE_FULL: "the disk that holds the database is full",
            sqlite3.SQLITE_IOERR: "the disk that holds the database failed",
            sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
            sqlite3.SQLITE_CORRUPT: "the database file is damaged",
            sqlite3.SQLITE_NOTADB: "the database file is not a SQLite database",
        }.get(primary)


def _sqlite_connect(connection: sqlite3.Connection) -> sqlite3.Cursor:
    # Transactions are begun by the listeners below, not by the driver's guess.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_SQLITE_BUSY_MS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA temp_store = MEMORY")
    cursor.execute("PRAGMA mmap_size = 268435456")
    return cursor


def _sqlite_writer_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    cursor = _sqlite_connect(connection)
    # Of a new file: events and runs are rows of a kilobyte, and storing them takes a tenth less than in 4096.
    cursor.execute("PRAGMA page_size = 8192")
    cursor.execute("PRAGMA journal_mode = WAL")
    # FULL: a commit that was acknowledged survives a power cut, not only a killed process.
    cursor.execute("PRAGMA synchronous = FULL")
    # A large batch stays in memory until its commit, and is not written to the file at every one.
    cursor.execute("PRAGMA cache_size = -32768")
    cursor.execute("PRAGMA wal_autocheckpoint = 2000")
    cursor.close()


def _sqlite_reader_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    cursor = _sqlite_connect(connection)
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_deferred(connection: Connection) -> None:
    # Straight to the driver: every read starts here, and the layers between cost more than the read.
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("BEGIN DEFERRED")


class Postgresql:
    """A server that any number of machines share."""

    name = "postgresql"
    distributed = True
    count_of_writes = ""

    def __init__(self, url: URL) -> None:
        # Imported here: a start on SQLite does not pay for it.
        import psycopg

        self._url = url.set(drivername="postgresql+psycopg")
        self._psycopg = psycopg
        self.driver_error: type[Exception] = psycopg.Error

    def make_writer(self) -> Engine:
        engine = create_engine(
            self._url,
            pool_size=10,
            max_overflow=10,
            pool_timeout=10,
            # A server restart is then noticed before a request is lost to it.
            pool_pre_ping=True,
            hide_parameters=_HIDE,
            connect_args={
                "connect_timeout": 5,
                "application_name": "ammeter",
                "options": f"-c statement_timeout={_PG_STATEMENT_MS} -c lock_timeout={_PG_LOCK_MS}"
                " -c timezone=UTC"
                # Our statements take milliseconds: to start helpers or a compiler for one takes longer.
                " -c max_parallel_workers_per_gather=0 -c jit=off",
            },
        )
        event.listen(engine, "checkin", _forget_read_only)
        return engine

    def make_reader(self, writer: Engine, *, pool_size: int) -> Engine:
        return writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def migrating(self, writer: Engine) -> Iterator[Connection]:
        # A connection of its own, without the time limits of requests; the lock goes with the transaction.
        engine = create_engine(self._url, poolclass=NullPool, connect_args={"connect_timeout": 5})
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _PG_MIGRATION_LOCK})
            yield connection

    def why_unavailable(self, error: BaseException) -> str | None:
        errors = self._psycopg.errors
        if isinstance(error, PoolTimeout):
            return "all database connections are in use"
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return "the database is read-only"
        if isinstance(error, errors.DiskFull):
            return "the disk that holds the database is full"
        if isinstance(error, (errors.QueryCanceled, errors.LockNotAvailable)):
            return "the database took too long"
        if isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected)):
            return "the change met another one"
        if isinstance(error, errors.TooManyConnections):
            return "the database has no free connection"
        if isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError)):
            return "the database cannot be reached"
        return None


def _forget_read_only(connection: Any, _: ConnectionPoolEntry) -> None:
    # After a read, SQLAlchemy leaves it at False, and the next write begins READ WRITE: that overrules a
    # database which its operator made read-only, and is an error of another kind on a standby.
    if connection is not None and not connection.closed and connection.read_only is False:
        connection.read_only = None


def partial_index(name: str, *columns: str, unique: bool = False, where: str) -> Index:
    """An index over the rows that `where` holds for; both databases have them, each by its own word."""
    return Index(name, *columns, unique=unique, info={"where": where})


def limit_partial_indexes(metadata: MetaData, connection: Connection, **_: object) -> None:
    """Before tables are made: the word of their database, and not, by naming it, the other's code too."""
    for table in metadata.tables.values():
        for index in table.indexes:
            if where := index.info.get("where"):
                index.dialect_options[connection.dialect.name]["where"] = text(where)


def merging_insert(tx: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what becomes of a row that is there already; both databases have it, each by
    its own construct."""
    # Imported here: neither database pays for the other.
    if tx.dialect.name == Sqlite.name:
        from sqlalchemy.dialects.sqlite import insert

        return insert(table)
    from sqlalchemy.dialects.postgresql import insert as insert_there

    return insert_there(table)


def unindexed(tx: Connection, column: Column[T]) -> ColumnElement[T]:
    """A column for conditions that are not to choose the index: SQLite, which knows nothing of how many rows
    a condition leaves, would take it before one that has the wanted order. PostgreSQL weighs them itself."""
    return func.coalesce(column, column) if tx.dialect.name == Sqlite.name else column


def dialect_of(url_text: str) -> Dialect:
    """The dialect that a database URL names; SettingsError where it names none of ours."""
    try:
        url = make_url(url_text)
    except (ArgumentError, ValueError):
        raise SettingsError(
            "AMMETER_DATABASE_URL is not a database URL; write sqlite:///path/to/ammeter.db"
            " or postgresql://user:password@host:5432/name."
        ) from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise SettingsError("AMMETER_DATABASE_URL must name a SQLite file: sqlite:///path/to/ammeter.db.")
        return Sqlite(url)
    if kind in ("postgresql", "postgres"):
        return Postgresql(url)
    raise SettingsError(
        f"AMMETER_DATABASE_URL: {kind!r} is not supported; use sqlite:///… or postgresql://…."
    )
