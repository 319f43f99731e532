"""`ammeter import promptfoo` and `openai-evals`: a file in, a folder of workflow files out, and a list of
what could not be carried over. No server is asked; `ammeter sync DIR --source NAME` takes the files there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ammeter.cli.house import AsJson
from ammeter.cli.importers.model import Imported, NotTheFormat
from ammeter.cli.importers.openai_evals import import_registry, import_samples
from ammeter.cli.importers.promptfoo import import_promptfoo
from ammeter.cli.shown import show

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file to import.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for the workflow files; made if missing.")]

_SHOWN = 50


def promptfoo(file: File, out: Out = Path("evals"), as_json: AsJson = False) -> None:
    """Import a promptfoo configuration: each prompt with each test becomes a workflow."""
    document = _read(file)
    try:
        made = import_promptfoo(document, file.parent, _read)
    except NotTheFormat as error:
        raise typer.BadParameter(f"{file} is no promptfoo configuration: {error}") from None
    _write(made, out, as_json=as_json)


def openai_evals(
    file: File,
    out: Out = Path("evals"),
    kind: Annotated[
        Literal["Match", "Includes", "FuzzyMatch", "JsonMatch"],
        typer.Option("--class", help="How samples without a registry's entry are compared."),
    ] = "Includes",
    as_json: AsJson = False,
) -> None:
    """Import an entry of a registry of OpenAI evals (YAML), or samples alone (JSONL)."""
    try:
        if file.suffix == ".jsonl":
            made = import_samples(_text(file), file.stem, kind)
        else:
            made = import_registry(_read(file), file.parent)
    except NotTheFormat as error:
        raise typer.BadParameter(f"{file} is not of OpenAI's evals: {error}") from None
    _write(made, out, as_json=as_json)


def _write(made: Imported, out: Path, *, as_json: bool) -> None:
    # Imported here: writing YAML is for those who have some.
    import yaml

    out.mkdir(parents=True, exist_ok=True)
    files = []
    for workflow in made.workflows:
        path = _free(out, workflow["name"])
        path.write_text(yaml.safe_dump(workflow, sort_keys=False, allow_unicode=True, width=110), "utf-8")
        files.append(str(path))
    left = [{"where": one.where, "what": one.what, "why": one.why} for one in made.left_behind]
    if as_json:
        show({"files": files, "notCarriedOver": left}, as_json=True)
        return
    typer.echo(f"Wrote {len(files)} workflows to {out}; take them to a server with:")
    typer.echo(f"  ammeter sync {out} --source NAME")
    if not left:
        typer.echo("Everything was carried over.")
        return
    typer.echo(f"Not carried over ({len(left)}):")
    counted = Counter((one["what"], one["why"]) for one in left)
    first = {(one["what"], one["why"]): one["where"] for one in reversed(left)}
    for (what, why), count in counted.most_common(_SHOWN):
        more = f" and {count - 1} more" if count > 1 else ""
        typer.echo(f"  {first[what, why]}{more}: {what}: {why}")
    if len(counted) > _SHOWN:
        typer.echo(f"  … {len(counted) - _SHOWN} more kinds; see them all with --json")


def _free(out: Path, name: str) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "case"
    path, number = out / f"{stem}.yaml", 1
    while path.exists():
        number += 1
        path = out / f"{stem}-{number}.yaml"
    return path


def _read(file: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(_text(file))
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())[:200]
        raise typer.BadParameter(f"{file} is not YAML: {told}") from None


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8 (byte {error.start})") from None
