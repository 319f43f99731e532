"""What the source commands are told, and how they wait for a look at a source to end."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from ammeter.cli.remote import Remote, path_of

BASE = "/api/service/v1/mcp-servers"
# Installing a package may take five minutes, and the look at it half a minute.
_WAIT_S = 360.0
_ROUND_S = 0.5

SourceId = Annotated[str, typer.Argument(metavar="SOURCE", help="Id of the source.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it was looked at.")]


def source_path(source_id: str, *more: str) -> str:
    return BASE + path_of(source_id, *more)


def looked_at(remote: Remote, source_id: str) -> Any:
    """The source once its discovery has ended, or as it is when that takes too long."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        source = remote.get(source_path(source_id))
        if source["discovery"]["status"] not in ("queued", "running") or time.monotonic() > deadline:
            return source
        time.sleep(_ROUND_S)
