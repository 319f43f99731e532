"""Whole scripts in the real sandbox, through the host, against a real API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.sandbox.lazy import LazySandbox
from ammeter.engines.sandbox.port import Limits, Outcome, Script, ScriptError, Value
from ammeter.features.gateway.host import ApiHost
from ammeter.features.gateway.served import served_api
from tests.features.gateway.shop import BEARER, Known, compiled
from tests.household import CACHE
from tests.upstream import ROWS, TOKEN, Upstream, running_upstream

IDS = [row["id"] for row in ROWS]


class Workbench:
    """A sandbox and an egress on one loop, for the scripts of this file."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self._runner = asyncio.Runner()
        self._sandbox = LazySandbox(CACHE / "sandbox")
        self._egress = Egress(Guard(["127.0.0.0/8"]))

    def run(
        self, code: str, *, auth: Any = None, wall_ms: int = 30_000, **host_options: Any
    ) -> tuple[Outcome, ApiHost]:
        return self._runner.run(self._run(code, auth or BEARER, wall_ms, host_options))

    async def _run(self, code: str, auth: Any, wall_ms: int, options: Any) -> tuple[Outcome, ApiHost]:
        bundle = compiled(self.upstream, auth=auth)
        sandbox = await self._sandbox.open()
        deadline = time.monotonic() + wall_ms / 1000
        host = ApiHost(
            served_api(bundle, "production"),
            egress=self._egress,
            credentials=Known(),
            deadline=deadline,
            **({"max_calls": 50} | options),
        )
        script = Script(code=code, sdk=bundle.sdk_js, limits=Limits(wall_ms=wall_ms, call_bytes=16 << 20))
        try:
            return await sandbox.run(script, host), host
        finally:
            host.close()

    async def _close(self) -> None:
        await self._egress.close()
        await self._sandbox.stop()

    def close(self) -> None:
        self._runner.run(self._close())
        self._runner.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with running_upstream() as upstream:
        opened = Workbench(upstream)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def _forget(bench: Workbench) -> None:
    bench.upstream.seen.clear()
    bench.upstream.release.clear()
    bench.upstream.redirect_to = ""


def value_of(outcome: Outcome) -> Any:
    assert isinstance(outcome, Value), outcome
    return outcome.json


def name_of(bench: Workbench, operation_id: str) -> str:
    """How a script calls an operation."""
    api = served_api(compiled(bench.upstream, auth=BEARER), "production")
    return f"client.{api.operations[operation_id].sdk_name}"


def test_a_script_calls_the_api_with_credentials_that_it_never_sees(bench: Workbench) -> None:
    method = name_of(bench, "getPrivate")
    outcome, host = bench.run(f"return await {method}({{ kind: 'bearer' }})")
    told = value_of(outcome)
    assert told["ok"] is True
    assert told["echo"]["headers"]["authorization"] == "Bearer [redacted:known_value]"
    assert TOKEN not in str(outcome)
    assert host.injected == {TOKEN}
    (call,) = host.calls
    assert (call.operation_id, call.method, call.path) == ("getPrivate", "GET", "/private/{kind}")
    assert (call.status, call.outcome, call.is_write, call.secret_stripped) == (200, "ok", False, True)
    assert call.duration_ms > 0
    assert call.response_bytes > 0


@pytest.mark.parametrize("operation_id", ["listPages", "listOffsets", "listCursors", "listLinks"])
def test_every_row_of_every_page(bench: Workbench, operation_id: str) -> None:
    method = name_of(bench, operation_id)
    outcome, host = bench.run(
        f"const ids = []; for await (const row of {method}()) ids.push(row.id); return ids"
    )
    assert value_of(outcome) == IDS
    assert len(host.calls) == 3
    assert {call.outcome for call in host.calls} == {"ok"}


def test_links_are_followed_as_they_are_and_never_shown(bench: Workbench) -> None:
    method = name_of(bench, "listLinks")
    auth = {"type": "query", "queryName": "api_key", "secretRef": "secret:TOKEN"}
    outcome, _ = bench.run(f"let n = 0; for await (const row of {method}()) n++; return n", auth=auth)
    assert value_of(outcome) == 7
    assert [seen.path for seen in bench.upstream.seen] == ["/v1/links", *["/v1/links/by-number/7"] * 2]
    assert all(seen.query["api_key"] == [TOKEN] for seen in bench.upstream.seen)


def test_a_link_that_leads_elsewhere_is_blocked(bench: Workbench) -> None:
    bench.upstream.redirect_to = "http://evil.test/v1/links"
    method = name_of(bench, "listLinks")
    outcome, host = bench.run(f"for await (const row of {method}()) {{}}")
    assert isinstance(outcome, ScriptError)
    assert "its host is evil.test" in outcome.message
    assert [call.outcome for call in host.calls] == ["ok", "blocked"]


def test_a_failed_call_throws_what_the_api_said(bench: Workbench) -> None:
    method = name_of(bench, "postStatus")
    outcome, host = bench.run(
        f"""try {{
            const error = {{ code: "no_row", message: "No such row" }};
            await {method}({{ status: 404, body: {{ error }} }});
        }} catch (e) {{
            return [e instanceof Error, e.name, e.message, e.status, e.code, e.body, e.requestId];
        }}"""
    )
    message = "POST /status/{status} answered 404: No such row"
    body = {"error": {"code": "no_row", "message": "No such row"}}
    assert value_of(outcome) == [True, "ApiError", message, 404, "no_row", body, "req-1"]
    assert (host.calls[0].outcome, host.calls[0].error) == ("http_error", message)


def test_wrong_arguments_are_told_before_anything_is_sent(bench: Workbench) -> None:
    method = name_of(bench, "getPart")
    outcome, host = bench.run(f"return await {method}({{ a: 'x', c: 1 }})")
    assert isinstance(outcome, ScriptError)
    assert (outcome.name, outcome.line) == ("TypeError", 1)
    assert outcome.message == (
        "echo.getPart: args.c: unknown argument. It takes a, b.; args.b: this argument is required"
    )
    assert [call.outcome for call in host.calls] == ["refused"]
    assert bench.upstream.seen == []


def test_twenty_calls_at_once(bench: Workbench) -> None:
    method = name_of(bench, "getPart")
    outcome, host = bench.run(
        f"""const all = await Promise.all(
            Array.from({{ length: 20 }}, (_, i) => {method}({{ a: "x", b: i }})));
        return all.map((one) => one.target)"""
    )
    assert value_of(outcome) == [f"/v1/echo/x/parts/{number}" for number in range(20)]
    assert len(host.calls) == 20


def test_what_was_under_way_when_a_script_ended(bench: Workbench) -> None:
    read, write, after = (name_of(bench, name) for name in ("getSlow", "postSlow", "getAfter"))
    outcome, host = bench.run(f"{read}(); {write}(); await {after}({{ seen: 3 }}); return 1")
    assert value_of(outcome) == 1
    assert [(call.outcome, call.status) for call in host.calls] == [
        ("in_flight", None),
        ("unknown", None),
        ("ok", 200),
    ]


def test_the_call_after_the_last_is_refused(bench: Workbench) -> None:
    method = name_of(bench, "getPart")
    outcome, _ = bench.run(f"for (let b = 0; b < 9; b++) await {method}({{ a: 'x', b }})", max_calls=3)
    assert isinstance(outcome, ScriptError)
    assert (outcome.name, "A script may make 3 calls" in outcome.message) == ("LimitError", True)
    assert len(bench.upstream.seen) == 3


def test_a_huge_answer_is_an_error_that_a_script_can_catch(bench: Workbench) -> None:
    method = name_of(bench, "getHuge")
    outcome, _ = bench.run(f"try {{ await {method}() }} catch (e) {{ return [e.name, e.status, e.code] }}")
    assert value_of(outcome) == ["ApiError", 0, "too_large"]
