"""Attacks through the endpoint of a real server: arguments that want to leave their place, redirects, scripts
that are far too large or go on after their end, and a hundred abusers beside one honest user.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.features.gateway.shop import BEARER
from tests.flows.shop_server import ShopServer, asking, serving_shop
from tests.upstream import TOKEN, Upstream, running_upstream

Shop = tuple[ShopServer, Upstream]
HOSTILE = [
    "../../admin",
    "..",
    "%2e%2e/admin",
    "..%2f..%2fadmin",
    "..\\..\\admin",
    "x/../../admin",
    "x?api_key=mine#",
    "@evil.example/",
    "//evil.example/",
    "\\\\evil.example\\",
    "http://evil.example/",
    "x HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /admin",
    "x\r\nX-Evil: 1",
    "x\u0000y",
    "x\u2028y\u0085z",
    "\ud83d",
]
ABUSES = [
    "for (;;);",
    "for (;;) await null",
    "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
    "for (;;) console.log('x'.repeat(1000))",
    "await new Promise(done => setTimeout(done, 25000))",
    "await Promise.all(Array.from({ length: 50 }, () => client.slow.getSlow()))",
    "let s = 'x'; for (;;) s += s",
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with running_upstream() as upstream:
        auths = {"honest": BEARER, "abuser": BEARER}
        with serving_shop(tmp_path_factory.mktemp("attacks"), upstream, auths) as server:
            yield server, upstream


@pytest.mark.parametrize("value", HOSTILE)
def test_an_argument_stays_in_its_place(shop: Shop, value: str) -> None:
    server, upstream = shop
    upstream.seen.clear()
    given = json.dumps(value)
    code = f"""
const tries = [
  () => client.echo.getPart({{ a: {given}, b: 1 }}),
  () => client.echo.getThing({{ id: 'x', 'X-Trace': {given}, 'X-Api-Key': 'k', session: {given} }}),
  () => client.echo.getThing({{ id: 'x', 'X-Api-Key': {given}, tags: [{given}], api_key: {given} }}),
  () => client.echo.postThing({{ id: {given}, name: {given} }}),
];
return await Promise.all(tries.map(t => t().then(a => a.method, e => e.name)));"""
    data = server.execute("honest", code)
    assert len(data["result"]) == 4, data
    assert upstream.seen, "none of the four was sent"
    for seen in upstream.seen:
        assert seen.path.startswith("/v1/echo/")
        assert seen.path.count("/") == (5 if "/parts/1" in seen.path else 3)
        assert seen.headers["host"] == f"127.0.0.1:{upstream.port}"
        assert seen.headers["authorization"] == f"Bearer {TOKEN}"
        assert "x-evil" not in seen.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(shop: Shop, status: int) -> None:
    server, upstream = shop
    with running_upstream() as other:
        for place in (f"{other.url}/echo/1", f"//127.0.0.1:{other.port}/x", f"{upstream.url}@127.0.0.1/x"):
            upstream.redirect_to = place
            code = f"await client.redirect.getRedirect({{ status: {status} }}).catch(e => e.code)"
            assert server.execute("honest", f"return {code}")["result"] == "blocked"
        assert other.connections == 0
    upstream.redirect_to = ""


def test_a_script_of_a_megabyte_is_refused_before_it_is_read(shop: Shop) -> None:
    server, _ = shop
    slug, key = server.places["honest"]
    headers, message = asking(key, "/*" + "x" * 1024 * 1024 + "*/ return 1")
    answer = httpx2.post(f"{server.server.url}/product-mcp/{slug}", headers=headers, json=message)
    assert answer.status_code == 413
    assert "larger than" in answer.text


def test_nothing_calls_the_api_after_the_end(shop: Shop) -> None:
    server, upstream = shop
    upstream.seen.clear()
    code = """
const late = () => client.echo.postThing({ id: 'late', name: 'x' });
for (const wait of [0, 1, 20, 200]) setTimeout(late, wait);
(async () => { for (;;) { await new Promise(done => setTimeout(done, 5)); late() } })();
return 'done';"""
    assert server.execute("abuser", code)["result"] == "done"
    seen = len(upstream.seen)
    waiting = "await new Promise(done => setTimeout(done, 400)); return 1"
    assert server.execute("abuser", waiting)["result"] == 1
    assert len(upstream.seen) == seen


def test_a_hundred_abusers_do_not_keep_an_honest_user_from_being_served(shop: Shop) -> None:
    server, upstream = shop
    upstream.release.clear()

    async def send(http: httpx2.AsyncClient, kind: str, code: str) -> Any:
        slug, key = server.places[kind]
        headers, message = asking(key, code)
        answer = await http.post(
            f"{server.server.url}/product-mcp/{slug}",
            headers=headers | {"accept": "application/json"},
            json=message,
        )
        return answer.json()

    async def story() -> tuple[list[Any], list[Any]]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=120, limits=limits) as http:
            abusers = [asyncio.create_task(send(http, "abuser", ABUSES[n % len(ABUSES)])) for n in range(100)]
            await asyncio.to_thread(upstream.wait_until_seen, 1)
            code = "return (await client.pages.listPages({ page: 1 })).items.length"
            honest = [await send(http, "honest", code) for _ in range(5)]
            still = [task for task in abusers if not task.done()]
            for task in abusers:
                task.cancel()
            ended = await asyncio.gather(*abusers, return_exceptions=True)
        assert len(still) > 20, "the abusers were gone before the honest user came"
        return honest, [one for one in ended if isinstance(one, dict)]

    upstream.seen.clear()
    honest, ended = asyncio.run(story())
    upstream.release.set()
    assert [one["result"]["structuredContent"]["result"] for one in honest] == [3] * 5
    assert all(one["result"]["isError"] for one in ended if "result" in one)
