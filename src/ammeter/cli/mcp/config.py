"""`ammeter mcp config`: what to paste into an agent's settings."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.cli.bundle.options import Environment, SourceSlug, Url
from ammeter.features.sources.connect import Client, endpoint_address, snippet
from ammeter.settings import load_client_settings


def config(
    client: Annotated[Client, typer.Option(help="The agent to connect.")],
    source: SourceSlug,
    environment: Environment = "production",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse operations that change things.")
    ] = False,
    url: Url = None,
) -> None:
    """Print what connects an agent to a hosted endpoint."""
    base = load_client_settings(url=url).url
    address = endpoint_address(base, source, environment=environment, read_only=read_only)
    made = snippet(client, source, address)
    typer.echo(f"# {made.where}{':' if client == 'claude' else ''}\n{made.text}")
