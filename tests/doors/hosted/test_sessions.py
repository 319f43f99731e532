"""Sessions at the endpoint: told by header, handle, trace or key; events of one session stay together,
also over a restart and on another node."""

from __future__ import annotations

from ammeter.base.ids import new_id
from ammeter.wiring import House
from tests.doors.hosted.test_protocol import INITIALIZE
from tests.doors.hosted.visitor import META, Visitor, serve
from tests.household import Household, make_client, opened_house
from tests.upstream import Upstream

HEADERED = "/** @intent {} \n * @context testing\n * @frustration_level 7/10 */ return 1"


def test_the_header_joins_all_events_of_a_session(visitor: Visitor) -> None:
    begun = visitor.ask("initialize", INITIALIZE)
    session = begun.headers["mcp-session-id"]
    visitor.tool("search_sdk", {"query": "list pages"}, mcp_session_id=session)
    visitor.run(HEADERED.format("count pages"), mcp_session_id=session)
    session_id = session.partition(".")[0]
    events = visitor.events(3, session_id=session_id)
    assert [event["kind"] for event in events] == ["initialize", "search", "script"]
    assert [event["session_source"] for event in events] == ["new", "header", "header"]
    assert {(event["client_name"], event["client_version"]) for event in events} == {("tests", "1")}
    script = events[2]
    assert (script["intent"], script["context"], script["frustration"]) == ("count pages", "testing", 7)
    assert script["bundle_id"]
    assert script["request_id"]
    assert script["duration_ms"] >= 0


def test_a_session_of_nobody_is_a_new_one(visitor: Visitor) -> None:
    for header in ("nope", "01a1dd54-7c8c-7f66-8000-000000000000.xx", "x" * 5_000):
        assert visitor.tool("search_sdk", {"query": "x"}, mcp_session_id=header)["content"]


def test_a_stateless_client_is_known_by_its_handle(visitor: Visitor) -> None:
    own = {META + "clientInfo": {"name": f"client {new_id()}", "version": "1"}}
    first = visitor.ask_modern("server/discover", {"_meta": own}).json()["result"]["_meta"]["ammeter/session"]
    script = {"code": f"/** @session {first} */ return 1"}
    for params in (
        {"name": "execute_script", "arguments": script},
        {"name": "search_sdk", "arguments": {"query": "x"}, "_meta": {"ammeter/session": first}},
        {"name": "search_sdk", "arguments": {"query": "x"}, "_meta": own},
    ):
        answer = visitor.ask_modern("tools/call", params)
        assert answer.json()["result"]["_meta"]["ammeter/session"] == first
    events = visitor.events(4, session_id=first.partition(".")[0])
    assert [event["session_source"] for event in events] == ["new", "handle", "handle", "recent"]


def test_a_trace_joins_requests(visitor: Visitor) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    call = {"name": "search_sdk", "arguments": {"query": "x"}}
    handles = {
        visitor.ask_modern("tools/call", call, traceparent=trace).json()["result"]["_meta"]["ammeter/session"]
        for _ in range(2)
    }
    assert len(handles) == 1
    session_id = handles.pop().partition(".")[0]
    assert {event["session_source"] for event in visitor.events(2, session_id=session_id)} == {"traceparent"}


def test_the_header_of_scripts_is_asked_for_once_a_session(visitor: Visitor) -> None:
    session = visitor.ask("initialize", INITIALIZE).headers["mcp-session-id"]
    assert "@intent" in visitor.run("return 1", mcp_session_id=session)["diagnostics"][0]
    assert "diagnostics" not in visitor.run("return 1", mcp_session_id=session)
    other = visitor.ask("initialize", INITIALIZE).headers["mcp-session-id"]
    assert "diagnostics" not in visitor.run(HEADERED.format("x"), mcp_session_id=other)


def test_tags_of_the_manifest_are_recorded(visitor: Visitor, upstream: Upstream) -> None:
    tags = {"team": "header:X-Team", "kind": "static:shop", "ticket": "jsdoc:ticket", "none": "header:X-None"}
    tagged = serve(visitor.household.house, visitor.household.client, upstream, analyticsTags=tags)
    tagged.run("/** @intent x\n * @ticket T-1 */ return 1", x_team="blue")
    assert tagged.events(1, kind="script")[0]["tags"] == {"team": "blue", "kind": "shop", "ticket": "T-1"}


def test_a_session_goes_on_after_a_restart_and_on_another_node(
    visitor: Visitor, hosting_house: House, upstream: Upstream
) -> None:
    session = visitor.ask("initialize", INITIALIZE).headers["mcp-session-id"]
    visitor.run("return 1", mcp_session_id=session)
    # Who the client is, the other node learns from what this one has stored.
    visitor.events(2, session_id=session.partition(".")[0])
    with opened_house(hosting_house.settings) as second, make_client(second) as client:
        known = visitor.household
        there = Household(house=second, org=known.org, tokens=known.tokens, client=client)
        moved = Visitor(there, visitor.publisher, visitor.slug)
        assert moved.run("return await client.pages.listPages({ page: 1 })", mcp_session_id=session)["calls"]
    events = visitor.events(3, session_id=session.partition(".")[0])
    assert [event["kind"] for event in events] == ["initialize", "script", "script"]
    assert {event["client_name"] for event in events} == {"tests"}


def test_a_promotion_holds_at_the_next_request(visitor: Visitor, upstream: Upstream) -> None:
    moving = serve(visitor.household.house, visitor.household.client, upstream)
    before = moving.publisher.upload(
        openapi={
            "openapi": "3.0.3",
            "info": {"title": "Other", "version": "2"},
            "servers": [{"url": upstream.url}],
            "paths": {
                "/nothing": {"delete": {"operationId": "drop", "responses": {"200": {"description": "x"}}}}
            },
        },
        promote=True,
    )
    assert moving.run("return Object.keys(client).length")["result"] == 1
    moving.publisher.call("POST", f"/{before['rollback']['previousBundleId']}/promote")
    assert moving.run("return Object.keys(client).length")["result"] > 5
