"""A small MCP server to gate: a shelf of books with three tools. `SHELF_BROKEN=1` breaks one of them, as a
careless change would.

    python server.py 8765
"""

from __future__ import annotations

import os
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

BOOKS = {
    "bk-1": {"title": "The Lamp at Cabo Raso", "pages": 312},
    "bk-2": {"title": "Tides and Ledgers", "pages": 188},
}
IS_BROKEN = os.environ.get("SHELF_BROKEN") == "1"

server = MCPServer("shelf", version="1.0", instructions="Books have an id, a title and pages.")


@server.tool(description="Ids and titles of all books.")
def list_books() -> list[dict[str, str]]:
    return [{"id": key, "title": str(book["title"])} for key, book in BOOKS.items()]


@server.tool(description="One book by its id.")
def get_book(book_id: str) -> dict[str, str | int]:
    if book_id not in BOOKS:
        raise ToolError(f"there is no book {book_id}")
    book = BOOKS[book_id]
    return {"id": book_id, **book, **({"pages": 0} if IS_BROKEN else {})}


@server.tool(description="How many pages all books have together.")
def count_pages() -> dict[str, int]:
    return {"pages": sum(int(book["pages"]) for book in BOOKS.values())}


if __name__ == "__main__":
    port = int(sys.argv[1]) if sys.argv[1:] else 8765
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
