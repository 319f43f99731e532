"""`ammeter skills list`, `add` and `show`: instruction texts of a source, in versions."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ammeter.cli.bundle.options import Key, Url, connect, read_text_file
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.shown import show
from ammeter.cli.source.options import source_path

Source = Annotated[str, typer.Option("--source", help="Id of the source.")]


def list_all(source: Source, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """List the versions of a source's skills, newest first."""
    found = connect(url, key).get(source_path(source, "skills"))
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (row["id"], row["name"], str(row["number"]), row["created_at"], row["created_by"])
        for row in found["rows"]
    ]
    show_lines(table_lines(("version", "skill", "number", "created", "by"), rows))


def add(
    source: Source,
    name: Annotated[str, typer.Option(help="Name of the skill; a known one gets a new version.")],
    file: Annotated[str, typer.Option("--file", help="The text: a file, - for stdin.")],
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Add a skill, or the next version of it."""
    body = {"name": name, "text": read_text_file("--file", file)}
    made = connect(url, key).post(source_path(source, "skills"), json.dumps(body).encode())
    if as_json:
        show(made, as_json=True)
        return
    typer.echo(f"Version {made['number']} of {made['name']}: {made['id']}")


def show_one(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Id of the version.")],
    source: Source,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show the text of one version."""
    found = connect(url, key).get(source_path(source, "skills", version))
    if as_json:
        show(found, as_json=True)
        return
    typer.echo(found["text"])
