"""`GET /org`, as decided: every field, for every role."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from tests.household import OPERATOR, Household

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads_its_organization(household: Household, role: Role) -> None:
    answer = household.call("GET", "/org", role)
    assert answer.status_code == 200
    org = answer.json()
    now = datetime.now(UTC)
    assert INSTANT.fullmatch(org.pop("createdAt"))
    assert org == {
        "id": household.org.id,
        "name": "Acme",
        "slug": "acme",
        "region": "us",
        "role": role.name,
        "features": {"mcpAnalytics": False, "codeMode": False},
        "usage": {
            "periodStart": f"{now:%Y-%m}-01T00:00:00.000Z",
            "periodEnd": f"{now.year + now.month // 12}-{now.month % 12 + 1:02d}-01T00:00:00.000Z",
            "includedRuns": None,
            "usedRuns": 0,
            "remainingRuns": None,
        },
    }


def test_features_and_included_runs_show_at_once(household: Household) -> None:
    with household.house.db.write() as tx:
        service.set_features(tx, OPERATOR, household.org, mcp_analytics=True, code_mode=True)
        service.set_included_runs(tx, OPERATOR, household.org, 100)
    org = household.call("GET", "/org").json()
    assert org["features"] == {"mcpAnalytics": True, "codeMode": True}
    assert (org["usage"]["includedRuns"], org["usage"]["remainingRuns"]) == (100, 100)


def test_answers_carry_request_id_rate_limit_and_security_headers(household: Household) -> None:
    headers = household.call("GET", "/org").headers
    assert headers["x-request-id"]
    assert re.fullmatch(r'"api";r=\d+;t=\d+', headers["ratelimit"])
    assert headers["ratelimit-policy"] == '"api";q=20000;w=2'
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"


def test_a_given_request_id_is_kept_and_a_strange_one_replaced(household: Household) -> None:
    given = household.call("GET", "/org", headers={"x-request-id": "trace-0123456789"})
    assert given.headers["x-request-id"] == "trace-0123456789"
    strange = household.call("GET", "/org", headers={"x-request-id": "<script>alert(1)</script>"})
    assert "<" not in strange.headers["x-request-id"]
