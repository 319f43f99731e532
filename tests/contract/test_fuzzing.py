"""Whatever is sent to the API, valid or not, is answered as its own description says.

Schemathesis reads the description of a real server and sends it several hundred requests, the same
ones each time: examples, every boundary of every field, random values, and sequences of operations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import schemathesis
from schemathesis import hooks
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.generation import GenerationMode

from ammeter.base.ids import new_id
from tests.contract.inhabited import Inhabited, inhabit
from tests.server import running

ACCEPTED = ["2xx", "401", "403", "404", "409"]
UNKNOWABLE = {
    *("testerModelId", "testerModelIds", "testerTargets"),
    *("defaultMcpAuthProfileId", "baselineRunId"),
}


def config(token: str) -> Any:
    return schemathesis.Config.from_dict(
        {
            "seed": 20261115,
            "headers": {"Authorization": f"Bearer {token}"},
            "continue-on-failure": True,
            "request-timeout": 10,
            "generation": {"max-examples": 2, "deterministic": True, "database": "none"},
            "checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}},
            "operations": [
                {
                    # A schema cannot say that an expiry lies in the future and a source exists.
                    "include-name": "POST /org/keys",
                    "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422"]}},
                },
                {
                    # Nor which fields go with which kind of source.
                    "include-name": "POST /mcp-servers",
                    "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422"]}},
                },
                *(
                    {
                        # Nor which sources, models and runs there are, nor what the preflight refuses.
                        "include-name": name,
                        "checks": {
                            "positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422", "429"]}
                        },
                    }
                    for name in (
                        *("POST /workflows", "PATCH /workflows/{id}", "POST /workflows/{id}/runs"),
                        *("POST /suites", "PATCH /suites/{id}"),
                    )
                ),
                {
                    # Nor which categories there are.
                    "include-name": "PATCH /mcp-servers/{id}",
                    "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, "422"]}},
                },
            ],
        }
    )


def test_every_answer_is_as_described(database_url: str, tmp_path: Path) -> None:
    there = inhabit(database_url, tmp_path)
    headers = {"authorization": f"Bearer {there.token}"}
    settings = {"database_url": database_url, "rate_runs_burst": "10000"}
    with running(tmp_path, "--role", "web", **settings) as server:
        schema = schemathesis.openapi.from_url(f"{server.api}/openapi", config=config(there.token))
        with _knowing(there, _id_of(there.token, server.api)):
            failures, statuses = _run(schema)
        still = httpx2.get(f"{server.api}/org", headers=headers).status_code
    assert not failures, "\n\n".join(failures[:10])
    assert still == 200
    assert "Traceback" not in server.log.read_text()
    assert len(statuses) == schema.statistic.operations.total
    for operation, seen in statuses.items():
        assert any(status < 300 for status in seen), f"never succeeded: {operation} {seen}"
        assert any(status >= 400 for status in seen), f"never refused: {operation} {seen}"
    assert sum(seen.total() for seen in statuses.values()) > 500


def _run(schema: Any) -> tuple[list[str], dict[str, Counter[int]]]:
    """What was not as described, and how often each operation gave which status."""
    failures: list[str] = []
    statuses: dict[str, Counter[int]] = defaultdict(Counter)
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            failures += _failures(event.recorder)
            for operation, status in _answers(event.recorder):
                statuses[operation][status] += 1
        elif isinstance(event, (events.NonFatalError, events.FatalError)):
            failures.append(str(event))
    return failures, statuses


def _failures(recorder: ScenarioRecorder) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name}: {failure.message}\n{check.failure_info.code_sample}"


def _answers(recorder: ScenarioRecorder) -> Iterator[tuple[str, int]]:
    for case_id, interaction in recorder.interactions.items():
        if interaction.response is not None:
            yield recorder.cases[case_id].value.operation.label, interaction.response.status_code


def _id_of(token: str, api: str) -> str:
    rows = httpx2.get(f"{api}/org/keys", headers={"authorization": f"Bearer {token}"}).json()["rows"]
    (own,) = [row["id"] for row in rows if row["keyId"] == token[4:16]]
    return str(own)


@contextmanager
def _knowing(there: Inhabited, own_key: str) -> Iterator[None]:
    """Every other valid request is about something that is there; what a schema cannot say is put in."""
    calls: Counter[str] = Counter()

    def before_call(context: Any, case: Any, kwargs: Any) -> None:
        path, label = case.path_parameters, case.operation.label
        if path.get("id") == own_key:
            # Revoking the key that the requests are made with would make every later answer a 401.
            path["id"] = new_id()
        if case.meta.generation.mode is not GenerationMode.POSITIVE:
            return
        calls[label] += 1
        if calls[label] % 2:
            path.update(_real_ids(there, label))
        if isinstance(case.body, dict):
            case.body = _possible(there, label, case.body)

    schemathesis.hook(before_call)
    try:
        yield
    finally:
        hooks.unregister(before_call)


def _real_ids(there: Inhabited, label: str) -> dict[str, str]:
    method, _, path = label.partition(" ")
    match path.split("/")[1:]:
        case ["mcp-servers", "{id}"] if method == "PATCH":
            return {"id": there.spare_source_id}
        case ["mcp-servers", "{id}", "skills", "{versionId}"]:
            return {"id": there.source_id, "versionId": there.skill_version_id}
        case ["mcp-servers", "{id}", *_]:
            return {"id": there.source_id}
        case ["workflows", "{id}", *_]:
            return {"id": there.spare_workflow_id if method == "DELETE" else there.workflow_id}
        case ["runs", "{id}", "cancel"]:
            return {"id": there.waiting_run_id}
        case ["runs", "{id}", *_]:
            return {"id": there.judged_run_id}
        case ["suites", "{id}", *_]:
            return {"id": there.spare_suite_id if method == "DELETE" else there.suite_id}
        case ["insights", "topics", "{id}"]:
            return {"id": there.topic_id}
        case ["insights", "searches", "{id}"]:
            return {"id": there.cluster_id}
        case ["insights", "sessions", "{id}", *_]:
            return {"id": there.session_id}
    return {}


def _possible(there: Inhabited, label: str, body: dict[str, Any]) -> dict[str, Any]:
    """The body without names of sources, models, runs and categories that there cannot be."""
    if label == "PATCH /mcp-servers/{id}":
        return {name: value for name, value in body.items() if name != "categories"}
    if "/suite" in label:
        return _possible_suite(there, body)
    if "/workflows" not in label:
        return body
    made = {name: value for name, value in body.items() if name not in UNKNOWABLE}
    if "mcpServerId" in made:
        made["mcpServerId"] = there.source_id
    return made


def _possible_suite(there: Inhabited, body: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in body.items() if name not in UNKNOWABLE}
    if isinstance(gate := made.get("gate"), dict):
        made["gate"] = {**gate, "requireAll": True}
    return made | {"caseIds": [there.workflow_id]} if "caseIds" in body else made
