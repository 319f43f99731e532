"""`ammeter workflow list`, `show`, `create`, `archive`, `run`, and `ammeter sync`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.remote import Remote, path_of
from ammeter.cli.run.shown import (
    API,
    EXIT_NOT_PASSED,
    RUN_HEADING,
    evaluation_lines,
    exit_with,
    run_row,
    watch_run,
)
from ammeter.cli.shown import show
from ammeter.cli.suite.find import source_id_of
from ammeter.cli.workflow.files import read_folder, read_workflow

BASE = f"{API}/workflows"
WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Id of the workflow.")]


def list_all(
    category: Annotated[str | None, typer.Option(help="Of these categories, comma-separated.")] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List active workflows."""
    found = connect(url, key).get(BASE, category=category)
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (
            row["id"],
            row["name"],
            row["currentVersion"]["testerTargets"][0]["modelId"],
            str(row["currentVersion"]["number"]),
            (row["lastRun"]["outcome"] or row["lastRun"]["status"]) if row["lastRun"] else "-",
        )
        for row in found["rows"]
    ]
    show_lines(table_lines(("workflow", "name", "model", "version", "last run"), rows))


def show_one(workflow: WorkflowId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show a workflow: its prompt, criteria, and how reliably it passes."""
    remote = connect(url, key)
    found = remote.get(BASE + path_of(workflow))
    statistics = remote.get(f"{BASE}{path_of(workflow)}/statistics")["rows"]
    if as_json:
        show({**found, "statistics": statistics}, as_json=True)
        return
    version = found["currentVersion"]
    typer.echo(f"{found['name']} ({found['status']}), version {version['number']} of {version['createdAt']}")
    typer.echo(f"\n{version['testerPrompt'].rstrip()}\n")
    criteria = [
        (
            "required" if c["isRequired"] else "optional",
            "assertion" if c["assertion"] else "judge",
            c["criterionText"],
        )
        for c in version["criteria"]
    ]
    show_lines(table_lines(("is", "decided by", "criterion"), criteria))
    for row in statistics:
        low, high = row["interval"]
        rate = f"{row['passed']} of {row['runs']} passed ({low:.0%} to {high:.0%})"
        typer.echo(f"{row['modelId']}: {rate}")


def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The workflow: a YAML or JSON file.")],
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Create a workflow from a file; its first runs are queued."""
    made = connect(url, key).post(BASE, _body(read_workflow(file)))
    if as_json:
        show(made, as_json=True)
        return
    initial = made["initialDispatch"]
    typer.echo(f"Created {made['workflow']['name']} ({made['workflow']['id']})")
    typer.echo(f"  {initial['queued']} runs queued, {initial['failed']} could not be")


def archive(workflow: WorkflowId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Archive a workflow; its runs stay."""
    answer = connect(url, key).delete(BASE + path_of(workflow))
    show(answer, as_json=as_json, title="Archived")


def run(
    workflow: WorkflowId,
    model: Annotated[
        list[str] | None,
        typer.Option(help="One of its models; may be given again.", show_default="its default"),
    ] = None,
    reason: Annotated[str, typer.Option(help="Shown next to the run.")] = "",
    baseline: Annotated[str | None, typer.Option(help="Run to compare with.", show_default=False)] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="A second start with it gives the same run.", show_default=False)
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Start a new run also where an equal one runs.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help=f"Wait for the end; exits with {EXIT_NOT_PASSED} unless all passed."),
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Start runs of a workflow, one for each model."""
    remote = connect(url, key)
    order: dict[str, Any] = {
        "reason": reason,
        "baselineRunId": baseline,
        "idempotencyKey": idempotency_key,
        "forceNewRun": force,
        "testerModelIds": model or None,
    }
    given = {name: value for name, value in order.items() if value}
    started = remote.post(f"{BASE}{path_of(workflow)}/runs", _body(given))
    if not wait:
        show({"runIds": started["runIds"]}, as_json=as_json, title="Started")
        return
    ended = [watch_run(remote, run_id, quiet=as_json) for run_id in started["runIds"]]
    evaluations = [remote.get(f"{API}/runs{path_of(each['id'])}/evaluation") for each in ended]
    if as_json:
        show({"runs": ended, "evaluations": evaluations}, as_json=True)
    else:
        show_lines(table_lines(RUN_HEADING, [run_row(each) for each in ended]))
        for evaluation in evaluations:
            show_lines(evaluation_lines(evaluation))
    exit_with(ended)


def sync(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of YAML or JSON files.")],
    source: Annotated[
        str | None,
        typer.Option(help="Name or id of the source of files that name none.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Create the workflows of a folder, or change those that are there by the same name."""
    files = read_folder(folder)
    names = [fields.get("name") for _, fields in files]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise typer.BadParameter(f"two files hold a workflow called {twice[0]!r}")
    remote = connect(url, key)
    if source is not None:
        source_id = source_id_of(remote, source)
        files = [(file, {"mcpServerId": source_id} | fields) for file, fields in files]
    known = {row["name"]: row["id"] for row in remote.get(BASE)["rows"]}
    done = [_synced(remote, file, fields, known, dry_run=dry_run) for file, fields in files]
    if as_json:
        show({"rows": done}, as_json=True)
        return
    rows = [(one["did"], one["id"] or "-", one["name"], one["file"]) for one in done]
    show_lines(table_lines(("did", "workflow", "name", "file"), rows))


def _synced(
    remote: Remote, file: str, fields: dict[str, Any], known: dict[str, str], *, dry_run: bool
) -> dict[str, Any]:
    name = str(fields.get("name"))
    workflow_id = known.get(name)
    did = "changed" if workflow_id else "created"
    if dry_run:
        return {"did": f"would be {did}", "id": workflow_id, "name": name, "file": file}
    if workflow_id:
        remote.patch(BASE + path_of(workflow_id), _body(fields))
    else:
        workflow_id = remote.post(BASE, _body(fields))["workflow"]["id"]
    return {"did": did, "id": workflow_id, "name": name, "file": file}


def _body(value: dict[str, Any]) -> bytes:
    return json.dumps(value, default=str).encode()
