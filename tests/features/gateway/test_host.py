"""The host behind a script's calls: what it lets through, what it attaches, what it writes down."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from ammeter.engines.sandbox.port import HostError
from ammeter.features.gateway.host import ApiHost
from ammeter.features.gateway.served import served_api
from tests.features.gateway.shop import BEARER, Known, compiled, served, with_host
from tests.upstream import CLIENT_SECRET, PASSWORD, ROWS, TOKEN, USER, Upstream, running_upstream

HEADER = {"type": "header", "headerName": "X-Api-Key", "secretRef": "secret:TOKEN"}
QUERY = {"type": "query", "queryName": "api_key", "secretRef": "secret:TOKEN"}
BASIC = {"type": "basic", "usernameRef": "secret:USER", "secretRef": "secret:PASSWORD"}


@pytest.fixture
def upstream(_one: Upstream) -> Upstream:
    for part in (_one.seen, _one.tokens, _one.live_tokens):
        part.clear()
    _one.release.clear()
    _one.redirect_to = ""
    return _one


@pytest.fixture(scope="module")
def _one() -> Any:
    with running_upstream() as running:
        yield running


def oauth(upstream: Upstream) -> dict[str, Any]:
    return {
        "type": "oauth2_client_credentials",
        "tokenUrl": f"{upstream.origin}/token",
        "clientIdRef": "secret:CLIENT",
        "secretRef": "secret:CLIENT_SECRET",
    }


def call(upstream: Upstream, operation_id: str, arguments: Any = None, **given: Any) -> tuple[Any, ApiHost]:
    async def one(host: ApiHost) -> tuple[Any, ApiHost]:
        return await host.call(operation_id, arguments), host

    return with_host(upstream, one, **given)


def refusal(upstream: Upstream, operation_id: str, arguments: Any = None, **given: Any) -> tuple[str, str]:
    answer, host = call(upstream, operation_id, arguments, **given)
    assert isinstance(answer, HostError), answer
    (made,) = host.calls
    assert (made.outcome, made.status, made.error) == ("refused", None, answer.message)
    assert upstream.seen == []
    return answer.name, answer.message


def test_every_kind_of_credentials(upstream: Upstream) -> None:
    kinds = {
        "bearer": (BEARER, {TOKEN}),
        "header": (HEADER, {TOKEN}),
        "query": (QUERY, {TOKEN}),
        "basic": (BASIC, {USER, PASSWORD}),
        "oauth": (oauth(upstream), {CLIENT_SECRET, "at-1-" + "x" * 24}),
    }
    for kind, (auth, values) in kinds.items():
        answer, host = call(upstream, "getPrivate", {"kind": kind}, auth=auth)
        assert answer["body"]["ok"] is True, kind
        assert values <= host.injected
        assert not any(value in str(answer) for value in host.injected), kind


def test_a_credential_in_an_error_is_not_seen_either(upstream: Upstream) -> None:
    answer, host = call(upstream, "getPrivate", {"kind": "header"}, auth=BEARER)
    assert answer["fault"]["message"] == (
        "GET /private/{kind} answered 401: not Bearer [redacted:known_value]"
    )
    assert host.calls[0].secret_stripped
    assert TOKEN not in str(host.calls)


def test_credentials_are_opened_once_for_many_calls(upstream: Upstream) -> None:
    known = Known()

    async def many(host: ApiHost) -> None:
        await asyncio.gather(*(host.call("getPart", {"a": "x", "b": n}) for n in range(10)))

    with_host(upstream, many, auth=BASIC, credentials=known)
    assert known.asked == ["secret:USER", "secret:PASSWORD"]


def test_a_credential_that_is_missing_sends_nothing(upstream: Upstream) -> None:
    answer, host = call(upstream, "getPart", {"a": "x", "b": 1}, auth=BEARER, credentials=Known({}))
    assert answer["fault"]["code"] == "credentials"
    assert "There is no secret:TOKEN." in answer["fault"]["message"]
    assert (host.calls[0].outcome, upstream.seen) == ("refused", [])


def test_no_credentials_are_opened_for_a_call_that_is_refused(upstream: Upstream) -> None:
    known = Known()
    refusal(upstream, "getPart", {"a": "x"}, auth=BEARER, credentials=known)
    assert known.asked == []


@pytest.mark.parametrize(
    ("operation_id", "arguments", "words"),
    [
        ("getThings", {}, "There is no operation 'getThings'. Did you mean \"getThing\"?"),
        ("__proto__", {}, "There is no operation '__proto__'."),
        ("getPart", {"a": "x", "b": "1"}, 'echo.getPart: args.b: integer expected, not string "1"'),
        ("getPart", None, "args.a: this argument is required; args.b: this argument is required"),
        ("getPart", [1], "args: a method takes one object, not array"),
        ("getThing", {"id": "x", "limit": 51}, "args.limit: at most 50 expected, not 51"),
        ("getThing", {"id": ".."}, "args.id: '.' and '..' as a part of the path"),
        ("getThing", {"id": "%2e%2e"}, "args.id: '.' and '..' as a part of the path"),
        ("getThing", {"id": ""}, "args.id: a part of the path must not be empty"),
        ("getThing", {"id": "x", "X-Trace": "a\r\nX-Evil: 1"}, 'args["X-Trace"]: a header cannot hold'),
        ("getThing", {"id": "x", "X-Api-Key": "mine"}, 'args["X-Api-Key"]: unknown argument'),
        ("getThing", {"id": "x", "Host": "evil.test"}, "args.Host: unknown argument"),
        ("listLinks", {"$next": 0}, "args.$next: there is no such page"),
        ("listLinks", {"$next": "http://evil.test"}, "args.$next: there is no such page"),
    ],
)
def test_what_cannot_be_sent_is_told_precisely(
    upstream: Upstream, operation_id: str, arguments: Any, words: str
) -> None:
    name, message = refusal(upstream, operation_id, arguments, auth=HEADER)
    assert name == "TypeError"
    assert words in message


def test_a_parameter_that_the_credentials_fill_is_not_asked_of_scripts(upstream: Upstream) -> None:
    answer, _ = call(upstream, "getThing", {"id": "x"}, auth=HEADER)
    assert answer["body"]["headers"]["x-api-key"] == "[redacted:known_value]"
    assert "is required" in refusal_of_missing_key(upstream)
    assert "args.api_key: unknown argument" in refusal_of_given_key(upstream)


def refusal_of_missing_key(upstream: Upstream) -> str:
    """Without such credentials it is a parameter like any other."""
    answer, _ = call(upstream, "getThing", {"id": "x"}, auth=BEARER)
    assert isinstance(answer, HostError)
    return answer.message


def refusal_of_given_key(upstream: Upstream) -> str:
    answer, _ = call(upstream, "getThing", {"id": "x", "X-Api-Key": "k", "api_key": "mine"}, auth=QUERY)
    assert isinstance(answer, HostError)
    return answer.message


def test_values_stay_in_their_place(upstream: Upstream) -> None:
    given = {
        "id": "a/b?c#d@e",
        "tags": ["x&y", "z"],
        "X-Trace": "t",
        "X-Api-Key": "k",
        "session": "s; admin=1",
    }
    call(upstream, "getThing", given, auth=BEARER)
    (seen,) = upstream.seen
    assert seen.target == "/v1/echo/a%2Fb%3Fc%23d%40e?tags=x%26y&tags=z"
    assert seen.headers == {
        "host": f"127.0.0.1:{upstream.port}",
        "user-agent": "Ammeter",
        "accept-encoding": "gzip, deflate",
        "accept": "application/json, */*;q=0.5",
        "x-trace": "t",
        "x-api-key": "k",
        "cookie": "session=s%3B%20admin%3D1",
        "authorization": f"Bearer {TOKEN}",
    }


@pytest.mark.parametrize(
    ("manifest", "read_only", "denied"),
    [
        ({}, False, None),
        ({}, True, "This script runs read-only: only GET, HEAD and OPTIONS."),
        ({"policy": {"readOnly": True}}, False, "This API is served read-only"),
        ({"policy": {"deny": ["deleteThing"]}}, False, "denied by the policy of this API (deleteThing)"),
        ({"policy": {"deny": ["*.delete*"]}}, False, "(*.delete*)"),
        ({"policy": {"deny": ["DELETE /echo/*"]}}, False, "(DELETE /echo/*)"),
        ({"policy": {"deny": ["/ECHO/{id}"]}}, False, "(/ECHO/{id})"),
        ({"policy": {"deny": ["other", "GET*"]}}, False, None),
    ],
)
def test_policy(upstream: Upstream, manifest: Any, read_only: bool, denied: str | None) -> None:
    given: dict[str, Any] = {"manifest": manifest, "read_only": read_only, "auth": BEARER}
    if denied is None:
        assert "body" in call(upstream, "deleteThing", {"id": "x"}, **given)[0]
        return
    name, message = refusal(upstream, "deleteThing", {"id": "x"}, **given)
    assert name == "PolicyError"
    assert denied in message


def test_reads_pass_a_read_only_script(upstream: Upstream) -> None:
    answer, _ = call(upstream, "getPart", {"a": "x", "b": 1}, read_only=True)
    assert answer["body"]["method"] == "GET"


def test_the_number_of_calls_is_bounded(upstream: Upstream) -> None:
    async def three(host: ApiHost) -> list[Any]:
        first = await host.call("getPart", {})
        return [first] + [await host.call("getPart", {"a": "x", "b": n}) for n in range(3)]

    refused, one, two, last = with_host(upstream, three, max_calls=2)
    assert isinstance(refused, HostError)
    assert "body" in one
    assert "body" in two
    assert (last.name, "2 calls" in last.message, len(upstream.seen)) == ("LimitError", True, 2)


def test_reads_are_tried_again_and_writes_are_not(upstream: Upstream) -> None:
    answer, host = call(upstream, "getFlaky", {"times": 2})
    assert (answer["body"], host.calls[0].retries, host.calls[0].status) == ({"tries": 3}, 2, 200)
    upstream.seen.clear()
    answer, host = call(upstream, "postFlaky", {"times": 1})
    assert (answer["fault"]["status"], host.calls[0].retries, len(upstream.seen)) == (503, 0, 1)


def test_a_write_with_an_idempotency_key_is_tried_again_with_the_same(upstream: Upstream) -> None:
    answer, host = call(upstream, "postFlakyOnce", {"times": 1})
    assert (answer["body"], host.calls[0].retries) == ({"tries": 2}, 1)
    keys = {seen.headers["idempotency-key"] for seen in upstream.seen}
    assert (len(keys), len(keys.pop())) == (1, 36)
    call(upstream, "postFlakyOnce", {"times": 0, "Idempotency-Key": "mine"})
    assert upstream.seen[-1].headers["idempotency-key"] == "mine"


def test_a_write_whose_answer_never_came_is_unknown(upstream: Upstream) -> None:
    answer, host = call(upstream, "postHangUp")
    assert (answer["fault"]["status"], answer["fault"]["code"]) == (0, "network")
    assert "Whether the API carried the call out is not known" in answer["fault"]["message"]
    assert (host.calls[0].outcome, host.calls[0].is_write, len(upstream.seen)) == ("unknown", True, 1)
    _, host = call(upstream, "getHangUp")
    assert (host.calls[0].outcome, host.calls[0].retries) == ("network_error", 2)


def test_a_write_that_never_left_is_not_unknown() -> None:
    with running_upstream() as gone:
        pass
    answer, host = call(gone, "postHangUp")
    assert (host.calls[0].outcome, answer["fault"]["code"]) == ("network_error", "network")
    assert "not known" not in answer["fault"]["message"]


def test_calls_are_visible_while_they_are_under_way(upstream: Upstream) -> None:
    async def watched(host: ApiHost) -> None:
        tasks = [asyncio.create_task(host.call(name, {})) for name in ("postSlow", "getSlow")]
        assert await asyncio.to_thread(upstream.wait_until_seen, 2)
        assert [(made.operation_id, made.outcome) for made in host.calls] == [
            ("postSlow", "in_flight"),
            ("getSlow", "in_flight"),
        ]
        host.close()
        assert [made.outcome for made in host.calls] == ["unknown", "in_flight"]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [(made.outcome, made.status) for made in host.calls] == [
            ("unknown", None),
            ("in_flight", None),
        ]
        assert all(made.duration_ms > 0 for made in host.calls)

    with_host(upstream, watched, auth=BEARER)


def test_a_credential_is_known_although_its_first_call_was_cut_off(upstream: Upstream) -> None:
    async def cut_then_echo(host: ApiHost) -> Any:
        first = asyncio.create_task(host.call("getSlow", {}))
        assert await asyncio.to_thread(upstream.wait_until_seen, 1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert host.injected == {TOKEN}
        return await host.call("getPart", {"a": "x", "b": 1})

    answer = with_host(upstream, cut_then_echo, auth=BEARER)
    assert answer["body"]["headers"]["authorization"] == "Bearer [redacted:known_value]"


def test_a_write_that_is_answered_with_noise_is_unknown(upstream: Upstream) -> None:
    answer, host = call(upstream, "postGarbage")
    assert (answer["fault"]["code"], host.calls[0].outcome) == ("malformed", "unknown")


def test_blocked_calls_are_written_down_as_blocked(upstream: Upstream) -> None:
    upstream.redirect_to = "http://169.254.169.254/latest/meta-data"
    answer, host = call(upstream, "getRedirect", {"status": 302}, auth=BEARER)
    assert (answer["fault"]["code"], host.calls[0].outcome) == ("blocked", "blocked")
    assert "its host is 169.254.169.254, not 127.0.0.1" in answer["fault"]["message"]


def test_a_redirect_that_carries_the_credential_away_does_not_show_it(upstream: Upstream) -> None:
    upstream.redirect_to = f"http://{TOKEN}.evil.test/"
    answer, host = call(upstream, "getRedirect", {"status": 302}, auth=BEARER)
    assert "[redacted:known_value].evil.test" in answer["fault"]["message"]
    assert TOKEN not in f"{answer}{host.calls}"


def test_links_to_the_next_page_stay_with_the_host(upstream: Upstream) -> None:
    async def two_pages(host: ApiHost) -> tuple[Any, Any, Any]:
        first: Any = await host.call("listLinks", {})
        second = await host.call("listLinks", first["next"])
        stolen = await host.call("listPages", first["next"])
        return first, second, stolen

    first, second, stolen = with_host(upstream, two_pages, auth=QUERY)
    assert (first["body"], second["body"]) == (ROWS[:3], ROWS[3:6])
    assert first["next"] == {"$next": 0}
    assert isinstance(stolen, HostError)


def test_no_time_left(upstream: Upstream) -> None:
    answer, host = call(upstream, "postSlow", deadline=time.monotonic() - 1)
    assert (answer["fault"]["code"], host.calls[0].outcome, upstream.seen) == ("timeout", "timeout", [])


def test_a_204_is_null(upstream: Upstream) -> None:
    answer, host = call(upstream, "deleteNothing")
    assert answer == {"body": None, "next": None}
    assert (host.calls[0].outcome, host.calls[0].status) == ("ok", 204)


def test_an_answer_that_is_not_what_it_says(upstream: Upstream) -> None:
    answer, host = call(upstream, "postRaw", {"type": "application/json", "body": "<html>"})
    assert (answer["fault"]["code"], answer["fault"]["status"]) == ("malformed", 0)
    assert "says that it is JSON and is not" in answer["fault"]["message"]
    assert (host.calls[0].outcome, host.calls[0].status) == ("http_error", 200)


def test_a_large_answer_is_read_whole(upstream: Upstream) -> None:
    text = json.dumps([TOKEN, *range(60_000)])
    answer, host = call(upstream, "postRaw", {"type": "application/json", "body": text}, auth=BEARER)
    assert answer["body"] == ["[redacted:known_value]", *range(60_000)]
    assert host.calls[0].response_bytes == host.calls[0].request_bytes == len(text)


def test_each_environment_has_its_base_url(upstream: Upstream) -> None:
    urls = [{"url": "https://api.test/v1/"}, {"url": "https://staging.test", "environment": "staging"}]
    bundle = compiled(upstream, baseUrls=urls)
    assert served_api(bundle, "production").base_url == "https://api.test/v1"
    assert served_api(bundle, "staging").base_url == "https://staging.test"
    assert served(upstream).base_url == upstream.url


def test_a_script_may_start_anew_as_long_as_it_only_read(upstream: Upstream) -> None:
    _, read = call(upstream, "listPages", {"page": 1})
    assert read.begin_again()
    assert read.calls == []
    _, refused = call(upstream, "postThing", {"id": "a", "name": "x"}, read_only=True)
    assert refused.begin_again()
    _, wrote = call(upstream, "postThing", {"id": "a", "name": "x"})
    assert not wrote.begin_again()
    assert len(wrote.calls) == 1
