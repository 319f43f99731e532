"""The code modes that are measured, each a server of its own over the same API, started as its makers say:
Ammeter, FastMCP's CodeMode, @utcp/code-mode. @cloudflare/codemode is absent: its executor is a Worker of
Cloudflare's own runtime (`cloudflare:workers`, a Worker Loader binding), so there is no server to start.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.codemode_upstream import description
from benchmarks.http import Process, first_token, free_port, started
from benchmarks.peers import CACHE, ROOT, fastmcp_python

KINDS = ("trivial", "1 call", "20 calls in a row", "20 calls at once")
_UTCP = ("@utcp/code-mode", "@utcp/sdk", "@utcp/http", "isolated-vm@6", "@modelcontextprotocol/sdk", "zod")
_JAVASCRIPT = {
    "trivial": "return 1 + 1",
    "1 call": "return (await client.items.getItem({ id: 7 })).name",
    "20 calls in a row": "let n = 0;"
    " for (let i = 0; i < 20; i++) n += (await client.items.getItem({ id: i })).tags.length; return n",
    "20 calls at once": "const all = await Promise.all(Array.from({ length: 20 },"
    " (_, id) => client.items.getItem({ id }))); return all.length",
}
_PYTHON = {
    "trivial": "return 1 + 1",
    "1 call": 'item = await call_tool("getItem", {"id": 7})\nreturn item["name"]',
    "20 calls in a row": "n = 0\nfor i in range(20):\n"
    '    item = await call_tool("getItem", {"id": i})\n    n += len(item["tags"])\nreturn n',
    "20 calls at once": "import asyncio\nitems = await asyncio.gather("
    '*[call_tool("getItem", {"id": i}) for i in range(20)])\nreturn len(items)',
}
_SYNCHRONOUS = {
    kind: code.replace("await client.items.getItem", "bench.getItem").replace(
        "client.items.getItem", "bench.getItem"
    )
    for kind, code in _JAVASCRIPT.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    name: str
    process: Process
    url: str
    headers: dict[str, str]
    tool: str
    scripts: dict[str, str]

    def cpu_s(self) -> float:
        """Of the server and everything that it started, also of what has ended."""
        return sum(_times(pid) for pid in self.pids())

    def pids(self) -> list[int]:
        found = [self.process.popen.pid]
        children = _children()
        for pid in found:
            found += children.get(pid, [])
        return found

    def body(self, code: str) -> bytes:
        params = {"name": self.tool, "arguments": {"code": code}}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


@contextmanager
def upstream(operations: int) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.codemode_upstream", str(port), str(operations)]
    url = f"http://127.0.0.1:{port}"
    with started(command, url, "/openapi.json", {}):
        yield url


@contextmanager
def ammeter(upstream_url: str, sizes: dict[str, int]) -> Iterator[Rival]:
    """`sizes`: the sources to serve by slug, with the operations of each; the first is the one measured."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "AMMETER_DATA_DIR": folder,
            "AMMETER_CACHE_DIR": str(CACHE / "sandbox"),
            "AMMETER_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "AMMETER_RATE_API_BURST": "1000000",
            "AMMETER_RATE_API_PER_SECOND": "1000000",
        }
        token, port = first_token(settings), free_port()
        url = f"http://127.0.0.1:{port}"
        _command(settings, "admin", "feature", "enable", "code-mode", "--org", "main")
        _command(settings, "admin", "secret", "set", "BENCH", "--org", "main", stdin="bench-secret-1")
        for slug in sizes:
            _command(settings, "admin", "source", "provision", slug, "--org", "main")
        serve = [sys.executable, "-m", "ammeter", "serve", "--port", str(port)]
        with started(serve, url, "/healthz", settings) as process:
            known = {"AMMETER_URL": url, "AMMETER_API_KEY": token}
            for slug, operations in sizes.items():
                _upload(Path(folder), settings | known, slug, description(upstream_url, operations))
            yield Rival(
                name="Ammeter",
                process=process,
                url=f"{url}/product-mcp/{next(iter(sizes))}",
                headers={"authorization": f"Bearer {token}"},
                tool="execute_script",
                scripts=_JAVASCRIPT,
            )


@contextmanager
def fastmcp(upstream_url: str) -> Iterator[Rival]:
    python = fastmcp_python()
    if subprocess.run([python, "-c", "import pydantic_monty"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "fastmcp[code-mode]"], check=True)
    port = free_port()
    command = [str(python), "-P", str(ROOT / "benchmarks" / "codemode_fastmcp.py"), str(port), upstream_url]
    with _listening(command, port) as process:
        yield Rival(
            name="FastMCP CodeMode",
            process=process,
            url=f"http://127.0.0.1:{port}/mcp",
            headers={},
            tool="execute",
            scripts=_PYTHON,
        )


@contextmanager
def utcp(upstream_url: str) -> Iterator[Rival]:
    folder = CACHE / "npm" / "utcp"
    if not (folder / "node_modules" / "@utcp" / "code-mode").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run([*install, *_UTCP], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    # Node looks for packages beside the file.
    program = shutil.copy(ROOT / "benchmarks" / "codemode_utcp.mjs", folder)
    port = free_port()
    with _listening(["node", "--no-node-snapshot", str(program), str(port), upstream_url], port) as process:
        yield Rival(
            name="@utcp/code-mode",
            process=process,
            url=f"http://127.0.0.1:{port}/mcp",
            headers={},
            tool="execute",
            scripts=_SYNCHRONOUS,
        )


@contextmanager
def _listening(command: list[str], port: int) -> Iterator[Process]:
    """A server that has no page to probe: it is there once the port takes connections."""
    with tempfile.TemporaryFile() as told:
        popen = subprocess.Popen(command, stdout=told, stderr=told)
        try:
            deadline = time.monotonic() + 60
            while not _takes(port):
                if popen.poll() is not None or time.monotonic() > deadline:
                    told.seek(0)
                    raise RuntimeError(told.read().decode("utf-8", "replace").strip()[-500:])
                time.sleep(0.05)
            yield Process(popen, f"http://127.0.0.1:{port}")
        finally:
            popen.terminate()
            popen.wait(30)


def _takes(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _command(settings: dict[str, str], *args: str, stdin: str = "") -> None:
    command = [sys.executable, "-m", "ammeter", *args]
    subprocess.run(
        command, env=os.environ | settings, input=stdin, text=True, check=True, capture_output=True
    )


def _upload(folder: Path, settings: dict[str, str], slug: str, document: dict[str, Any]) -> None:
    openapi, manifest = folder / f"{slug}.json", folder / "manifest.json"
    openapi.write_text(json.dumps(document))
    manifest.write_text(json.dumps({"auth": {"type": "bearer", "secretRef": "secret:BENCH"}}))
    given = ["--source", slug, "--openapi", str(openapi), "--manifest", str(manifest), "--promote"]
    _command(settings, "bundle", "upload", *given)


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def _times(pid: int) -> float:
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
