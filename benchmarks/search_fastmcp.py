"""Answers the queries on standard input with FastMCP's BM25 search transform; runs in FastMCP's own Python.

In: {"document", "queries", "limit"}. Out, as the last line: {"found", "seconds", "version"}.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib import import_module
from typing import Any


async def answer(given: dict[str, Any]) -> dict[str, Any]:
    # By name, for they exist only in the Python that runs this file.
    fastmcp, httpx2 = import_module("fastmcp"), import_module("httpx2")
    search = import_module("fastmcp.server.transforms.search")
    document = servable(given["document"])
    async with httpx2.AsyncClient(base_url="http://localhost") as client:
        server = fastmcp.FastMCP.from_openapi(openapi_spec=document, client=client)
        tools = list(await server.list_tools())
    place = {tool.name: f"{tool._route.method} {tool._route.path}" for tool in tools}
    transform = search.BM25SearchTransform(max_results=given["limit"])
    found, seconds = [], []
    for query in given["queries"]:
        begun = time.perf_counter()
        hits = await transform._search(tools, query)
        seconds.append(time.perf_counter() - begun)
        found.append([place[tool.name] for tool in hits])
    return {"found": found, "seconds": seconds, "version": fastmcp.__version__}


def servable(document: dict[str, Any]) -> dict[str, Any]:
    """With what FastMCP's reader insists on and descriptions of the wild leave out."""
    document["info"] = {"title": "API", "version": "1", **(document.get("info") or {})}
    return document


if __name__ == "__main__":
    print(json.dumps(asyncio.run(answer(json.load(sys.stdin)))))
