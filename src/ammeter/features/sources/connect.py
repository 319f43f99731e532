"""What to paste into an agent's settings to connect it to a hosted endpoint. The key itself is never in it:
the text names the variable it is read from, or the place to put it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlencode

Client = Literal["claude", "claude-desktop", "cursor", "vscode"]
CLIENTS: tuple[Client, ...] = get_args(Client)

_VARIABLE = "AMMETER_API_KEY"
_TITLES: dict[Client, str] = {
    "claude": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cursor": "Cursor",
    "vscode": "VS Code",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    client: Client
    title: str
    where: str
    text: str
    language: Literal["json", "bash"]


def endpoint_address(
    public_url: str, slug: str, *, environment: str = "production", read_only: bool = False
) -> str:
    query = {}
    if environment != "production":
        query["environment"] = environment
    if read_only:
        query["mode"] = "read"
    address = f"{public_url}/product-mcp/{slug}"
    return f"{address}?{urlencode(query)}" if query else address


def snippet(client: Client, name: str, address: str) -> Snippet:
    if client == "claude":
        text = (
            f"claude mcp add --transport http {name} '{address}'"
            f' --header "Authorization: Bearer ${_VARIABLE}"'
        )
        where = f"Run this where {_VARIABLE} is set"
        return Snippet(client=client, title=_TITLES[client], where=where, text=text, language="bash")
    where, settings = _settings(client, name, address)
    text = json.dumps(settings, indent=2)
    return Snippet(client=client, title=_TITLES[client], where=where, text=text, language="json")


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
