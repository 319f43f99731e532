"""A source as a person reads it."""

from __future__ import annotations

from typing import Any

import typer

from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.shown import show


def show_source(source: Any, *, as_json: bool) -> None:
    if as_json:
        show(source, as_json=True)
        return
    found = source["discovery"]
    info = found["server_info"] or {}
    package = source["connection_config"].get("package") or {}
    lines = {
        "id": source["id"],
        "name": source["name"],
        "kind": f"{source['target_kind']}, {source['transport_type']}",
        "address": source["base_url"] or f"{package.get('name', '-')} {package.get('version', '')}".strip(),
        "status": source["status"],
        "categories": source["categories"],
        "discovery": found["status"] or "never",
        "server": f"{info.get('name', '-')} {info.get('version', '')}".strip(),
        "protocol": found["protocol_version"],
    }
    if found["error"]:
        lines["error"] = found["error"]
    provisioning = source["provisioning"] or {}
    if provisioning.get("error"):
        lines["install error"] = provisioning["error"]
    show(lines, as_json=False)
    if found["tools"]:
        rows = [(tool["name"], _first_line(tool["description"])) for tool in found["tools"]]
        show_lines(table_lines(("tool", "what it does"), rows))


def exit_if_failed(source: Any) -> None:
    if source["discovery"]["status"] == "failed":
        raise typer.Exit(1)


def _first_line(text: str | None) -> str:
    line = (text or "").strip().partition("\n")[0]
    return line if len(line) <= 80 else line[:79] + "…"
