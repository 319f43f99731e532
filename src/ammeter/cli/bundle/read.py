"""`ammeter bundle list`, `show` and `diff`: what is stored, and how it differs from what is served."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from ammeter.cli.bundle.options import (
    BASE,
    UPLOAD_TIMEOUT_S,
    BundleId,
    Environment,
    Files,
    Key,
    ManifestFile,
    Overlay,
    SourceSlug,
    Url,
    connect,
    provenance,
)
from ammeter.cli.bundle.shown import (
    bundle_lines,
    diff_lines,
    finding_lines,
    rollback_lines,
    show_lines,
    table_lines,
)
from ammeter.cli.bundle.upload import send
from ammeter.cli.house import AsJson
from ammeter.cli.remote import path_of
from ammeter.cli.shown import show

EXIT_BREAKING = 4


def list_all(
    source: SourceSlug,
    environment: Annotated[
        str | None, typer.Option("--environment", help="Of this environment only.", show_default="all")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.", show_default="all")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the bundles of a source, newest first."""
    found = connect(url, key).pages(BASE, limit=limit, source=source, environment=environment)
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (
            row["id"],
            row["environment"],
            row["status"],
            str(row["operations"]),
            row["createdAt"],
            row["branch"] or "-",
            (row["commitSha"] or "-")[:12],
        )
        for row in found["rows"]
    ]
    heading = ("bundle", "environment", "status", "operations", "created", "branch", "commit")
    show_lines(table_lines(heading, rows))
    if found["hasMore"]:
        typer.echo(f"… {len(rows)} of {found['total']}")


def show_one(bundle: BundleId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show one bundle, what was found in its description, and its diff against the active one."""
    answer = connect(url, key).get(BASE + path_of(bundle))
    if as_json:
        show(answer, as_json=True)
        return
    show_lines(bundle_lines(answer["bundle"]))
    show_lines(diff_lines(answer["apiDiff"]))
    show_lines(finding_lines(answer["findings"]))
    show_lines(rollback_lines(answer))


def diff(
    bundle: Annotated[
        str | None, typer.Argument(metavar="BUNDLE", help="Id of a stored bundle.", show_default=False)
    ] = None,
    openapi: Annotated[
        str, typer.Option("--openapi", help="Or a description: it is uploaded, and not served.")
    ] = "",
    source: Annotated[str, typer.Option("--source", help="With --openapi: slug of the source.")] = "",
    overlay: Overlay = "",
    manifest: ManifestFile = "",
    environment: Environment = "production",
    fail_on: Annotated[
        Literal["breaking"] | None,
        typer.Option("--fail-on", help=f"Exit with {EXIT_BREAKING} when something breaks scripts."),
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Compare a stored bundle, or a description, with the active bundle."""
    if (bundle is None) == (not openapi):
        raise typer.BadParameter("give the id of a bundle or a description with --openapi, one of the two")
    if openapi and not source:
        raise typer.BadParameter("is needed with --openapi", param_hint="--source")
    if bundle is not None:
        answer = connect(url, key).get(BASE + path_of(bundle))
    else:
        answer = send(
            connect(url, key, timeout_s=UPLOAD_TIMEOUT_S),
            {
                "source": source,
                "environment": environment,
                **Files(openapi=openapi, overlay=overlay, manifest=manifest).read(),
                **provenance(None, None, None, None),
            },
        )
    _show_diff(answer, as_json=as_json)
    if fail_on and answer["apiDiff"]["breaking"]:
        raise typer.Exit(EXIT_BREAKING)


def _show_diff(answer: Any, *, as_json: bool) -> None:
    if as_json:
        show(answer, as_json=True)
        return
    show_lines(diff_lines(answer["apiDiff"]))
    show_lines(finding_lines([f for f in answer["findings"] if f["level"] != "info"]))
