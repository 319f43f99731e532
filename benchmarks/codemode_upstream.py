"""The API that scripts call while code modes are measured: it answers at once, so that what is measured is
the code mode. Run as a process of its own: `python -m benchmarks.codemode_upstream <port> <operations>`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

_BLANK = b"\r\n\r\n"


def description(url: str, operations: int) -> dict[str, Any]:
    """An API of so many operations; `getItem` is the one that is called."""
    paths: dict[str, Any] = {"/items/{id}": {"get": _operation("getItem", "items", "Get one item")}}
    for number in range(1, operations):
        group = f"things{number // 5}"
        named = _operation(f"getThing{number}", group, f"Get thing {number} of its kind")
        paths[f"/{group}/{number}/{{id}}"] = {"get": named}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Bench", "version": "1"},
        "servers": [{"url": url}],
        "paths": paths,
    }


def _operation(name: str, group: str, summary: str) -> dict[str, Any]:
    item = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
    return {
        "operationId": name,
        "tags": [group],
        "summary": summary,
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": item}}}},
    }


class Upstream(asyncio.Protocol):
    """Requests without bodies, in order, each answered in the same breath."""

    def __init__(self, document: bytes) -> None:
        self._document = document
        self._transport: Any = None
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._held = (self._held + data).split(_BLANK)
        for head in heads:
            path = head.split(b" ", 2)[1]
            number = path.rpartition(b"/")[2]
            body = self._document
            if path != b"/openapi.json":
                body = b'{"id":%s,"name":"item %s","tags":["a","b"]}' % (number or b"0", number)
            told = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            self._transport.write(told % len(body) + body)


async def main(port: int, operations: int) -> None:
    document = json.dumps(description(f"http://127.0.0.1:{port}", operations)).encode()
    server = await asyncio.get_running_loop().create_server(lambda: Upstream(document), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
