"""A command line in an MCP server's clothes: one tool, `run`, that calls the program with arguments.

A prepared, confined program comes in; a Connection goes out. All calls of one connection share its working
folder, so that one may read what another has written.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ammeter.engines.hosting.port import Prepared
from ammeter.engines.mcp_client.port import Prompt, Resource, ServerFacts, SourceFault, Tool, ToolResult

_OUTPUT_BYTES = 1024 * 1024
_TIMEOUT_S = 60.0
_HELP_S = 20.0
_PIECE = 65_536
_SCHEMA = {
    "type": "object",
    "properties": {
        "args": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Arguments, one word each; no shell reads them.",
        },
        "stdin": {"type": "string", "description": "What the program reads from standard input."},
    },
    "required": ["args"],
    "additionalProperties": False,
}


class CommandLine:
    def __init__(self, prepared: Prepared, secrets: frozenset[str]) -> None:
        self._prepared, self.secrets = prepared, secrets
        self._facts: ServerFacts | None = None

    async def initialize(self) -> ServerFacts:
        """Its own help, as far as it has one, is what it says of itself."""
        if self._facts is None:
            shown = await self._run(["--help"], "", _HELP_S)
            installed = self._prepared.installed
            self._facts = ServerFacts(
                name=installed.name if installed else "cli",
                version=installed.version if installed else "",
                protocol_version="",
                instructions=(shown[1] or shown[2])[:20_000] or None,
                capabilities={"tools": {}},
            )
        return self._facts

    async def list_tools(self) -> tuple[Tool, ...]:
        facts = await self.initialize()
        tool = Tool(
            name="run",
            title=f"Run {facts.name}",
            description=f"Runs {facts.name} with arguments; gives its exit code, output and errors.",
            input_schema=_SCHEMA,
        )
        return (tool,)

    async def list_resources(self) -> tuple[Resource, ...]:
        return ()

    async def list_prompts(self) -> tuple[Prompt, ...]:
        return ()

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], timeout_s: float | None = None
    ) -> ToolResult:
        args, stdin = arguments.get("args"), arguments.get("stdin", "")
        words = isinstance(args, list) and all(isinstance(word, str) and "\0" not in word for word in args)
        if name != "run" or not words or not isinstance(stdin, str):
            return _result(
                "There is one tool, run, with args (a list of texts) and stdin (a text).", None, True
            )
        assert isinstance(args, list)
        code, out, err = await self._run(args, stdin, timeout_s or _TIMEOUT_S)
        told = {"exitCode": code, "stdout": out, "stderr": err}
        parts = [out, f"[stderr]\n{err}" if err else "", f"[exit code {code}]" if code else ""]
        return _result("\n".join(part for part in parts if part), told, code != 0)

    async def close(self) -> None:
        return

    async def _run(self, args: list[str], stdin: str, timeout_s: float) -> tuple[int, str, str]:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._prepared.command,
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(self._prepared.env),
                cwd=self._prepared.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise SourceFault("unreachable", f"The program cannot be started: {error.strerror}.") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(timeout_s):
                out, err, _ = await asyncio.gather(
                    _bounded(process.stdout), _bounded(process.stderr), _feed(process.stdin, stdin)
                )
                code = await process.wait()
        except TimeoutError:
            raise SourceFault("timeout", f"The program did not end within {timeout_s:g} s.") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                await process.wait()
        last = err.strip().rpartition("\n")[2]
        if code == 125 and last.startswith("ammeter: "):
            raise SourceFault("blocked", last)
        return code, self._blanked(out), self._blanked(err)

    def _blanked(self, text: str) -> str:
        for value in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(value, "***")
        return text


async def _bounded(stream: asyncio.StreamReader) -> str:
    kept = bytearray()
    while piece := await stream.read(_PIECE):
        kept += piece[: max(0, _OUTPUT_BYTES - len(kept))]
    return kept.decode("utf-8", "replace")


async def _feed(stdin: asyncio.StreamWriter, text: str) -> None:
    with suppress(OSError):
        stdin.write(text.encode())
        await stdin.drain()
    stdin.close()


def _result(text: str, told: Mapping[str, Any] | None, is_error: bool) -> ToolResult:
    return ToolResult(
        content=({"type": "text", "text": text},), structured=told, is_error=is_error, raw_text=text
    )
