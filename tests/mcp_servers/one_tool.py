"""A real MCP server with one short tool, for models that cannot read much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp.server.mcpserver import MCPServer

from tests.notes_server import serving


@dataclass(slots=True)
class Greeter:
    url: str = ""
    names: list[str] = field(default_factory=list)


@contextmanager
def one_tool_server() -> Iterator[Greeter]:
    greeter = Greeter()
    server: MCPServer[Any] = MCPServer("greeter", version="1.0")

    @server.tool(description="Greets somebody by name.")
    def greet(name: str) -> str:
        greeter.names.append(name)
        return f"Hello, {name}!"

    with serving(server.streamable_http_app(stateless_http=True, json_response=True)) as url:
        greeter.url = f"{url}/mcp"
        yield greeter
