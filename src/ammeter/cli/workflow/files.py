"""Workflows as files: YAML or JSON text in, the fields of a workflow out, as the REST API takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

_ENDINGS = (".yaml", ".yml", ".json")


def read_workflow(name: str) -> dict[str, Any]:
    # Imported here: reading YAML is for those who have some.
    from ammeter.engines.compiler.document import read_object

    try:
        text = Path(name).read_text("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{name} is not UTF-8 (byte {error.start})") from None
    reading = read_object(text)
    if reading.document is None:
        told = "; ".join(finding.message for finding in reading.findings)
        raise typer.BadParameter(f"{name}: {told}")
    return reading.document


def read_folder(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Every workflow file in a folder and those below it, in order of their names."""
    folder = Path(name)
    if not folder.is_dir():
        raise typer.BadParameter(f"{name} is not a folder")
    files = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS and path.is_file())
    if not files:
        raise typer.BadParameter(f"{name} holds no .yaml, .yml or .json file")
    return [(str(path), read_workflow(str(path))) for path in files]
