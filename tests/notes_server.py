"""A real MCP server over streamable HTTP to test against: a few notes, and tools that misbehave on request.
Every call that reaches it is written down, so that a test can tell whether one was made twice."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.server import until

READS = ToolAnnotations(read_only_hint=True)


class NotesServer:
    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.notes: dict[str, str] = {}
        self.refuse_with: int | None = None
        """A status that every request is answered with."""
        self.authorization: str | None = None
        """The header that is asked for."""
        self.gate = threading.Event()
        """`wait` answers once it is open."""
        self._app = self._tools().streamable_http_app(stateless_http=True, json_response=True)

    def made(self, tool: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]

    def _tools(self) -> MCPServer[Any]:
        server: MCPServer[Any] = MCPServer(
            "notes", version="1.0", instructions="Notes have a title and a text."
        )

        @server.tool(description="Add a note.")
        def add_note(title: str, text: str) -> dict[str, str]:
            self.calls.append(("add_note", {"title": title, "text": text}))
            self.notes[title] = text
            return {"id": f"note-{len(self.notes)}", "title": title}

        @server.tool(description="Read a note.", annotations=READS)
        def get_note(title: str) -> dict[str, str]:
            self.calls.append(("get_note", {"title": title}))
            if title not in self.notes:
                raise ToolError(f"there is no note {title!r}")
            return {"title": title, "text": self.notes[title]}

        @server.tool(description="Titles of all notes.", annotations=READS)
        def list_notes() -> list[str]:
            self.calls.append(("list_notes", {}))
            return sorted(self.notes)

        @server.tool(description="Give a text back.", annotations=READS)
        def echo(text: str) -> str:
            self.calls.append(("echo", {"text": text}))
            return text

        @server.tool(description="Answers only when the gate is open.")
        async def wait(name: str) -> str:
            self.calls.append(("wait", {"name": name}))
            await asyncio.to_thread(self.gate.wait, 60)
            return f"waited for {name}"

        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http":
            sent = Request(scope).headers.get("authorization")
            if self.refuse_with is not None:
                app = Response("refused", self.refuse_with)
            elif self.authorization is not None and sent != self.authorization:
                app = Response("who are you?", 401)
        await app(scope, receive, send)


@contextmanager
def notes_server() -> Iterator[NotesServer]:
    server = NotesServer()
    with serving(server) as url:
        server.url = f"{url}/mcp"
        yield server
        server.gate.set()


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """An application on a free port of this machine, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started, "the server is up")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
