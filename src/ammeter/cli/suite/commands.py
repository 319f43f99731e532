"""`ammeter suite list`, `show`, `create`, `change` and `archive`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.remote import path_of
from ammeter.cli.shown import show
from ammeter.cli.suite.find import SUITES, case_ids_of, suite_id_of
from ammeter.cli.suite.gates import MaxCost, MinPassRate, MinScore, Repeats, Strict, gate_of

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="Name or id of the suite.")]
Cases = Annotated[
    list[str] | None,
    typer.Option("--case", help="Name or id of a workflow; may be given again.", show_default=False),
]


def list_all(url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """List active suites."""
    found = connect(url, key).get(SUITES)
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (row["id"], row["name"], str(len(row["cases"])), str(row["repeats"]), told_gate(row["gate"]))
        for row in found["rows"]
    ]
    show_lines(table_lines(("suite", "name", "cases", "repeats", "gate"), rows))


def show_one(suite: SuiteName, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show a suite: its gate and its cases."""
    remote = connect(url, key)
    found = remote.get(SUITES + path_of(suite_id_of(remote, suite)))
    if as_json:
        show(found, as_json=True)
        return
    show_lines(_suite_lines(found))


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the suite.")],
    case: Cases = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    repeats: Repeats = None,
    min_score: MinScore = None,
    strict: Strict = False,
    min_pass_rate: MinPassRate = None,
    max_cost_usd: MaxCost = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Create a suite of cases with a gate."""
    if not case:
        raise typer.BadParameter("name at least one workflow", param_hint="--case")
    remote = connect(url, key)
    body = {
        "name": name,
        "description": description,
        "caseIds": case_ids_of(remote, case),
        **_given(repeats, gate_of(min_score, strict, min_pass_rate, max_cost_usd)),
    }
    made = remote.post(SUITES, json.dumps(body).encode())
    if as_json:
        show(made, as_json=True)
        return
    typer.echo("Created the suite")
    show_lines(_suite_lines(made))


def change(
    suite: SuiteName,
    name: Annotated[str | None, typer.Option(help="Its new name.", show_default=False)] = None,
    case: Cases = None,
    repeats: Repeats = None,
    min_score: MinScore = None,
    strict: Strict = False,
    min_pass_rate: MinPassRate = None,
    max_cost_usd: MaxCost = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Change a suite; cases or a gate that are given take the place of what was there."""
    remote = connect(url, key)
    body = _given(repeats, gate_of(min_score, strict, min_pass_rate, max_cost_usd))
    if name is not None:
        body["name"] = name
    if case:
        body["caseIds"] = case_ids_of(remote, case)
    made = remote.patch(SUITES + path_of(suite_id_of(remote, suite)), json.dumps(body).encode())
    if as_json:
        show(made, as_json=True)
        return
    show_lines(_suite_lines(made))


def archive(suite: SuiteName, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Archive a suite; its suite runs stay."""
    remote = connect(url, key)
    show(remote.delete(SUITES + path_of(suite_id_of(remote, suite))), as_json=as_json, title="Archived")


def told_gate(gate: Mapping[str, Any]) -> str:
    """A gate in a few words."""
    parts = [f"score >= {gate['minScore']:g}"] if gate["minScore"] is not None else []
    parts += ["every mark passes"] if gate["strict"] else []
    parts = parts or ["outcome Passed"]
    parts.append("every case" if gate["requireAll"] else "mean of all cases")
    if gate["minPassRate"] < 1:
        parts.append(f"{gate['minPassRate']:.0%} of the repeats")
    if gate["maxCostUsd"] is not None:
        parts.append(f"at most {gate['maxCostUsd']:g} USD")
    return ", ".join(parts)


def _suite_lines(suite: Mapping[str, Any]) -> Iterator[str]:
    yield f"{suite['name']} ({suite['status']})  {suite['id']}"
    if suite["description"]:
        yield f"  {suite['description']}"
    yield f"  gate: {told_gate(suite['gate'])}; {suite['repeats']} runs of each case"
    rows = [(case["id"], case["name"], case["status"]) for case in suite["cases"]]
    yield from table_lines(("case", "name", "status"), rows, "  ")


def _given(repeats: int | None, gate: dict[str, Any] | None) -> dict[str, Any]:
    body: dict[str, Any] = {} if repeats is None else {"repeats": repeats}
    return body if gate is None else body | {"gate": gate}
