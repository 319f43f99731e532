"""Real MCP servers from the registries, by exact version: as processes that answer over HTTP, and as packages
put where Ammeter would have installed them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ammeter.engines.hosting.port import Package
from tests.server import until

HERE = Path(__file__).parent
PYPI_FOLDER = HERE.parents[1] / ".setup" / "mcp-servers"
MISSING = "run scripts/install-test-tools"

EVERYTHING = Package(registry="npm", name="@modelcontextprotocol/server-everything", version="2026.8.31")
FILESYSTEM = Package(registry="npm", name="@modelcontextprotocol/server-filesystem", version="2026.8.31")
MEMORY = Package(registry="npm", name="@modelcontextprotocol/server-memory", version="2026.8.31")
TIME = Package(registry="pypi", name="mcp-server-time", version="2026.10.19")
GIT = Package(registry="pypi", name="mcp-server-git", version="2026.10.19")


def put_packages(hosting: Path) -> None:
    """As if they had been installed there: the same folders, without a registry."""
    for package in (EVERYTHING, FILESYSTEM, MEMORY, TIME, GIT):
        folder = HERE if package.registry == "npm" else PYPI_FOLDER
        assert folder.joinpath(".installed" if package.registry == "pypi" else "node_modules").exists(), (
            MISSING
        )
        place = hosting / package.registry / package.name.replace("/", "%2F") / (package.version or "")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(folder)


@contextmanager
def everything(transport: Literal["streamableHttp", "sse"], folder: Path) -> Iterator[str]:
    """The reference server over HTTP; the URL of its endpoint."""
    script = HERE / "node_modules" / EVERYTHING.name / "dist" / "index.js"
    assert script.exists(), MISSING
    port = _free_port()
    node = shutil.which("node")
    assert node, MISSING
    with (folder / f"{transport}.log").open("wb") as log:
        process = subprocess.Popen(
            [node, script, transport], env={**os.environ, "PORT": str(port)}, stdout=log, stderr=log
        )
    try:
        until(lambda: _listens(port), "the server listens", 30)
        yield f"http://127.0.0.1:{port}/{'mcp' if transport == 'streamableHttp' else 'sse'}"
    finally:
        process.kill()
        process.wait(10)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
