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

from ammeter.base.ids import new_id
from ammeter.features.orgs.model import Role
from tests.doors.wire import settle
from tests.server import running

ACCEPTED = ["2xx", "401", "403", "404", "409"]


def config(token: str) -> Any:
    return schemathesis.Config.from_dict(
        {
            "seed": 20261115,
            "headers": {"Authorization": f"Bearer {token}"},
            "continue-on-failure": True,
            "request-timeout": 10,
            "generation": {"max-examples": 15, "deterministic": True, "database": "none"},
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
                    for name in ("POST /workflows", "PATCH /workflows/{id}", "POST /workflows/{id}/runs")
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
    token = settle(database_url, tmp_path)[Role.owner]
    headers = {"authorization": f"Bearer {token}"}
    with running(tmp_path, "--role", "web", database_url=database_url) as server:
        schema = schemathesis.openapi.from_url(f"{server.api}/openapi", config=config(token))
        with _sparing(_id_of(token, server.api)):
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
def _sparing(own_id: str) -> Iterator[None]:
    """Revoking the key that the requests are made with would make every later answer a 401."""

    def before_call(context: Any, case: Any, kwargs: Any) -> None:
        if case.path_parameters.get("id") == own_id:
            case.path_parameters["id"] = new_id()

    schemathesis.hook(before_call)
    try:
        yield
    finally:
        hooks.unregister(before_call)
