"""FastMCP's CodeMode over the same API; runs in FastMCP's own Python.

`codemode_fastmcp.py <port> <upstream>`: tools from the API's description, stateless streamable HTTP, JSON.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from importlib import import_module


def main(port: int, upstream: str) -> None:
    # By name, for they exist only in the Python that runs this file.
    fastmcp, httpx2 = import_module("fastmcp"), import_module("httpx2")
    code_mode = import_module("fastmcp.experimental.transforms.code_mode")
    with urllib.request.urlopen(f"{upstream}/openapi.json") as answer:
        document = json.load(answer)
    client = httpx2.AsyncClient(base_url=upstream, headers={"authorization": "Bearer bench"})
    server = fastmcp.FastMCP.from_openapi(openapi_spec=document, client=client)
    server.add_transform(code_mode.CodeMode())
    server.run(
        transport="http",
        host="127.0.0.1",
        port=port,
        stateless_http=True,
        json_response=True,
        show_banner=False,
        log_level="ERROR",
        uvicorn_config={"access_log": False},
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
