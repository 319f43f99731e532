"""`ammeter bundle promote` and `rollback`: which bundle an environment serves."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ammeter.base.errors import Conflict
from ammeter.cli.bundle.options import BASE, BundleId, Environment, Key, SourceSlug, Url, connect
from ammeter.cli.bundle.shown import bundle_lines, rollback_lines, show_lines
from ammeter.cli.house import AsJson
from ammeter.cli.remote import Remote, path_of
from ammeter.cli.shown import show


def promote(
    bundle: BundleId,
    require_suite: Annotated[
        str | None,
        typer.Option(
            help="Only if this suite, run against the bundle, is ready to ship.", show_default=False
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for the suite.")] = 1800,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Serve a stored bundle in its environment; with a suite exits as `ammeter gate` does."""
    if require_suite is None:
        _promote(connect(url, key), bundle, as_json=as_json)
        return
    # Imported here: most promotions ask for no suite.
    from ammeter.cli.bundle.gated import promote_gated

    code = promote_gated(bundle, require_suite, url=url, key=key, as_json=as_json, timeout_s=timeout)
    raise typer.Exit(code)


def rollback(
    source: SourceSlug,
    environment: Environment = "production",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Serve again what was served before the active bundle."""
    remote = connect(url, key)
    active = _active(remote, source, environment)
    previous = remote.get(BASE + path_of(active["id"]))["rollback"]["previousBundleId"]
    if previous is None:
        raise Conflict(f"Nothing was served in {environment} before {active['id']}; there is no way back.")
    if not yes:
        _ask(f"Serve {previous} instead of {active['id']} in {environment}?")
    _promote(remote, previous, as_json=as_json)


def _active(remote: Remote, source: str, environment: str) -> Any:
    rows = remote.pages(BASE, source=source, environment=environment)["rows"]
    active = next((row for row in rows if row["status"] == "active"), None)
    if active is None:
        raise Conflict(f"Nothing is served in {environment} of {source}: no bundle was promoted there.")
    return active


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is here to ask; say --yes", param_hint="--yes")
    # Not typer's own question: that one writes to standard output, which is for the answer.
    typer.echo(f"{question} [y/N]: ", nl=False, err=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Exit(1)


def _promote(remote: Remote, bundle_id: str, *, as_json: bool) -> None:
    show_promoted(remote.post(f"{BASE}{path_of(bundle_id)}/promote"), as_json=as_json)


def show_promoted(answer: Any, *, as_json: bool) -> None:
    if as_json:
        show(answer, as_json=True)
        return
    typer.echo("The bundle is served")
    show_lines(bundle_lines(answer["bundle"]))
    show_lines(rollback_lines(answer))
