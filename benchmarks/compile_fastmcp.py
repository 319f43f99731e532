"""Loads a description with `FastMCP.from_openapi` in FastMCP's own Python; prints what it took, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


async def load(file: str) -> dict[str, Any]:
    # By name, for they exist only in the Python that runs this file.
    fastmcp, httpx2 = import_module("fastmcp"), import_module("httpx2")
    raw = Path(file).read_bytes()  # noqa: ASYNC240 - nothing else runs here
    async with httpx2.AsyncClient(base_url="http://localhost") as client:
        begun, cpu = time.perf_counter(), time.process_time()
        document = json.loads(raw)
        server = fastmcp.FastMCP.from_openapi(openapi_spec=document, client=client)
        taken = {"wall_s": time.perf_counter() - begun, "cpu_s": time.process_time() - cpu}
        return {**taken, "operations": len(await server.list_tools()), "version": fastmcp.__version__}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(load(sys.argv[1]))))
