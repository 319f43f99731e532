"""`ammeter mcp config`: what to paste into an agent's settings. The key itself is never printed: the text
names the variable it is read from, or the place to put it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import typer

from ammeter.cli.bundle.options import Environment, SourceSlug, Url
from ammeter.cli.remote import path_of
from ammeter.settings import load_client_settings

Client = Literal["claude", "claude-desktop", "cursor", "vscode"]

_VARIABLE = "AMMETER_API_KEY"


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
    query = {}
    if environment != "production":
        query["environment"] = environment
    if read_only:
        query["mode"] = "read"
    address = load_client_settings(url=url).url + path_of("product-mcp", source)
    typer.echo(_text(client, source, f"{address}?{urlencode(query)}" if query else address))


def _text(client: Client, name: str, address: str) -> str:
    if client == "claude":
        return (
            f"# Run this where {_VARIABLE} is set:\n"
            f"claude mcp add --transport http {name} '{address}'"
            f' --header "Authorization: Bearer ${_VARIABLE}"'
        )
    where, settings = _settings(client, name, address)
    return f"# {where}\n{json.dumps(settings, indent=2)}"


def _settings(client: Client, name: str, address: str) -> tuple[str, dict[str, Any]]:
    if client == "cursor":
        server = {"url": address, "headers": {"Authorization": f"Bearer ${{env:{_VARIABLE}}}"}}
        return f"~/.cursor/mcp.json, with {_VARIABLE} set where Cursor starts", {"mcpServers": {name: server}}
    if client == "vscode":
        asked = {
            "type": "promptString",
            "id": "ammeter-key",
            "description": "Ammeter API key",
            "password": True,
        }
        headers = {"Authorization": "Bearer ${input:ammeter-key}"}
        server = {"type": "http", "url": address, "headers": headers}
        return ".vscode/mcp.json; the key is asked for once", {"inputs": [asked], "servers": {name: server}}
    arguments = ["-y", "mcp-remote", address, "--header", "Authorization:${AMMETER_AUTHORIZATION}"]
    variables = {"AMMETER_AUTHORIZATION": "Bearer amt_… (put the key here)"}
    bridge = {"command": "npx", "args": arguments, "env": variables}
    return "claude_desktop_config.json", {"mcpServers": {name: bridge}}
