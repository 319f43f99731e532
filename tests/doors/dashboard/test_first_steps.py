"""A new organization from nothing to a served API, page by page; then bundles and the playground."""

from __future__ import annotations

import re
from typing import Any

from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.people import HTML, Person, person, proof_in
from tests.household import OPERATOR, Household

SPEC = """
openapi: 3.0.3
info: {title: Ferries, version: "1"}
servers: [{url: "https://ferries.example"}]
paths:
  /ferries:
    get: {operationId: listFerries, summary: List ferries, responses: {"200": {description: ok}}}
  /ferries/{id}:
    get:
      operationId: getFerry
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""


def test_a_new_organization_is_led_to_a_served_api(tenant: Household) -> None:
    slug = f"f{tenant.org.id.replace('-', '')[-20:]}"
    with person(tenant, Role.owner) as owner, person(tenant, Role.viewer) as viewer:
        assert owner.get("/").headers["location"] == "/start"
        assert "Code mode is off" in owner.get("/start").text
        _switch_on(tenant)
        assert 'action="/start"' in owner.get("/start").text
        assert 'action="/start"' not in viewer.get("/start").text

        broken = _upload(owner, "/start", name="Ferries", slug=slug, text="openapi: 3.0.3\npaths: 7")
        assert broken.status_code == 422
        assert "No bundle was made" in broken.text
        done = _upload(owner, "/start", name="Ferries", slug=slug, text=SPEC)
        assert (done.status_code, done.headers["location"]) == (303, "/start")

        page = owner.get("/start").text
        assert "2 operations" in page
        assert "Promote to production" not in viewer.get("/start").text
        bundle_id = _found(r"/bundles/([0-9a-f-]{36})/promote", page)
        promoted = owner.post(f"/bundles/{bundle_id}/promote", back="start")
        assert promoted.headers["location"] == "/start"
        page = owner.get("/start").text
        assert f"/product-mcp/{slug}" in page
        assert "Waiting for the first agent" in page
        assert 'hx-trigger="every 3s"' in owner.get("/start/agent").text
        assert owner.get("/").headers["location"] != "/start"


def test_a_second_bundle_is_compared_promoted_and_rolled_back(tenant: Household) -> None:
    _switch_on(tenant)
    slug = f"f{tenant.org.id.replace('-', '')[-20:]}"
    with person(tenant, Role.owner) as owner:
        _upload(owner, "/start", name="Ferries", slug=slug, text=SPEC)
        first = _found(r"/bundles/([0-9a-f-]{36})/promote", owner.get("/start").text)
        owner.post(f"/bundles/{first}/promote")
        changed = SPEC.replace("/ferries/{id}", "/boats/{id}").replace("getFerry", "getBoat")
        answer = _upload(owner, "/bundles/upload", source=slug, environment="production", text=changed)
        second = _found(r"/bundles/([0-9a-f-]{36})", answer.headers["location"])
        diff = owner.get(f"/bundles/{second}/diff").text
        assert "Breaks scripts" in diff
        assert "None of them was used in the last 30 days" in diff
        assert "/boats/{id}" in diff
        assert owner.post(f"/bundles/{second}/promote").status_code == 303
        assert "served in production" in owner.get(f"/bundles/{second}").text
        listed = owner.get(f"/bundles?source={slug}").text
        assert f'action="/bundles/{first}/promote"' in listed, "the roll-back"
        assert owner.post(f"/bundles/{first}/promote").status_code == 303
        assert "served in production" in owner.get(f"/bundles/{first}").text
        # What is served is searched, by those who may not run scripts too.
        with person(tenant, Role.viewer) as viewer:
            found = viewer.post(
                "/playground/search", slug=slug, environment="production", query="list ferries"
            )
            assert "listFerries" in found.text
            assert viewer.post("/playground/run", slug=slug, code="return 1").status_code == 403
        ran = owner.post("/playground/run", slug=slug, code="return 6 * 7")
        assert re.search(r'id="result"><code><span class="mi">42</span>', ran.text), ran.text
        assert "playground.run" in owner.get("/settings/audit").text


def test_what_is_not_there_or_not_theirs_is_not_found(tenant: Household, neighbour: Household) -> None:
    _switch_on(neighbour)
    slug = f"n{neighbour.org.id.replace('-', '')[-20:]}"
    with person(neighbour, Role.owner) as other:
        _upload(other, "/start", name="Theirs", slug=slug, text=SPEC)
        bundle = _found(r"/bundles/([0-9a-f-]{36})/promote", other.get("/start").text)
        source = _found(r"/sources/([0-9a-f-]{36})", other.get("/sources").text)
    with person(tenant, Role.owner) as owner:
        for path in (f"/bundles/{bundle}", f"/bundles/{bundle}/diff", f"/sources/{source}", "/bundles/x"):
            assert owner.get(path).status_code == 404, path
        for path in (f"/bundles/{bundle}/promote", f"/sources/{source}", f"/sources/{source}/archive"):
            assert owner.post(path, name="x").status_code == 404, path
        assert owner.post("/playground/search", slug=slug, query="x").status_code == 404
        assert owner.get(f"/bundles?source={slug}").status_code == 404
        assert "Theirs" not in owner.get("/sources").text


def _switch_on(tenant: Household) -> None:
    with tenant.house.db.write() as tx:
        service.set_features(tx, OPERATOR, tenant.org, code_mode=True)


def _upload(somebody: Person, path: str, *, text: str, **fields: str) -> Any:
    """A file, as browsers send it."""
    proof = proof_in(somebody.get("/settings").text)
    return somebody.client.post(
        path,
        data={"proof": proof} | fields,
        files={"file": ("openapi.yaml", text.encode(), "application/yaml")},
        headers=HTML,
        follow_redirects=False,
    )


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, text
    return found[1]
