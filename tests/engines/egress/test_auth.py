"""Credentials on the wire, and tokens that are fetched first."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ammeter.engines.egress.auth import (
    BasicCredential,
    ClientCredentials,
    Fixed,
    HeaderCredential,
    QueryCredential,
    injection,
)
from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.port import EgressFault, Facts, Request
from tests.engines.egress.trips import fault, send, with_egress
from tests.upstream import CLIENT, CLIENT_SECRET, PASSWORD, TOKEN, USER, Upstream


def oauth(upstream: Upstream, **given: Any) -> ClientCredentials:
    told = {"token_url": f"{upstream.origin}/token", "client_id": CLIENT, "client_secret": CLIENT_SECRET}
    return ClientCredentials(**(told | given))


@pytest.mark.parametrize(
    ("kind", "credential"),
    [
        ("bearer", HeaderCredential(name="Authorization", value=TOKEN, prefix="Bearer")),
        ("header", HeaderCredential(name="X-Api-Key", value=TOKEN)),
        ("query", QueryCredential(name="api_key", value=TOKEN)),
        ("basic", BasicCredential(username=USER, password=PASSWORD)),
    ],
)
def test_every_kind_is_accepted_and_written_down(upstream: Upstream, kind: str, credential: Fixed) -> None:
    facts = Facts()
    assert send(upstream, f"/private/{kind}", credential=credential, facts=facts).status == 200
    assert send(upstream, f"/private/{kind}").status == 401
    assert facts.injected == injection(credential).values
    assert {TOKEN, PASSWORD} & facts.injected
    assert TOKEN not in repr(credential)
    assert PASSWORD not in repr(credential)


def test_a_credential_stands_in_place_of_a_header_of_its_name(upstream: Upstream) -> None:
    headers = (("x-API-key", "mine"), ("Accept", "*/*"))
    send(upstream, "/echo", headers=headers, credential=HeaderCredential(name="X-Api-Key", value=TOKEN))
    assert upstream.seen[0].headers["x-api-key"] == TOKEN


def test_a_credential_that_would_break_the_request_is_not_sent(upstream: Upstream) -> None:
    broken = HeaderCredential(name="Authorization", value="abc\r\nX-Evil: 1", prefix="Bearer")
    caught = fault(upstream, "/echo", credential=broken)
    assert (caught.kind, "abc" in caught.message, upstream.seen) == ("credentials", False, [])


@pytest.mark.parametrize("way", ["basic", "body"])
def test_a_token_is_fetched_once_and_kept(upstream: Upstream, way: str) -> None:
    credential = oauth(
        upstream, client_authentication=way, scopes=("read", "write"), audience="https://a.test"
    )
    base, facts = parse_base(upstream.url), Facts()

    async def twice(egress: Egress) -> None:
        for _ in range(2):
            request = Request(method="GET", url=f"{upstream.url}/private/oauth")
            answer = await egress.send(request, base=base, credential=credential, facts=facts)
            assert json.loads(answer.body)["ok"] is True

    with_egress(twice)
    assert [seen.path for seen in upstream.seen] == ["/token", "/v1/private/oauth", "/v1/private/oauth"]
    form = upstream.seen[0].body.decode()
    assert form.startswith("grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fa.test")
    assert (CLIENT_SECRET in form) is (way == "body")
    assert {CLIENT_SECRET, *upstream.tokens} <= facts.injected


def test_many_calls_at_once_fetch_one_token(upstream: Upstream) -> None:
    base, credential = parse_base(upstream.url), oauth(upstream)

    async def many(egress: Egress) -> None:
        request = Request(method="GET", url=f"{upstream.url}/private/oauth")
        answers = await asyncio.gather(
            *(egress.send(request, base=base, credential=credential) for _ in range(10))
        )
        assert {answer.status for answer in answers} == {200}

    with_egress(many)
    assert len(upstream.tokens) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_token_that_was_revoked_is_renewed_once(upstream: Upstream, method: str) -> None:
    base, credential = parse_base(upstream.url), oauth(upstream)

    async def revoked(egress: Egress) -> list[int]:
        request = Request(method=method, url=f"{upstream.url}/private/oauth")
        statuses = []
        for _ in range(2):
            statuses.append((await egress.send(request, base=base, credential=credential)).status)
            upstream.live_tokens.clear()
        return statuses

    assert with_egress(revoked) == [200, 200]
    assert len(upstream.tokens) == 2


def test_an_api_that_takes_no_token_is_asked_twice_and_no_more(upstream: Upstream) -> None:
    facts = Facts()
    answer = send(upstream, "/status/401", method="POST", body=b"{}", credential=oauth(upstream), facts=facts)
    assert answer.status == 401
    assert [seen.path for seen in upstream.seen] == ["/token", "/v1/status/401"] * 2
    assert set(upstream.tokens) <= facts.injected


@pytest.mark.parametrize(("expires_in", "fetches"), [(3600, 1), ("3600", 1), (None, 1), (0, 2), (-5, 1)])
def test_a_token_is_used_until_shortly_before_its_end(
    upstream: Upstream, expires_in: Any, fetches: int
) -> None:
    upstream.expires_in = expires_in
    base, credential = parse_base(upstream.url), oauth(upstream)

    async def twice(egress: Egress) -> None:
        for _ in range(2):
            request = Request(method="GET", url=f"{upstream.url}/private/oauth")
            await egress.send(request, base=base, credential=credential)

    with_egress(twice)
    assert len(upstream.tokens) == fetches


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"client_secret": "wrong-secret-77"}, "answered 401 with the error 'invalid_client'"),
        ({"token_url": "http://10.0.0.1/token"}, "not a public address"),
        ({"token_url": "ftp://x"}, "token URL cannot be called"),
    ],
)
def test_no_token_no_call(upstream: Upstream, given: dict[str, Any], words: str) -> None:
    caught = fault(upstream, "/echo", credential=oauth(upstream, **given))
    assert (caught.kind, words in caught.message) == ("credentials", True)
    assert "wrong-secret-77" not in caught.message
    assert all(seen.path == "/token" for seen in upstream.seen)


def test_a_token_endpoint_that_redirects_gives_no_token(upstream: Upstream) -> None:
    upstream.redirect_to = f"{upstream.origin}/token"
    url = f"{upstream.origin}/v1/redirect/307"
    caught = fault(upstream, "/echo", credential=oauth(upstream, token_url=url))
    assert (caught.kind, len(upstream.seen)) == ("credentials", 1)


def test_one_who_gives_up_waiting_does_not_take_the_token_from_others(upstream: Upstream) -> None:
    base, credential = parse_base(upstream.url), oauth(upstream, token_url=f"{upstream.origin}/slow")

    async def go(egress: Egress) -> None:
        request = Request(method="GET", url=f"{upstream.url}/private/oauth")
        first = asyncio.create_task(egress.send(request, base=base, credential=credential))
        second = asyncio.create_task(egress.send(request, base=base, credential=credential))
        assert await asyncio.to_thread(upstream.wait_until_seen, 1)
        first.cancel()
        upstream.release.set()
        # The slow endpoint is no token endpoint: the second hears so, instead of being cancelled too.
        with pytest.raises(EgressFault, match="no access token"):
            await second

    with_egress(go)
    assert len(upstream.seen) == 1
