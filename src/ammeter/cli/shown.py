"""What commands print: a table or key-value lines for a person, JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

import typer

from ammeter.base.clock import rfc3339
from ammeter.base.pages import Page
from ammeter.features.orgs.model import Role


def show(value: Any, *, as_json: bool, title: str = "") -> None:
    """One record, as lines or as JSON."""
    record = plain(value)
    if as_json:
        typer.echo(json.dumps(record, indent=2, ensure_ascii=False))
        return
    if title:
        typer.echo(title)
    width = max((len(name) for name in record), default=0)
    for name, field in record.items():
        typer.echo(f"  {name:<{width}}  {_cell(field)}")


def show_page(page: Page[Any], columns: Sequence[str], *, as_json: bool) -> None:
    rows = [plain(row) for row in page.rows]
    if as_json:
        envelope = {
            "rows": rows,
            "page": page.page,
            "page_size": page.page_size,
            "total": page.total,
            "has_more": page.has_more,
        }
        typer.echo(json.dumps(envelope, indent=2, ensure_ascii=False))
        return
    cells = [list(columns), *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if page.has_more:
        typer.echo(f"… page {page.page} of {page.total} rows; see the next with --page {page.page + 1}")


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(field) for name, field in asdict(value).items()}
    if isinstance(value, Role):
        return value.name
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return str(value)
