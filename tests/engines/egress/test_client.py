"""One trip to an API and back: sizes, times, retries, redirects, connections."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from ammeter.engines.egress.auth import HeaderCredential, QueryCredential
from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.port import EgressFault, Facts, Request
from tests.engines.egress.trips import fault, send, with_egress
from tests.upstream import MEGABYTE, ROWS, TOKEN, Upstream, running_upstream

BEARER = HeaderCredential(name="Authorization", value=TOKEN, prefix="Bearer")


def test_a_request_arrives_as_it_was_made(upstream: Upstream) -> None:
    facts = Facts()
    send(
        upstream,
        "/echo/a%2Fb;c?x=%7C&y=a+b&z",
        method="PATCH",
        headers=(("X-One", "1"), ("Content-Type", "application/json")),
        body=b'{"a":1}',
        facts=facts,
    )
    (seen,) = upstream.seen
    assert (seen.method, seen.target, seen.body) == ("PATCH", "/v1/echo/a%2Fb;c?x=%7C&y=a+b&z", b'{"a":1}')
    assert seen.headers == {
        "host": f"127.0.0.1:{upstream.port}",
        "user-agent": "Ammeter",
        "accept-encoding": "gzip, deflate",
        "x-one": "1",
        "content-type": "application/json",
        "content-length": "7",
    }
    assert (facts.status, facts.unanswered, facts.retries, facts.request_bytes) == (200, False, 0, 7)
    assert facts.response_bytes > 100


def test_proxies_of_the_environment_are_not_asked(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send(upstream, "/echo").status == 200


def test_a_large_body_is_sent_whole(upstream: Upstream) -> None:
    send(upstream, "/nothing", method="POST", body=b"x" * 3 * MEGABYTE)
    assert len(upstream.seen[0].body) == 3 * MEGABYTE


def test_only_headers_that_someone_reads_come_back(upstream: Upstream) -> None:
    answer = send(upstream, "/status/200", method="POST", body=b"{}")
    assert dict(answer.headers) == {"content-type": "application/json", "x-request-id": "req-1"}


@pytest.mark.parametrize("kind", ["gzip", "members", "deflate", "bare"])
def test_compressed_answers_are_opened(upstream: Upstream, kind: str) -> None:
    assert json.loads(send(upstream, f"/packed/{kind}").body) == {"rows": ROWS}


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("/packed/bomb", "too_large", "over the 10 MB"),
        ("/huge", "too_large", "over the 10 MB"),
        ("/huge-told", "too_large", "over the 10 MB"),
        ("/packed/short", "malformed", "ends too early"),
        ("/packed/wrong", "malformed", "not compressed as it says"),
        ("/packed/br", "malformed", "'br', which was not asked for"),
        ("/garbage", "malformed", "not HTTP"),
    ],
)
def test_answers_that_are_not_taken(upstream: Upstream, path: str, kind: str, words: str) -> None:
    caught = fault(upstream, path, repeatable=True)
    assert (caught.kind, words in caught.message) == (kind, True)
    assert len(upstream.seen) == 1


def test_an_answer_of_exactly_the_limit_is_taken(upstream: Upstream) -> None:
    limits = {"response_bytes": 1000}
    assert len(send(upstream, "/status/200", method="POST", body=b"x" * 1000, limits=limits).body) == 1000
    assert fault(upstream, "/status/200", method="POST", body=b"x" * 1001, limits=limits).kind == "too_large"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_be_repeated_is_tried_three_times(upstream: Upstream, status: int) -> None:
    facts = Facts()
    answer = send(upstream, f"/flaky?times=2&status={status}", repeatable=True, facts=facts)
    assert (json.loads(answer.body), facts.retries, len(upstream.seen)) == ({"tries": 3}, 2, 3)


def test_the_last_answer_is_given_when_tries_run_out(upstream: Upstream) -> None:
    facts = Facts()
    assert send(upstream, "/flaky?times=9", repeatable=True, facts=facts).status == 503
    assert (facts.retries, len(upstream.seen)) == (2, 3)


def test_what_may_not_be_repeated_is_sent_once(upstream: Upstream) -> None:
    facts = Facts()
    assert send(upstream, "/flaky?times=1", method="POST", body=b"{}", facts=facts).status == 503
    assert (len(upstream.seen), facts.status, facts.retries) == (1, 503, 0)


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("path", ["/hang-up", "/drop"])
def test_a_broken_connection_repeats_nothing_by_itself(upstream: Upstream, path: str, method: str) -> None:
    facts = Facts()
    assert fault(upstream, path, method=method, body=b"{}", facts=facts).kind == "network"
    heard = path == "/drop"
    assert (len(upstream.seen), facts.unanswered, facts.status) == (1, not heard, 200 if heard else None)


@pytest.mark.parametrize("path", ["/hang-up", "/drop"])
def test_broken_connections_are_tried_again(upstream: Upstream, path: str) -> None:
    facts = Facts()
    caught = fault(upstream, path, repeatable=True, facts=facts)
    assert (caught.kind, facts.retries, len(upstream.seen)) == ("network", 2, 3)


def test_an_error_that_trying_again_does_not_mend_is_given_at_once(upstream: Upstream) -> None:
    assert send(upstream, "/status/500", method="PUT", body=b"{}", repeatable=True).status == 500
    assert len(upstream.seen) == 1


@pytest.mark.parametrize("after", ["3600", "Thu, 31 Dec 2099 23:59:59 GMT"])
def test_nobody_waits_an_hour(upstream: Upstream, after: str) -> None:
    headers = (("X-Retry-After", after),)
    assert send(upstream, "/status/503", headers=headers, repeatable=True).status == 503
    assert len(upstream.seen) == 1


def test_a_pause_past_the_deadline_is_not_begun(upstream: Upstream) -> None:
    request = Request(method="GET", url=f"{upstream.url}/flaky?times=1&after=5", repeatable=True)
    base, deadline = parse_base(upstream.url), time.monotonic() + 4
    answer = with_egress(lambda egress: egress.send(request, base=base, deadline=deadline))
    assert (answer.status, len(upstream.seen)) == (503, 1)


def test_an_answer_that_does_not_come_in_time_is_a_timeout(upstream: Upstream) -> None:
    caught = fault(upstream, "/slow", limits={"call_s": 0.2}, repeatable=True)
    assert (caught.kind, caught.message) == ("timeout", "The API did not answer within 0.2 s.")
    assert len(upstream.seen) <= 1


def test_a_deadline_that_has_passed_sends_nothing(upstream: Upstream) -> None:
    request = Request(method="GET", url=f"{upstream.url}/echo")
    base = parse_base(upstream.url)
    with pytest.raises(EgressFault, match="No time was left"):
        with_egress(lambda egress: egress.send(request, base=base, deadline=time.monotonic() - 1))
    assert upstream.seen == []


def test_nobody_listens() -> None:
    with running_upstream() as gone:
        pass
    facts = Facts()
    caught = fault(gone, "/echo", method="POST", facts=facts)
    assert (caught.kind, facts.unanswered) == ("network", False)
    assert caught.message.startswith(f"No connection to {gone.origin}: ")


def test_a_name_without_an_address() -> None:
    request = Request(method="GET", url="http://no-such-host.invalid/x")
    with pytest.raises(EgressFault, match=r"no-such-host\.invalid"):
        with_egress(lambda egress: egress.send(request, base=parse_base("http://no-such-host.invalid")))


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [
        (301, "GET", "GET"),
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (302, "PUT", "PUT"),
        (303, "POST", "GET"),
        (303, "DELETE", "GET"),
        (303, "HEAD", "HEAD"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
def test_redirects_within_the_base_are_followed(
    upstream: Upstream, status: int, method: str, becomes: str
) -> None:
    upstream.redirect_to = "/v1/echo/there?x=1"
    body = None if method in ("GET", "HEAD") else b"body"
    headers = (("X-Keep", "1"), ("Content-Type", "text/plain"))
    send(upstream, f"/redirect/{status}", method=method, body=body, headers=headers, credential=BEARER)
    first, second = upstream.seen
    assert (second.method, second.target) == (becomes, "/v1/echo/there?x=1")
    assert second.headers["authorization"] == f"Bearer {TOKEN}"
    assert second.headers["x-keep"] == "1"
    kept = becomes == method
    assert second.body == (first.body if kept else b"")
    assert ("content-type" in second.headers) is kept


def test_redirects_elsewhere_are_blocked_and_the_credential_stays_home(upstream: Upstream) -> None:
    with running_upstream() as other:
        tricks = {
            f"{other.url}/echo": "its port is",
            f"//127.0.0.1:{other.port}/v1": "its port is",
            upstream.url.replace("127.0.0.1", "localhost") + "/echo": "its host is localhost",
            upstream.url.replace("http:", "https:") + "/echo": "its scheme is https",
            "/v2/echo": "its path is not below /v1",
            "/v10/echo": "its path is not below /v1",
            "../../admin": "its path is not below /v1",
            "/v1/%2e%2e/admin": "'.' or '..'",
            f"http://127.0.0.1:{upstream.port}@evil.test/": "not a plain",
            "\\\\evil.test\\x": "not a plain",
            "file:///etc/passwd": "not a plain",
        }
        for where, words in tricks.items():
            upstream.redirect_to = where
            caught = fault(upstream, "/redirect/302", credential=BEARER)
            assert caught.kind == "blocked", where
            assert words in caught.message, where
        assert {seen.path for seen in upstream.seen} == {"/v1/redirect/302"}
        assert other.seen == []


def test_redirects_end(upstream: Upstream) -> None:
    upstream.redirect_to = "/v1/redirect/302"
    assert "more than 5 times" in fault(upstream, "/redirect/302").message
    assert len(upstream.seen) == 6


def test_a_redirect_without_a_place_is_an_answer(upstream: Upstream) -> None:
    assert send(upstream, "/status/304").status == 304


def test_a_credential_in_the_query_replaces_one_that_was_asked_for(upstream: Upstream) -> None:
    upstream.redirect_to = "/v1/echo?api_key=theirs&b=2"
    credential = QueryCredential(name="api_key", value="a b&c")
    send(upstream, "/redirect/302?api_key=mine&a=1", credential=credential)
    assert upstream.targets() == ["/v1/redirect/302?a=1&api_key=a%20b%26c", "/v1/echo?b=2&api_key=a%20b%26c"]


def test_twenty_calls_at_once_share_connections(upstream: Upstream) -> None:
    base = parse_base(upstream.url)

    async def rounds(egress: Egress) -> None:
        for _ in range(3):
            requests = [Request(method="GET", url=f"{upstream.url}/echo/{n}") for n in range(20)]
            answers = await asyncio.gather(*(egress.send(request, base=base) for request in requests))
            assert {answer.status for answer in answers} == {200}

    with_egress(rounds)
    assert len(upstream.seen) == 60
    assert upstream.connections <= 20
    assert upstream.wait_until_closed()


def test_connections_to_one_host_are_bounded(upstream: Upstream) -> None:
    base = parse_base(upstream.url)

    async def many(egress: Egress) -> None:
        request = Request(method="GET", url=f"{upstream.url}/echo")
        await asyncio.gather(*(egress.send(request, base=base) for _ in range(30)))

    with_egress(many, connections_per_host=3)
    assert (len(upstream.seen), upstream.connections) == (30, 3)


def test_whoever_is_cut_off_leaves_no_connection_behind(upstream: Upstream) -> None:
    base = parse_base(upstream.url)
    facts = Facts()

    async def cut(egress: Egress) -> None:
        request = Request(method="POST", url=f"{upstream.url}/slow", body=b"{}")
        task = asyncio.create_task(egress.send(request, base=base, facts=facts))
        assert await asyncio.to_thread(upstream.wait_until_seen, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        upstream.release.set()
        assert (await egress.send(Request(method="GET", url=f"{upstream.url}/echo"), base=base)).status == 200

    with_egress(cut)
    assert (facts.unanswered, facts.status) == (True, None)
    assert upstream.connections == 2
    assert upstream.wait_until_closed()


def test_cookies_are_not_kept(upstream: Upstream) -> None:
    base = parse_base(upstream.url)

    async def twice(egress: Egress) -> None:
        for _ in range(2):
            await egress.send(Request(method="GET", url=f"{upstream.url}/cookie"), base=base)

    with_egress(twice)
    assert len(upstream.seen) == 2
    assert all("cookie" not in seen.headers for seen in upstream.seen)
