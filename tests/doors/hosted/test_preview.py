"""A bundle that is stored and not promoted: who may look at it, and which stored scripts it would break."""

from __future__ import annotations

from typing import Any

from ammeter.features.orgs.model import Role
from tests.doors.hosted.visitor import Visitor, description
from tests.features.gateway.shop import BEARER
from tests.upstream import Upstream

PAGES = "/** @intent read pages */ return (await client.pages.listPages({ page: 1 })).length"


def without_pages(visitor: Visitor, upstream: Upstream) -> dict[str, Any]:
    spec = description(upstream)
    spec["paths"] = {path: item for path, item in spec["paths"].items() if path != "/pages"}
    return visitor.publisher.upload(openapi=spec, manifest={"auth": BEARER})


def test_a_stored_bundle_is_previewed_by_those_who_may_promote_it(
    visitor: Visitor, upstream: Upstream
) -> None:
    stored = without_pages(visitor, upstream)
    assert stored["bundle"]["status"] == "generated"
    query = f"?bundle={stored['bundleId']}"
    for role in (Role.admin, Role.owner):
        there = visitor.as_role(role).run(PAGES, query)
        assert (there["calls"], "pages" in there["error"]["message"]) == ([], True)
    assert visitor.run(PAGES)["calls"]
    for role in (Role.viewer, Role.editor):
        refused = visitor.as_role(role).ask("tools/list", query=query)
        assert refused.status_code == 403
        assert "takes the role admin or above" in refused.json()["error"]["message"]
    for wrong in ("none", "01a1de8e-97c0-7025-a03c-d947526d724e"):
        assert visitor.ask("tools/list", query=f"?bundle={wrong}").status_code == 404


def test_an_upload_names_the_stored_scripts_that_would_break(visitor: Visitor, upstream: Upstream) -> None:
    for code in (PAGES, PAGES, "return 1 // calls nothing"):
        visitor.run(code)
    visitor.events(2, code=PAGES)
    stored = without_pages(visitor, upstream)
    [script] = [each for each in stored["brokenScripts"] if each["code"] == PAGES]
    assert (script["intent"], script["runs"] >= 2) == ("read pages", True)
    [operation] = script["operations"]
    assert (operation["operationId"], operation["sdkName"]) == ("listPages", "pages.listPages")
    assert "removed" in operation["messages"][0].lower()
    assert all("calls nothing" not in (each["code"] or "") for each in stored["brokenScripts"])
    read = visitor.publisher.call("GET", f"/{stored['bundleId']}").json()
    assert [each["eventId"] for each in read["brokenScripts"]] == [
        each["eventId"] for each in stored["brokenScripts"]
    ]
