"""`/healthz`, `/readyz` and `/metrics`: for machines that watch the server."""

from __future__ import annotations

import re
from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from sqlalchemy import text
from starlette.testclient import TestClient

from ammeter.asgi import build_app
from ammeter.base.ids import new_id
from ammeter.features.orgs.model import Role
from ammeter.wiring import House
from tests.flows.outage import away
from tests.household import API, Household, make_client, refusal


def test_a_server_says_that_it_is_alive_and_ready(tenant: Household) -> None:
    assert tenant.client.get("/healthz").json() == {"status": "ok"}
    ready = tenant.client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["status"] == "ready"
    assert set(ready.json()["checks"].values()) == {"ok"}
    assert "database" in ready.json()["checks"]


def test_a_server_whose_database_is_away_is_alive_but_not_ready(household: Household) -> None:
    with away(household.house.db):
        ready = household.client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["status"] == "not ready"
        assert "the database" in ready.json()["checks"]["database"]
        assert ready.headers["retry-after"] == "2"
        assert household.client.get("/healthz").status_code == 200
    assert household.client.get("/readyz").status_code == 200


def test_a_server_with_an_old_schema_is_not_ready(household: Household) -> None:
    with household.house.db.write() as tx:
        tx.execute(text("DELETE FROM schema_migrations"))
    ready = household.client.get("/readyz")
    assert ready.status_code == 503
    assert "migrations" in str(ready.json()["checks"])


def test_a_server_that_is_told_to_stop_is_not_ready(tenant: Household) -> None:
    app = build_app(tenant.house)
    app.is_stopping = True
    server = replace(tenant, client=TestClient(app, base_url="http://127.0.0.1"))
    ready = server.client.get("/readyz")
    assert (ready.status_code, ready.json()["checks"]["stop"]) == (503, "the server is stopping")
    assert server.call("GET", "/org").status_code == 200


def test_requests_are_counted_by_route_and_never_by_id(household: Household) -> None:
    client = household.client
    secret_name, path = f"S{new_id().replace('-', '').upper()}", f"/{new_id()}"
    for _ in range(3):
        household.call("GET", "/org")
    household.call("GET", "/org", headers={"accept": "text/html"})
    household.call("PUT", f"/org/secrets/{secret_name}", json={"value": "x"})
    household.call("DELETE", f"/org/keys/{new_id()}")
    household.call("DELETE", f"/org/keys/{new_id()}")
    client.get(f"{API}/org")
    client.get(path)
    client.get("/healthz")
    page = client.get("/metrics").text
    counted = counts(page)
    assert counted == {
        ("GET", f"{API}/org", "200"): 3,
        ("GET", f"{API}/org", "406"): 1,
        ("PUT", f"{API}/org/secrets/{{name}}", "201"): 1,
        ("DELETE", f"{API}/org/keys/{{id}}", "404"): 2,
        ("GET", f"{API}/org", "401"): 1,
        ("GET", "unmatched", "404"): 1,
        ("GET", "/healthz", "200"): 1,
    }
    org, key_id = household.org, household.tokens[Role.owner][4:16]
    for private in (secret_name, path, org.id, org.slug, key_id):
        assert private not in page
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", page)
    assert "ammeter_http_request_seconds_bucket" in page
    assert "ammeter_http_requests_in_flight 1.0" in page


def test_metrics_are_open_unless_a_token_is_set(shared_house: House, tenant: Household) -> None:
    assert tenant.client.get("/metrics").status_code == 200
    settings = shared_house.settings.model_copy(update={"metrics_token": SecretStr("let-me-see")})
    client = make_client(replace(shared_house, settings=settings))
    assert _metrics(client, "Bearer let-me-see") == 200
    for wrong in (
        "",
        "Bearer",
        "Bearer let-me-see2",
        "Bearer let-me",
        f"Bearer {tenant.tokens[Role.owner]}",
        "é",
    ):
        assert _metrics(client, wrong) == 401
    answer = client.get("/metrics")
    assert refusal(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "let-me-see" not in answer.text


def test_metrics_are_in_the_format_of_prometheus(tenant: Household) -> None:
    answer = tenant.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert {family.name for family in text_string_to_metric_families(answer.text)} >= {
        "ammeter_http_requests",
        "ammeter_http_request_seconds",
        "ammeter_http_requests_in_flight",
        "process_resident_memory_bytes",
    }


def counts(page: str) -> dict[tuple[str, str, str], float]:
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "ammeter_http_requests_total"
    }


def _metrics(client: TestClient, authorization: str) -> int:
    headers = {b"authorization": authorization.encode("latin-1")}
    return client.get("/metrics", headers=headers).status_code
