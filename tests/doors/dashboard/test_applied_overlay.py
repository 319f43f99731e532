"""From a failed search to a bundle in which it finds: the overlay is applied to what is served, in pages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from importlib.resources import files
from typing import Any

import pytest

from ammeter.engines.compiler.bundle import Given
from ammeter.features.bundles import service as bundles
from ammeter.features.bundles.artifacts import find_given
from ammeter.features.insights.topic_model import Cluster
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from tests.doors.dashboard.analysed import TURNOVER, Analysed, switched_on, with_refunds
from tests.doors.dashboard.people import HTML, Person, person, proof_in
from tests.features.insights.stories import script, search, teller
from tests.household import OPERATOR, Household

OVERLAY = {
    "overlay": "1.1.0",
    "info": {"title": "Ours", "version": "7"},
    "actions": [{"target": "$.paths['/books'].get", "update": {"x-kept": True, "summary": "Browse tomes"}}],
}


@dataclass(frozen=True, slots=True)
class Shop:
    """Served with an overlay and a manifest of its own; agents looked for its sales under another word."""

    made: Analysed
    source_id: str
    slug: str

    @property
    def household(self) -> Household:
        return self.made.household

    def cluster(self) -> Cluster:
        [found] = [each for each in self.made.clusters() if each.gap_kind == "alias"]
        return found

    def given(self, bundle_id: str = "") -> Given:
        house = self.household.house
        with house.db.read() as tx:
            if bundle_id:
                bundle = bundles.get_bundle(tx, self.household.org.id, bundle_id)
            else:
                served = bundles.find_active(tx, self.source_id, "production")
                assert served is not None
                bundle = served
        found = find_given(house.blobs, bundle)
        assert found is not None
        return found


@pytest.fixture
def shop(tenant: Household) -> Shop:
    household = switched_on(tenant)
    slug = f"s{tenant.org.id.replace('-', '')[-20:]}"
    with tenant.house.db.write() as tx:
        service.set_features(tx, OPERATOR, household.org, code_mode=True)
        source = sources.provision_source(tx, OPERATOR, tenant.org.id, name="Books", source_slug=slug)
    with person(tenant, Role.admin) as admin:
        sent = _send(
            admin,
            description=(files("ammeter.doors.demo_api") / "openapi.yaml").read_text(),
            source=slug,
            overlay=json.dumps(OVERLAY),
            manifest=json.dumps({"clientName": "tomes", "baseUrl": "https://books.example"}),
            promote="yes",
        )
        assert sent.status_code == 303, sent.text
    told = teller(tenant.house.db, tenant.org.id, source.id)
    for query in TURNOVER:
        told.session(
            search(query),
            search("sales", "getSalesReport"),
            script("Tell the sales of a quarter", "getSalesReport", code="return 1;"),
        )
    made = Analysed(household, told)
    made.refresh()
    return Shop(made, source.id, slug)


def test_a_failed_search_becomes_a_bundle_in_which_it_finds(tenant: Household, shop: Shop) -> None:
    cluster, before = shop.cluster(), shop.given()
    with person(tenant, Role.admin) as admin:
        assert "getSalesReport" not in _found(admin, shop)
        page = admin.get(f"/failed-searches/{cluster.id}").text
        path = unescape(re.findall(r'href="(/bundles/upload\?overlay=[^"]+)"', page)[0])
        form = admin.get(path)
        assert "It stands after the overlay that the served bundle was made with." in form.text
        fields = _fields(form.text)
        assert fields["source"] == shop.source_id
        assert len(form.text) < 40_000, "the description itself does not travel"
        assert [action["target"] for action in json.loads(fields["overlay"])["actions"]] == [
            "$.paths['/books'].get",
            "$.paths['/reports/sales'].get",
        ]

        done = _send(admin, **fields)
        assert done.status_code == 303, done.text
        bundle = done.headers["location"]
        assert "Promote" in admin.get(bundle).text
        assert "getSalesReport" not in _found(admin, shop), "nothing is served before it is promoted"
        assert admin.post(f"{bundle}/promote").status_code == 303
        assert "getSalesReport" in _found(admin, shop)

    after = shop.given()
    assert json.dumps(after.openapi) == json.dumps(before.openapi), "in the same order too"
    assert after.manifest == before.manifest
    assert after.overlay is not None
    assert after.overlay["actions"][0] == OVERLAY["actions"][0]  # type: ignore[index]
    assert after.overlay["info"] == OVERLAY["info"]
    # Judged anew, there is nothing left to propose for these searches.
    shop.made.refresh()
    assert [each for each in shop.made.clusters() if each.suggestion.overlay] == []


def test_a_form_with_something_wrong_keeps_what_it_was_given(tenant: Household, shop: Shop) -> None:
    path = f"/bundles/upload?overlay={shop.cluster().id}"
    with person(tenant, Role.editor) as editor:
        fields = _fields(editor.get(path).text)
        broken = _send(editor, **fields | {"overlay": '{"overlay": "9.9"}'})
        assert broken.status_code == 422
        assert "No bundle was made" in broken.text
        again = _fields(broken.text)
        assert again["keeps"] == fields["keeps"]
        assert again["manifest"] == fields["manifest"]
        # Whoever gives a description means that one.
        other = (
            'openapi: 3.0.3\ninfo: {title: x, version: "1"}\nservers: [{url: "https://x.example"}]\npaths: 7'
        )
        assert _send(editor, description=other, **fields).status_code == 422
        assert _send(editor, **fields).status_code == 303


def test_the_description_is_kept_for_its_own_source_and_organization(
    tenant: Household, neighbour: Household, shop: Shop
) -> None:
    with person(tenant, Role.owner) as owner:
        fields = _fields(owner.get(f"/bundles/upload?overlay={shop.cluster().id}").text)
        with tenant.house.db.write() as tx:
            other = sources.provision_source(
                tx, OPERATOR, tenant.org.id, name="Other", source_slug=f"o{shop.slug[1:]}"
            )
        refused = _send(owner, **fields | {"source": other.id})
        assert refused.status_code == 422
        assert "Another source needs its own description" in refused.text
    with tenant.house.db.write() as tx:
        service.set_features(tx, OPERATOR, neighbour.org, code_mode=True, mcp_analytics=True)
    with person(neighbour, Role.owner) as stranger:
        assert stranger.get(f"/bundles/upload?overlay={shop.cluster().id}").status_code == 404
        assert _send(stranger, **fields).status_code == 404
        assert stranger.get("/bundles/upload?overlay=x").status_code == 404
    with person(tenant, Role.viewer) as viewer:
        assert viewer.get(f"/bundles/upload?overlay={shop.cluster().id}").status_code == 403


def test_where_the_description_is_not_kept_it_is_asked_for(tenant: Household) -> None:
    """As with a bundle of before, or one that only just fits."""
    made = with_refunds(tenant)
    [cluster] = [each for each in made.clusters() if each.gap_kind == "alias"]
    [bare] = [each for each in made.clusters() if each.suggestion.overlay is None]
    with tenant.house.db.write() as tx:
        sources.provision_source(tx, OPERATOR, tenant.org.id, name="B", source_slug=f"b{new_slug(tenant)}")
    with person(tenant, Role.editor) as editor:
        page = editor.get(f"/bundles/upload?overlay={cluster.id}")
        assert "The description of the served bundle is not kept with it: choose it below." in page.text
        assert "Also known as" in _fields(page.text)["overlay"]
        assert editor.get(f"/bundles/upload?overlay={bare.id}").status_code == 404


def new_slug(tenant: Household) -> str:
    return tenant.org.id.replace("-", "")[-20:]


def _found(somebody: Person, shop: Shop) -> str:
    """What the playground finds for the words that agents used, first of all."""
    answer = somebody.post("/playground/search", slug=shop.slug, environment="production", query="turnover")
    assert answer.status_code == 200
    return "".join(re.findall(r"<article.*?</article>", answer.text, re.DOTALL)[:1])


def _fields(page: str) -> dict[str, str]:
    """What a browser would send of the upload form."""
    form = page.partition('action="/bundles/upload"')[2].partition("</form>")[0]
    areas = re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
    inputs = re.findall(r'<input[^>]* name="(\w+)"[^>]* value="([^"]*)"', form)
    chosen = re.search(r'<option value="([^"]+)" selected', form)
    sent = {name: unescape(value) for name, value in [*areas, *inputs] if name not in ("proof", "promote")}
    return sent | ({"source": chosen[1]} if chosen else {})


def _send(somebody: Person, *, description: str = "", **fields: str) -> Any:
    proof = proof_in(somebody.get("/settings").text)
    given = {"files": {"file": ("a.yaml", description.encode(), "application/yaml")}} if description else {}
    return somebody.client.post(
        "/bundles/upload",
        data={"proof": proof} | fields,
        headers=HTML,
        follow_redirects=False,
        **given,  # type: ignore[arg-type]
    )
