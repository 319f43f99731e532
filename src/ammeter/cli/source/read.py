"""`ammeter source list`, `show`, `discover` and `change`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.shown import show
from ammeter.cli.source.options import BASE, SourceId, Wait, looked_at, source_path
from ammeter.cli.source.shown import exit_if_failed, show_source


def list_all(
    category: Annotated[str | None, typer.Option(help="Of these categories, comma-separated.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the active sources of production."""
    found = connect(url, key).get(BASE, category=category)
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (row["id"], row["name"], row["transport_type"], row["base_url"] or "-", ", ".join(row["categories"]))
        for row in found["rows"]
    ]
    show_lines(table_lines(("source", "name", "transport", "address", "categories"), rows))


def show_one(source: SourceId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show one source and the tools that were found there."""
    show_source(connect(url, key).get(source_path(source)), as_json=as_json)


def discover(
    source: SourceId, wait: Wait = True, url: Url = None, key: Key = None, as_json: AsJson = False
) -> None:
    """Look at a source anew; exits with 1 where that failed."""
    remote = connect(url, key)
    sent = remote.post(source_path(source, "discover"))
    if not wait:
        show(sent["discoveryJob"], as_json=as_json)
        return
    found = looked_at(remote, source)
    show_source(found, as_json=as_json)
    exit_if_failed(found)


def change(
    source: SourceId,
    name: Annotated[str | None, typer.Option(help="A new display name.")] = None,
    categories: Annotated[str | None, typer.Option(help="Category slugs, comma-separated.")] = None,
    status: Annotated[
        Literal["active", "archived"] | None, typer.Option(help="archived takes it out of lists.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Change a source's name, categories or status."""
    body: dict[str, Any] = {"name": name, "status": status}
    if categories is not None:
        body["categories"] = [word.strip() for word in categories.split(",") if word.strip()]
    told = {field: value for field, value in body.items() if value is not None}
    if not told:
        raise typer.BadParameter("give one of --name, --categories and --status")
    changed = connect(url, key).patch(source_path(source), json.dumps(told).encode())
    show_source(changed, as_json=as_json)
