"""Who may come in, to which source, and what they may do there."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.base.ids import new_id
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from tests.doors.hosted.visitor import Visitor, serve
from tests.doors.uploading import make_publisher
from tests.household import OPERATOR, make_household
from tests.upstream import Upstream

READ = "return (await client.echo.getThing({ id: 'a', 'X-Api-Key': 'k' })).method"


def told(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["data"]["code"]


@pytest.mark.parametrize("token", ["", "amt_aaaaaaaaaaaa_" + "b" * 48, "Bearer", "x" * 5_000])
def test_a_bad_key_is_told_nothing(visitor: Visitor, token: str) -> None:
    answer = visitor.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, token=token)
    assert told(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_key_is_refused_on_the_next_request(visitor: Visitor) -> None:
    house, org = visitor.household.house, visitor.household.org
    with house.db.write() as tx:
        key, token = keys.mint_key(tx, OPERATOR, org.id, name="short", role=Role.editor)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert visitor.post(message, token=token).status_code == 200
    with house.db.write() as tx:
        keys.revoke_key(tx, OPERATOR, org.id, key.id)
    assert told(visitor.post(message, token=token)) == (401, "unauthenticated")


def test_what_is_not_there_or_not_theirs_looks_alike(visitor: Visitor) -> None:
    house = visitor.household.house
    stranger = make_household(house, visitor.household.client, slug=f"org-{new_id()}")
    with house.db.write() as tx:
        service.set_features(tx, OPERATOR, stranger.org, code_mode=True)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    foreign = visitor.post(message, token=stranger.tokens[Role.owner])
    assert told(foreign) == (404, "not_found")
    for slug in ("nope", "NOPE", "a" * 200, "..%2f..", "x/y", "", "%00"):
        headers = {"authorization": f"Bearer {visitor.household.tokens[Role.owner]}"}
        answer = visitor.household.client.post(f"/product-mcp/{slug}", json=message, headers=headers)
        assert answer.status_code == 404, slug


def test_a_key_for_another_source_does_not_see_this_one(visitor: Visitor) -> None:
    house, org = visitor.household.house, visitor.household.org
    with house.db.write() as tx:
        other = sources.provision_source(
            tx, OPERATOR, org.id, name="Other", source_slug=f"o-{new_id()[-12:]}"
        )
        _, token = keys.mint_key(tx, OPERATOR, org.id, name="x", role=Role.owner, source_ids=[other.id])
    assert told(visitor.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, token=token)) == (
        404,
        "not_found",
    )


def test_environments_without_a_bundle_and_sources_without_code_mode_say_so(visitor: Visitor) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = visitor.post(ping, "?environment=staging")
    assert told(answer) == (404, "not_found")
    assert "'staging'" in answer.json()["error"]["message"]
    assert "promote" in answer.json()["error"]["message"]
    assert visitor.post(ping, "?environment=NOT%20ONE").status_code == 404
    house = visitor.household.house
    other = make_household(house, visitor.household.client, slug=f"org-{new_id()}")
    publisher = make_publisher(other)
    with house.db.write() as tx:
        service.set_features(tx, OPERATOR, other.org, code_mode=False)
    answer = Visitor(other, publisher, publisher.slug).post(ping)
    assert told(answer) == (403, "feature_disabled")


def test_a_viewer_searches_and_runs_scripts_only_where_the_source_says_so(visitor: Visitor) -> None:
    viewer = visitor.as_role(Role.viewer)
    assert viewer.tool("search_sdk", {"query": "thing"})["structuredContent"]["results"]
    refused = viewer.run("return 1")
    assert refused["error"]["name"] == "insufficient_role"
    assert "editor" in refused["error"]["message"]
    assert viewer.events(1, outcome="refused")[0]["kind"] == "script"
    house, org = visitor.household.house, visitor.household.org
    with house.db.write() as tx:
        sources.set_policy(tx, OPERATOR, org.id, visitor.slug, viewers_may_execute=True)
    assert viewer.run("return 1")["result"] == 1
    with house.db.write() as tx:
        sources.set_policy(tx, OPERATOR, org.id, visitor.slug, viewers_may_execute=False)
    assert visitor.as_role(Role.editor).run("return 1")["result"] == 1


def test_read_mode_refuses_writes_on_the_host(visitor: Visitor, upstream: Upstream) -> None:
    write = "return await client.echo.postThing({ id: 'a', name: 'x' })"
    refused = visitor.run(write, "?mode=read")
    assert refused["calls"][0]["outcome"] == "refused"
    assert "read-only" in refused["error"]["message"] + refused["error"]["hint"]
    assert not upstream.seen
    assert visitor.run(READ, "?mode=read")["result"] == "GET"
    assert visitor.run(write)["calls"][0]["status"] == 200


def test_the_manifest_denies_by_name_and_may_make_the_whole_source_read_only(
    visitor: Visitor, upstream: Upstream
) -> None:
    house, client = visitor.household.house, visitor.household.client
    strict = serve(
        house, client, upstream, policy={"deny": ["deleteThing", "echo.getPart"], "readOnly": False}
    )
    assert strict.run("return await client.echo.deleteThing({ id: '1' })")["calls"][0]["outcome"] == "refused"
    read_only = serve(house, client, upstream, policy={"readOnly": True})
    assert (
        read_only.run("return await client.echo.deleteThing({ id: '1' })")["calls"][0]["outcome"] == "refused"
    )
    assert "read-only" in read_only.ask_modern("server/discover").json()["result"]["instructions"]
    assert not upstream.seen
