"""`ammeter bundle …`: upload descriptions to a running server, compare, promote, roll back."""

from __future__ import annotations

import typer

from ammeter.cli.bundle import read, serve, upload


def bundle_commands() -> typer.Typer:
    bundle = typer.Typer(no_args_is_help=True, help="Bundles of a running server: upload, compare, promote.")
    bundle.command("upload")(upload.upload)
    bundle.command("list")(read.list_all)
    bundle.command("show")(read.show_one)
    bundle.command("diff")(read.diff)
    bundle.command("promote")(serve.promote)
    bundle.command("rollback")(serve.rollback)
    return bundle
