"""What holds for every view: strangers, roles, forms of other sites, frames, what a page may load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from ammeter.base.ids import new_id
from ammeter.doors.dashboard.areas import AREAS
from ammeter.doors.dashboard.site import View
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.people import HTML, add_person, person, proof_in, visiting
from tests.household import API, Household

VIEWS = [view for area in AREAS for view in area.views]
POSTS = [view for view in VIEWS if view.method == "POST"]


def address(view: View) -> str:
    return re.sub(r"\{\w+\}", new_id(), view.path)


def name(view: View) -> str:
    return f"{view.method} {view.path}"


def beneath(view: View) -> Iterator[Role]:
    return (role for role in Role if role < view.role)


def test_no_stranger_sees_or_changes_anything(tenant: Household) -> None:
    with visiting(tenant, "nobody@example.com") as stranger:
        for view in VIEWS:
            answer = stranger.client.request(view.method, address(view), headers=HTML, follow_redirects=False)
            assert answer.status_code == 303, name(view)
            assert answer.headers["location"].startswith("/sign-in"), name(view)


def test_a_form_without_its_proof_changes_nothing(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        other = proof_in(owner.client.get("/settings", headers=HTML).text)
        with visiting(tenant, add_person(tenant, Role.owner)) as somebody_else:
            somebody_else.sign_in()
            foreign = proof_in(somebody_else.get("/settings").text)
        for view in [*POSTS]:
            path = address(view)
            for proof in ("", "00" * 32, "no hex", foreign):
                answer = owner.client.post(path, data={"proof": proof}, headers=HTML, follow_redirects=False)
                assert answer.status_code == 403, (name(view), proof)
                assert "was not sent from a page of this server" in answer.text
            abroad = HTML | {"sec-fetch-site": "cross-site"}
            answer = owner.client.post(path, data={"proof": other}, headers=abroad, follow_redirects=False)
            assert answer.status_code == 403, name(view)
        for path in ("/sign-out", "/organization"):
            answer = owner.client.post(path, data={"proof": ""}, headers=HTML, follow_redirects=False)
            assert answer.status_code == 403, path
        assert owner.get("/settings").status_code == 200


@pytest.mark.parametrize("role", [Role.viewer, Role.editor, Role.admin])
def test_what_a_role_may_not_do_is_refused(tenant: Household, role: Role) -> None:
    with person(tenant, role) as somebody:
        for view in (view for view in VIEWS if view.role > role):
            path = address(view)
            answer = somebody.get(path) if view.method == "GET" else somebody.post(path)
            assert answer.status_code == 403, name(view)
            assert f"takes the role {view.role.name} or above" in answer.text, name(view)


def test_what_a_viewer_may_not_do_is_not_offered(tenant: Household) -> None:
    with person(tenant, Role.viewer) as viewer:
        offered: set[str] = set()
        for path in (
            "/settings",
            "/settings/members",
            "/settings/features",
            "/sources",
            "/bundles",
            "/start",
        ):
            page = viewer.get(path)
            assert page.status_code == 200, path
            offered |= set(re.findall(r'(?:action|href)="(/[^"?]*)', page.text))
        refused = {view.path for view in VIEWS if view.role > Role.viewer}
        kept = {view.path for view in VIEWS if view.role == Role.viewer}
        assert not (offered & refused) - kept


def test_no_page_can_be_framed_or_load_from_elsewhere(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        for path in ("/sign-in", "/settings", "/sources", "/nowhere", "/settings/keys?page=x"):
            answer = owner.get(path)
            if answer.status_code == 303:
                continue
            policy = dict(
                part.strip().partition(" ")[::2]
                for part in answer.headers["content-security-policy"].split(";")
            )
            assert policy["frame-ancestors"] == "'none'"
            assert policy["default-src"] == "'none'"
            assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
            assert policy["base-uri"] == "'none'"
            assert policy["form-action"] == "'self'"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] == "no-store"
            inline = re.findall(
                r"<style|\sstyle=|\son\w+=|<script(?! src=| type=\"application/json\")", answer.text
            )
            assert inline == [], path
            assert re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.text) == [], path


def test_the_dashboard_stands_in_front_of_no_other_door(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        for path in (f"{API}/org", "/product-mcp/x", "/api/openapi-artifacts", "/healthz", "/readyz"):
            answer = owner.get(path, accept="application/json")
            assert answer.headers["content-type"].startswith("application/json"), path
        # A session is for pages; programs bring keys.
        assert owner.get(f"{API}/org", accept="application/json").status_code == 401
        assert owner.get("/nowhere").headers["content-type"].startswith("text/html")
        assert owner.get("/nowhere", accept="*/*").headers["content-type"] == "application/json"
    taken = ("/api", "/product-mcp", "/mcp", "/healthz", "/readyz", "/metrics", "/demo-api")
    assert [view.path for view in VIEWS if view.path.startswith(taken)] == []


def test_assets_are_kept_for_ever_and_compressed(tenant: Household) -> None:
    with visiting(tenant, "nobody@example.com") as stranger:
        page = stranger.get("/sign-in").text
        addresses = re.findall(r'"(/assets/[^"]+)"', page)
        assert len(addresses) >= 4
        for path in addresses:
            answer = stranger.client.get(path)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["content-encoding"] == "gzip"
            again = stranger.client.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert again.status_code == 304
        assert stranger.get("/assets/../app.py").status_code == 404
        assert stranger.get("/assets/ammeter.0000000000000000.css").status_code == 404


ODD = ["\0", "'", "%", "\xed\xa0\x80", "x" * 9_000]


@pytest.mark.parametrize("odd", ODD, ids=["NUL", "quote", "percent", "surrogate", "long"])
def test_no_odd_text_breaks_a_page(tenant: Household, odd: str) -> None:
    with person(tenant, Role.owner) as owner:
        proof = proof_in(owner.get("/settings").text)
        for view in VIEWS:
            path = re.sub(r"\{\w+\}", lambda _: quote(odd, safe=""), view.path)
            params = dict.fromkeys(("q", "sort", "page", "source", "environment", "range", "state"), odd)
            if view.method == "GET":
                answer = owner.client.get(path, params=params, headers=HTML, follow_redirects=False)
            else:
                fields = {"proof": proof} | dict.fromkeys(("name", "slug", "email", "role", "source"), odd)
                answer = owner.client.post(path, data=fields, headers=HTML, follow_redirects=False)
            assert answer.status_code < 500, (name(view), answer.text[-600:])


def test_a_form_that_is_none_is_refused_in_words(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        broken = HTML | {"content-type": "multipart/form-data; boundary=x"}
        nameless = b"--x\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n--x--\r\n"
        answer = owner.client.post("/settings/secrets", content=nameless, headers=broken)
        assert answer.status_code == 422
        assert "cannot be read" in answer.text
