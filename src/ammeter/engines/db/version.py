"""Whether anything at all was written to a database since a connection last asked. What was read before and
nobody has written since need not be read again; where it is asked, it costs a third of the smallest read.

For connections that only read: a connection is not told of what it writes itself.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

_VERSION = "version"


class Watched:
    """A connection that is asked whether there were writes, with this statement of its database."""

    def __init__(self, connection: Connection, count_of_writes: str) -> None:
        self.connection = connection
        kept = connection.connection
        assert kept.driver_connection is not None
        self._info = kept.info
        self._cursor = kept.driver_connection.cursor()
        self._count_of_writes = count_of_writes
        self._number: Any = None

    def look(self) -> None:
        """Ask now; `version_of` gives the answer until the next time."""
        number = self._cursor.execute(self._count_of_writes).fetchone()
        if self._number != number:
            self._number = number
            # An object of its own: numbers of two connections have nothing to do with each other.
            self._info[_VERSION] = object()


def version_of(connection: Connection) -> Any:
    """The same object while nothing was written; None where nobody asked."""
    return connection.connection.info.get(_VERSION)
