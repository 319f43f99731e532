"""What the bundle commands print for a person: a bundle, a diff as a table, findings, what to do next.

Comes in: the server's JSON. Goes out: lines without colours, the same on a terminal and in a CI log.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer

from ammeter.cli.bundle.progress import size

Json = Mapping[str, Any]

_LEVELS = ("error", "warning", "info")
_PLURAL = {"error": "errors", "warning": "warnings", "info": "remarks"}


def show_lines(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)


def bundle_lines(bundle: Json) -> Iterator[str]:
    facts = {
        "bundle": bundle["id"],
        "source": f"{bundle['source']} ({bundle['environment']})",
        "status": bundle["status"],
        "operations": bundle["operations"],
        "size": size(bundle["sizeBytes"]),
        "created": bundle["createdAt"],
        "repository": bundle["repository"],
        "branch": bundle["branch"],
        "commit": bundle["commitSha"],
        "pull request": bundle["pullRequestNumber"],
        "openapi": bundle["openapiHash"],
        "overlay": bundle["overlayHash"],
    }
    told = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, told))
    yield from (f"  {name:<{width}}  {value}" for name, value in told.items())


def table_lines(heading: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> Iterator[str]:
    widths = [max(len(line[i]) for line in (heading, *rows)) for i in range(len(heading))]
    for line in (heading, *rows):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield (indent + "  ".join(cells)).rstrip()


def diff_lines(diff: Json) -> Iterator[str]:
    """Each operation that changed in one line, and under it what changed."""
    entries = _entries(diff)
    if not entries:
        yield "Against the active bundle: no change"
        return
    changed, broken = len(diff["signatureChanged"]), len(diff["breaking"])
    yield (
        f"Against the active bundle: {len(diff['added'])} added, {len(diff['removed'])} removed,"
        f" {changed} changed; {broken or 'none'} breaking"
    )
    breaking = {_name(entry): entry for entry in diff["breaking"]}
    cells = [
        (kind, f"{entry['method']} {entry['path']}", entry["sdkName"], _mark(breaking.get(_name(entry))))
        for kind, entry in entries
    ]
    heading, *rows = table_lines(("", "operation", "in the SDK", ""), cells, indent="  ")
    yield heading
    for row, (kind, entry) in zip(rows, entries, strict=True):
        yield row
        if kind == "changed":
            yield from (f"      {c['level']:<7}  {c['message']}  [{c['rule']}]" for c in entry["changes"])


def script_lines(scripts: Sequence[Json]) -> Iterator[str]:
    """Stored scripts that would break, each with the operation that breaks it and how."""
    if not scripts:
        return
    yield f"{len(scripts)} stored scripts of the last 30 days would break"
    for script in scripts:
        told = " ".join((script["intent"] or "no intent given").split())[:100]
        yield f"  {script['eventId']}  {script['runs']} runs, last {script['lastRunAt']}: {told}"
        for operation in script["operations"]:
            yield f"      {operation['operationId']} ({operation['sdkName']})"
            yield from (f"        {message}" for message in operation["messages"])


def finding_lines(findings: Sequence[Json]) -> Iterator[str]:
    """Worst first."""
    for level in _LEVELS:
        found = [finding for finding in findings if finding["level"] == level]
        if found:
            yield f"{len(found)} {level if len(found) == 1 else _PLURAL[level]} in the description"
        for finding in found:
            yield f"  {finding['code']}  {finding['pointer'] or '/'}"
            yield f"    {finding['message']}"


def rollback_lines(answer: Json) -> Iterator[str]:
    """What brings back the bundle that was served before, or serves the one that is not yet."""
    bundle, previous = answer["bundle"], answer["rollback"]["previousBundleId"]
    if bundle["status"] != "active":
        yield f"Serve it with:      ammeter bundle promote {shlex.quote(bundle['id'])}"
    elif previous is not None:
        yield f"Roll it back with:  ammeter bundle promote {shlex.quote(previous)}"


def _entries(diff: Json) -> list[tuple[str, Json]]:
    kinds = (("removed", "removed"), ("changed", "signatureChanged"), ("added", "added"))
    return [(kind, entry) for kind, field in kinds for entry in diff[field]]


def _name(entry: Json) -> tuple[str, str, str]:
    return entry["method"], entry["path"], entry["operationId"]


def _mark(entry: Json | None) -> str:
    if entry is None:
        return ""
    use = entry["recentUse"]
    if not use["scripts"]:
        return "BREAKING"
    return f"BREAKING, used by {use['scripts']} scripts in {use['sessions']} sessions of the last 30 days"
