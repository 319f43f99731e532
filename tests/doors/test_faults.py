"""500 and 503: our own faults say nothing about our insides; the log says everything but secrets."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import text

from ammeter.base.logs import JsonLines, PlainLines
from ammeter.features.orgs.model import Role
from tests.household import Household, refusal

VALUE = "open-sesame-4711"


def test_a_fault_of_ours_is_told_without_our_insides_and_logged_with_them(
    household: Household, caplog: pytest.LogCaptureFixture
) -> None:
    with household.house.db.write() as tx:
        tx.execute(text("DROP TABLE org_secrets"))
    answer = household.call("PUT", "/org/secrets/NAME", json={"value": VALUE})
    assert refusal(answer) == (500, "internal")
    request_id = answer.headers["x-request-id"]
    assert answer.json() == {
        "error": {
            "code": "internal",
            "message": "Something went wrong on our side. The request id finds it in the server's log.",
            "details": [],
            "requestId": request_id,
        }
    }
    for inside in ("Traceback", "org_secrets", "sqlite", "psycopg", "SELECT", "INSERT", VALUE):
        assert inside not in answer.text
    (record,) = [r for r in caplog.records if r.levelno >= logging.ERROR]
    for formatter in (JsonLines(), PlainLines()):
        line = formatter.format(record)
        assert "Traceback" in line
        assert "org_secrets" in line
        assert request_id in line
        assert VALUE not in line
        assert household.tokens[Role.owner][17:] not in line


def test_the_values_of_a_failed_statement_stay_out_of_the_log(
    household: Household, caplog: pytest.LogCaptureFixture
) -> None:
    with household.house.db.write() as tx:
        tx.execute(text("DROP TABLE audit_events"))
    body = {"email": "private@example.com", "name": "Private Person", "role": "viewer"}
    assert refusal(household.call("POST", "/org/members", json=body)) == (500, "internal")
    logged = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert "audit_events" in logged
    assert "private" not in logged.lower()


def test_one_fault_does_not_spoil_the_next_request(household: Household) -> None:
    with household.house.db.write() as tx:
        tx.execute(text("ALTER TABLE org_secrets RENAME TO elsewhere"))
    for _ in range(30):
        assert refusal(household.call("GET", "/org/secrets")) == (500, "internal")
        assert household.call("GET", "/org").status_code == 200
    with household.house.db.write() as tx:
        tx.execute(text("ALTER TABLE elsewhere RENAME TO org_secrets"))
    assert household.call("PUT", "/org/secrets/NAME", json={"value": VALUE}).status_code == 201


def test_a_change_that_fails_in_the_middle_leaves_nothing_behind(household: Household) -> None:
    with household.house.db.write() as tx:
        tx.execute(text("ALTER TABLE audit_events RENAME TO elsewhere"))
    assert refusal(household.call("PUT", "/org/secrets/HALF", json={"value": VALUE})) == (500, "internal")
    with household.house.db.write() as tx:
        tx.execute(text("ALTER TABLE elsewhere RENAME TO audit_events"))
    assert household.call("GET", "/org/secrets").json()["total"] == 0


def test_a_stopping_server_refuses_new_work_and_says_when_to_come_back(household: Household) -> None:
    app = household.client.app
    edge = app.edge  # type: ignore[attr-defined]
    edge.is_refusing = True
    answer = household.call("GET", "/org")
    assert refusal(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "2"
    assert household.client.get("/healthz").status_code == 200
