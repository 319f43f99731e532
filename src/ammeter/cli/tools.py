"""MCP tools of a running server, as commands call them: one POST a call, and nothing kept in between.

A result comes back as it is, or, of Ammeter's own tools, the value in it; where such a tool says no, that is
the same Refused as over REST.
"""

from __future__ import annotations

import json
from typing import Any

from ammeter import __version__
from ammeter.cli.remote import Remote, Unreachable, refusal_of

_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_OWN = "/mcp"
_ERROR = "ammeter/error"


def call_tool(remote: Remote, path: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result, also one that is marked as an error."""
    meta = {
        _META + "protocolVersion": _VERSION,
        _META + "clientInfo": {"name": "ammeter-cli", "version": __version__},
        _META + "clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {"mcp-protocol-version": _VERSION, "mcp-method": "tools/call", "mcp-name": name}
    answer = remote.post(path, body, headers=headers)
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict):
        raise Unreachable(f"{remote.url} answers, but not as an Ammeter server does.")
    return result


def ask_tool(remote: Remote, name: str, **arguments: Any) -> Any:
    """What one of Ammeter's own tools gives; arguments that are None are not sent."""
    given = {key: value for key, value in arguments.items() if value is not None}
    result = call_tool(remote, _OWN, name, given)
    if not result.get("isError"):
        return result["structuredContent"]
    error = result.get("_meta", {}).get(_ERROR)
    if error is None:
        raise Unreachable(f"{remote.url} refuses {name}, but not as an Ammeter server does.")
    raise refusal_of(error["status"], error, error.get("retryAfterSeconds"))
