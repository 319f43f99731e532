"""Texts of others on our pages: names, tools, descriptions, results of scripts. They stay texts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.doors.dashboard.bundles.versions import DiffPart, Group
from ammeter.doors.dashboard.playground.pages import RunPart, SearchPart
from ammeter.doors.dashboard.render import Renderer
from ammeter.engines.compiler.diff import Entry
from ammeter.engines.compiler.diff.model import Change
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service, store
from ammeter.features.sources.model import Discovery
from tests.doors.dashboard.people import person
from tests.household import OPERATOR, Household

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}</textarea></title>"
MARKS = ("<script>alert", "<img src=x", "{{7*7}}</textarea>")


def harmless(page: str) -> None:
    assert "alert(1)" in page, "the text is shown"
    for mark in MARKS:
        assert mark not in page, mark
    assert "49" not in page.partition("alert(1)")[2][:60]


def test_names_and_tools_of_a_source_stay_texts(tenant: Household) -> None:
    with tenant.house.db.write() as tx:
        name = HOSTILE[:190]
        slug = f"x{tenant.org.id[:8]}{tenant.org.id[-12:]}"
        source = service.provision_source(tx, OPERATOR, tenant.org.id, name=name, source_slug=slug)
        tool = {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "input_schema": {HOSTILE: HOSTILE}}
        found = Discovery(
            status="succeeded",
            finished_at=now(),
            server_info={"name": HOSTILE, "version": HOSTILE},
            protocol_version=HOSTILE,
            instructions=HOSTILE,
            tools=(tool,),
        )
        store.set_discovery(tx, source.id, found, now())
    with person(tenant, Role.owner) as owner:
        for path in ("/sources", f"/sources/{source.id}", "/bundles", "/bundles/upload", "/settings/keys"):
            harmless(owner.get(path).text)


def test_what_was_typed_comes_back_as_text(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        answer = owner.post("/settings/members", email=HOSTILE, name=HOSTILE, role="viewer")
        assert answer.status_code == 422
        harmless(answer.text)
        harmless(owner.get(f"/settings/members?q={HOSTILE}").text)
        harmless(owner.post("/settings/secrets", name=HOSTILE, value="x").text)
        harmless(owner.get("/settings/audit?page=1&x=" + HOSTILE).text + "alert(1)")


def test_what_a_toast_says_stays_text(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        answer = owner.post("/settings/keys", name=HOSTILE[:150], role="viewer", days="")
        assert answer.status_code == 201
        harmless(answer.text)
        [row] = [
            key
            for key in tenant.call("GET", "/org/keys?pageSize=200").json()["rows"]
            if key["name"].startswith("\"'>")
        ]
        assert owner.post(f"/settings/keys/{row['id']}/revoke").status_code == 303
        harmless(owner.get("/settings/keys").text)


@pytest.mark.parametrize("kind", ["result", "error", "search", "diff"])
def test_results_of_scripts_and_descriptions_stay_texts(kind: str) -> None:
    template, part = _parts()[kind]
    harmless(Renderer().render(template, {"page": part, "shell": _NoShell()}))


class _NoShell:
    proof = ""


def _parts() -> dict[str, tuple[str, Any]]:
    call = {
        "operationId": HOSTILE,
        "method": "GET",
        "path": HOSTILE,
        "status": 200,
        "durationMs": 1.0,
        "outcome": "ok",
        "error": HOSTILE,
    }
    ran = RunPart(
        is_error=False,
        calls=[call],
        logs=[HOSTILE],
        has_result=True,
        result={HOSTILE: [HOSTILE, json.dumps(HOSTILE)]},
        error={},
        remarks=(HOSTILE,),
        duration_ms=1,
        cpu_ms=1,
        files=0,
    )
    error = {"name": HOSTILE, "message": HOSTILE, "hint": HOSTILE, "line": 1, "sourceLine": HOSTILE}
    row = {
        "sdkName": HOSTILE,
        "method": "GET",
        "path": HOSTILE,
        "score": 1.0,
        "summary": HOSTILE,
        "example": f"// {HOSTILE}\nreturn `{HOSTILE}`",
    }
    found = SearchPart(query=HOSTILE, rows=[row], notes=[HOSTILE], is_miss=True, client_name=HOSTILE)
    change = Change(rule="x", level="error", pointer=HOSTILE, message=HOSTILE)
    entry = Entry(operation_id=HOSTILE, method="get", path=HOSTILE, sdk_name=HOSTILE, changes=(change,))
    group = Group(title="Breaks scripts", kind="breaking", entries=(entry,), left_out=0)
    diff = DiffPart(is_active=False, has_active=True, groups=(group,), uses={}, used=0)
    return {
        "result": ("playground/templates/run_part.html", ran),
        "error": ("playground/templates/run_part.html", replace(ran, is_error=True, error=error)),
        "search": ("playground/templates/search_part.html", found),
        "diff": ("bundles/templates/diff_part.html", diff),
    }
