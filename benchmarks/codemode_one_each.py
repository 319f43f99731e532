"""What `tools/list` says where every operation is a tool: FastMCP's, of the description on standard input."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any


async def listed(document: dict[str, Any]) -> list[dict[str, Any]]:
    # By name, for they exist only in the Python that runs this file.
    fastmcp, httpx2 = import_module("fastmcp"), import_module("httpx2")
    document["info"] = {"title": "API", "version": "1", **(document.get("info") or {})}
    async with httpx2.AsyncClient(base_url="http://localhost") as client:
        server = fastmcp.FastMCP.from_openapi(openapi_spec=document, client=client)
        tools = [tool.to_mcp_tool() for tool in await server.list_tools()]
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(listed(json.load(sys.stdin))), separators=(",", ":")))
