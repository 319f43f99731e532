"""Chosen cases as a gate plays them: each run is triggered over REST, one at a time, and looked at until it
is over; then they are judged here by the rules of a suite run, and told in its shape, without an id."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import typer
from pydantic import ValidationError

from ammeter.base.clock import now, parse_rfc3339
from ammeter.base.errors import AmmeterError
from ammeter.base.ids import new_id
from ammeter.cli.gate.end import Infrastructure
from ammeter.cli.gate.patience import Patience
from ammeter.cli.gate.progress import Progress
from ammeter.cli.remote import Remote, RemoteError, path_of
from ammeter.cli.run.shown import API
from ammeter.doors.http.suite_bodies import GateIn
from ammeter.doors.http.suite_records import suite_run_record
from ammeter.features.evals.model import Run
from ammeter.features.suites.gate import key_of, over_limit, result_of
from ammeter.features.suites.model import Gate, PlannedCase, SuiteRun

_POLL_S = 1.0

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesOrder:
    case_ids: Sequence[str]
    model_ids: Sequence[str]
    """None of them: each case's own."""
    repeats: int
    gate: Gate
    reason: str
    idempotency_key: str | None


def play_cases(
    remote: Remote, order: dict[str, Any], patience: Patience, progress: Progress, *, timeout_s: float
) -> dict[str, Any]:
    """What became of them, as a suite run tells it; cancelled where nobody waits any more."""
    wanted = _wanted(order)
    began_at, until = now(), time.monotonic() + timeout_s
    runs: dict[str, Run | None] = {}
    try:
        for case_id, body in _triggers(wanted):
            runs |= dict.fromkeys(_trigger(remote, patience, case_id, body))
        progress.say(f"chosen cases: {len(runs)} runs")
        while True:
            for run_id in _open(runs):
                runs[run_id] = _look(remote, patience, run_id)
            found = [run for run in runs.values() if run is not None]
            told = _told(found, wanted, began_at)
            progress.see(told)
            if told["status"] != "running":
                break
            if over_limit(wanted.gate, found):
                _cancel(remote, [run.id for run in found if run.phase == "queued"])
            if time.monotonic() > until:
                raise Infrastructure(f"{len(_open(runs))} runs did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)
    except (KeyboardInterrupt, AmmeterError):
        progress.clear()
        _cancel(remote, _open(runs))
        raise
    progress.clear()
    return told


def _wanted(order: Json) -> CasesOrder:
    try:
        gate = GateIn.model_validate(order.get("gate", {})).value()
    except ValidationError as error:
        told = error.errors()[0]
        raise typer.BadParameter(f"the gate's {told['loc'][0]}: {told['msg']}") from None
    return CasesOrder(
        case_ids=list(dict.fromkeys(order["caseIds"])),
        model_ids=list(dict.fromkeys(order.get("modelIds", ()))),
        repeats=order.get("repeats", 1),
        gate=gate,
        reason=order.get("reason", ""),
        idempotency_key=order.get("idempotencyKey"),
    )


def _triggers(order: CasesOrder) -> Iterator[tuple[str, dict[str, Any]]]:
    """One a run, each with a key: one whose answer was lost and that is tried again starts no second run."""
    key = order.idempotency_key or new_id()
    several = order.repeats > 1 or len(order.model_ids) > 1
    for case_id in order.case_ids:
        for model_id in order.model_ids or (None,):
            for repeat in range(order.repeats):
                own_key = f"{key} {model_id or 'default'} {repeat}" if several else key
                body: dict[str, Any] = {
                    "idempotencyKey": own_key,
                    "forceNewRun": True,
                    "reason": order.reason,
                }
                yield case_id, body if model_id is None else body | {"testerModelIds": [model_id]}


def _trigger(remote: Remote, patience: Patience, case_id: str, body: Json) -> list[str]:
    path, sent = f"{API}/workflows{path_of(case_id)}/runs", json.dumps(body).encode()
    started: list[str] = patience.ask(lambda: remote.post(path, sent))["runIds"]
    return started


def _look(remote: Remote, patience: Patience, run_id: str) -> Run:
    return _run(patience.ask(lambda: remote.get(f"{API}/runs{path_of(run_id)}")))


def _cancel(remote: Remote, run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        try:
            remote.post(f"{API}/runs{path_of(run_id)}/cancel")
        except RemoteError as error:
            typer.echo(f"ammeter: run {run_id} goes on: {error.message}", err=True)


def _open(runs: Mapping[str, Run | None]) -> list[str]:
    return [run_id for run_id, run in runs.items() if run is None or run.status == "running"]


def _told(runs: Sequence[Run], order: CasesOrder, began_at: datetime) -> dict[str, Any]:
    cases = {key_of(run): _planned(run) for run in runs}
    asked = SuiteRun(
        id="",
        org_id="",
        suite_id=None,
        name="chosen cases",
        gate=order.gate,
        repeats=order.repeats,
        cases=tuple(cases.values()),
        baseline_id=None,
        bundle_id=None,
        trigger="ci",
        reason=order.reason,
        idempotency_key=order.idempotency_key,
        cancelled_at=None,
        created_at=began_at,
        created_by="",
    )
    return suite_run_record(result_of(asked, runs)).model_dump(mode="json", by_alias=True)


def _planned(run: Run) -> PlannedCase:
    return PlannedCase(
        workflow_id=run.workflow_id,
        name=run.workflow_name,
        version_id=run.version_id,
        source_id=run.source_id,
        model_id=run.model_id,
        skill_mode=run.skill_mode,
        skill_version_id=run.skill_version_id,
    )


def _run(found: Json) -> Run:
    """A run as the API tells it, as far as a gate is concerned."""
    cost, told = found["cost"], found["evaluatorOutput"]
    return Run(
        id=found["id"],
        org_id="",
        workflow_id=found["workflowId"],
        workflow_name=found["workflowName"],
        version_id=found["workflowVersionId"],
        source_id=found["mcpServerId"],
        job_id=None,
        same_key="",
        status=found["status"],
        phase=found["phase"],
        outcome=found["outcome"],
        score=found["score"],
        classification=found["classification"],
        trigger=found["trigger"],
        model_id=found["model"]["id"],
        skill_mode=found["skillMode"],
        skill_version_id=found["skillVersionId"],
        at=parse_rfc3339(found["startedAt"] or found["queuedAt"]),
        queued_at=parse_rfc3339(found["queuedAt"]),
        started_at=parse_rfc3339(found["startedAt"]) if found["startedAt"] else None,
        ended_at=parse_rfc3339(found["endedAt"]) if found["endedAt"] else None,
        duration_ms=found["durationMs"],
        turns=found["turns"],
        cost_usd=cost["usd"],
        input_tokens=cost["inputTokens"],
        judge_usd=cost["judgeUsd"],
        verdict=None if told is None else _verdict(told),
        error=found["error"],
    )


def _verdict(told: Json) -> dict[str, Any]:
    return {
        "summary": told["summary"],
        "criteria_passed": told["criteriaPassed"],
        "criteria_failed": told["criteriaFailed"],
        "criteria_not_applicable": told["criteriaNotApplicable"],
    }
