"""Whether anything at all was written to a database since a connection last asked. What was read before and
nobody has written since need not be read again; where it is asked, it costs a third of the smallest read.

For connections that only read: a connection is not told of what it writes itself.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

_NUMBER, _VERSION = "data version", "version"


def note_version(connection: Connection, count_of_writes: str) -> None:
    """Ask now, with this statement; `version_of` gives the answer until the next time."""
    kept = connection.connection
    assert kept.driver_connection is not None
    [number] = kept.driver_connection.execute(count_of_writes).fetchone()
    if kept.info.get(_NUMBER) != number:
        kept.info[_NUMBER] = number
        # An object of its own: numbers of two connections have nothing to do with each other.
        kept.info[_VERSION] = object()


def version_of(connection: Connection) -> Any:
    """The same object while nothing was written; None where nobody asked."""
    return connection.connection.info.get(_VERSION)
