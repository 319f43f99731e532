"""500 and 503: our own faults say nothing about our insides; the log says everything but secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from ammeter.asgi import build_app
from ammeter.base.ids import new_id
from ammeter.base.logs import JsonLines, PlainLines
from ammeter.features.orgs.model import Role
from tests.household import Household, refusal

VALUE = "open-sesame-4711"


def test_a_fault_of_ours_is_told_without_our_insides_and_logged_with_them(
    tenant: Household, caplog: pytest.LogCaptureFixture
) -> None:
    with missing(tenant, "org_secrets"):
        answer = tenant.call("PUT", "/org/secrets/NAME", json={"value": VALUE})
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
    (record,) = [r for r in caplog.records if r.levelno >= logging.ERROR]
    for formatter in (JsonLines(), PlainLines()):
        line = formatter.format(record)
        assert "Traceback" in line
        assert "org_secrets" in line
        assert request_id in line
        assert VALUE not in line
        assert tenant.tokens[Role.owner][17:] not in line


def test_the_values_of_a_failed_statement_stay_out_of_the_log(
    tenant: Household, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"email": f"private-{new_id()}@example.com", "name": "Private Person", "role": "viewer"}
    with missing(tenant, "audit_events"):
        assert refusal(tenant.call("POST", "/org/members", json=body)) == (500, "internal")
    logged = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert "audit_events" in logged
    assert "private" not in logged.lower()


def test_one_fault_does_not_spoil_the_next_request(tenant: Household) -> None:
    with missing(tenant, "org_secrets"):
        for _ in range(30):
            assert refusal(tenant.call("GET", "/org/secrets")) == (500, "internal")
            assert tenant.call("GET", "/org").status_code == 200
    assert tenant.call("PUT", "/org/secrets/NAME", json={"value": VALUE}).status_code == 201


def test_a_change_that_fails_in_the_middle_leaves_nothing_behind(tenant: Household) -> None:
    with missing(tenant, "audit_events"):
        assert refusal(tenant.call("PUT", "/org/secrets/HALF", json={"value": VALUE})) == (500, "internal")
    assert tenant.call("GET", "/org/secrets").json()["total"] == 0


def test_a_stopping_server_refuses_new_work_and_says_when_to_come_back(tenant: Household) -> None:
    app = build_app(tenant.house)
    app.is_refusing = True
    server = replace(tenant, client=TestClient(app, base_url="http://127.0.0.1"))
    answer = server.call("GET", "/org")
    assert refusal(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "2"
    assert server.client.get("/healthz").status_code == 200


@contextmanager
def missing(household: Household, table: str) -> Iterator[None]:
    """A table is not where the server looks for it, until the block ends."""
    with household.house.db.write() as tx:
        tx.execute(text(f"ALTER TABLE {table} RENAME TO elsewhere"))
    try:
        yield
    finally:
        with household.house.db.write() as tx:
            tx.execute(text(f"ALTER TABLE elsewhere RENAME TO {table}"))
