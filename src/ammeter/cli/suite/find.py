"""Suites, cases and sources as people name them: by id or name; ids go out. An unknown name is wrong use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from ammeter.base.ids import is_id
from ammeter.base.text import did_you_mean
from ammeter.cli.remote import Remote
from ammeter.cli.run.shown import API

SUITES = f"{API}/suites"


def suite_id_of(remote: Remote, named: str) -> str:
    if is_id(named):
        return named
    known = {row["name"]: row["id"] for row in remote.get(SUITES)["rows"]}
    return _known(known, named, "suite")


def case_ids_of(remote: Remote, named: Sequence[str]) -> list[str]:
    if all(is_id(each) for each in named):
        return list(named)
    rows = remote.get(f"{API}/workflows")["rows"]
    names = [row["name"] for row in rows]
    for each in named:
        if names.count(each) > 1:
            raise typer.BadParameter(f"{names.count(each)} workflows are called {each!r}; name it by its id")
    known = {row["name"]: row["id"] for row in rows}
    return [each if is_id(each) else _known(known, each, "workflow") for each in named]


def source_id_of(remote: Remote, named: str) -> str:
    if is_id(named):
        return named
    rows = remote.get(f"{API}/mcp-servers")["rows"]
    if [row["name"] for row in rows].count(named) > 1:
        raise typer.BadParameter(f"several sources are called {named!r}; name it by its id")
    return _known({row["name"]: row["id"] for row in rows}, named, "source")


def _known(known: Mapping[str, Any], named: str, what: str) -> str:
    if named not in known:
        raise typer.BadParameter(f"there is no {what} called {named!r}.{did_you_mean(named, known)}")
    found: str = known[named]
    return found
