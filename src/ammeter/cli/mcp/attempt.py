"""`ammeter try search|script`: both tools of a hosted endpoint from a terminal, as agents call them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from ammeter.cli.bundle.options import Environment, Key, SourceSlug, Url, connect
from ammeter.cli.house import AsJson
from ammeter.cli.remote import path_of
from ammeter.cli.shown import show
from ammeter.cli.tools import call_tool

# A script may take five minutes.
_TIMEOUT_S = 330.0


def search(
    query: Annotated[str, typer.Argument(help="What you look for.")],
    source: SourceSlug,
    limit: Annotated[int, typer.Option(help="How many results.")] = 5,
    environment: Environment = "production",
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Search the SDK."""
    result = _call("search_sdk", {"query": query, "limit": limit}, source, environment, url, key)
    _print(result, as_json=as_json)


def script(
    file: Annotated[str, typer.Argument(help="A file with the script, - for stdin.")],
    source: SourceSlug,
    environment: Environment = "production",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse operations that change things.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Run a script; exits with 1 where it fails."""
    try:
        code = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}", param_hint="FILE") from None
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8 (byte {error.start})", param_hint="FILE") from None
    mode = {"mode": "read"} if read_only else {}
    result = _call("execute_script", {"code": code}, source, environment, url, key, **mode)
    _print(result, as_json=as_json)
    if result.get("isError"):
        raise typer.Exit(1)


def _call(
    tool: str,
    arguments: dict[str, Any],
    source: str,
    environment: str,
    url: str | None,
    key: str | None,
    **query: str,
) -> dict[str, Any]:
    path = f"{path_of('product-mcp', source)}?{urlencode({'environment': environment, **query})}"
    return call_tool(connect(url, key, timeout_s=_TIMEOUT_S), path, tool, arguments)


def _print(result: dict[str, Any], *, as_json: bool) -> None:
    told = result.get("structuredContent")
    if as_json:
        show(told if told is not None else result, as_json=True)
        return
    texts = [part["text"] for part in result["content"] if part["type"] == "text"]
    if told is not None and "calls" in told:
        texts = [json.dumps(told, indent=2, ensure_ascii=False)]
    typer.echo("\n".join(texts))
