"""A server that does it wrong is one fault of a known kind, with a sentence for a person; never a hang."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping

import pytest

from ammeter.engines.egress.guard import Guard
from ammeter.engines.mcp_client.connect import connect
from ammeter.engines.mcp_client.port import FaultKind, Limits, SourceFault, Target, Transport
from tests.engines.mcp_client.faulty import (
    Answer,
    answering,
    flood,
    flood_of_events,
    hang_up,
    nonsense,
    said,
    silence,
)

LOCAL = ("127.0.0.0/8",)
SHORT = Limits(initialize_s=1.0, connect_s=1.0)


async def fault_at(
    url: str,
    *,
    transport: Transport = "streamable_http",
    allowed: tuple[str, ...] = LOCAL,
    headers: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    guard: Guard | None = None,
) -> SourceFault:
    target = Target(
        transport=transport,
        url=url,
        headers=headers or {},
        secrets=frozenset((headers or {}).values()),
        limits=limits or Limits(),
    )
    async with asyncio.timeout(30):
        async with connect(target, guard=guard or Guard(allowed)) as connection:
            with pytest.raises(SourceFault) as caught:
                await connection.initialize()
            with pytest.raises(SourceFault):
                await connection.list_tools()
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (said("401 Unauthorized"), "auth", "401.*auth profile"),
        (said("403 Forbidden"), "auth", "403"),
        (said("404 Not Found"), "protocol", "nothing at /mcp"),
        (said("500 Oops"), "unreachable", "answers 500"),
        (said("503 Busy"), "unreachable", "answers 503"),
        (said("429 Slow down"), "unreachable", "429"),
        (said("200 OK", b"<html>hello</html>", "text/html"), "protocol", "not as an MCP server does"),
        (said("200 OK", b"not json at all"), "protocol", "not as an MCP server does"),
        (said("200 OK", b'{"hello": "world"}'), "protocol", "not as an MCP server does"),
        (said("200 OK", b"data: nonsense\n\n", "text/event-stream"), "protocol", ""),
        (said("202 Accepted"), "protocol", ""),
        (nonsense, "protocol", "not as MCP has it"),
        (
            said("307 Temporary Redirect", location="http://169.254.169.254/latest/meta-data"),
            "blocked",
            "redirects to http://169.254.169.254",
        ),
        (said("302 Found", location="http://10.0.0.1/"), "blocked", "redirects to http://10.0.0.1"),
        (hang_up, "unreachable", "broke"),
        (flood, "too_large", "over 10 MiB"),
        (flood_of_events, "too_large", ""),
        (said("200 OK", b"x" * 10, content_encoding="gzip"), "protocol", "compresses"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:30],
)
def test_a_wrong_answer_has_its_fault(answer: Answer, kind: FaultKind, words: str) -> None:
    async def story() -> SourceFault:
        async with answering(answer) as url:
            return await fault_at(url, limits=Limits(initialize_s=8.0))

    fault = asyncio.run(story())
    assert fault.kind == kind, fault.message
    assert re.search(words, fault.message), fault.message


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
def test_a_silent_server_is_not_waited_for_longer_than_told(transport: Transport) -> None:
    async def story() -> SourceFault:
        async with answering(silence) as url:
            return await fault_at(url, transport=transport, limits=SHORT)

    assert asyncio.run(story()).kind == "timeout"


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
def test_nobody_listens(transport: Transport) -> None:
    fault = asyncio.run(fault_at("http://127.0.0.1:9/mcp", transport=transport))
    assert fault.kind == "unreachable"
    assert "Nothing listens at 127.0.0.1:9" in fault.message


def test_sse_without_credentials_is_told_so() -> None:
    async def story() -> SourceFault:
        async with answering(said("401 Unauthorized")) as url:
            return await fault_at(url, transport="sse")

    assert asyncio.run(story()).kind == "auth"


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.1.2.3"])
def test_private_addresses_are_not_reached(transport: Transport, host: str) -> None:
    fault = asyncio.run(fault_at(f"http://{host}:9/mcp", transport=transport, allowed=()))
    assert fault.kind == "blocked"
    assert "AMMETER_ALLOW_PRIVATE_NETWORKS" in fault.message


def test_a_public_name_that_leads_to_a_private_address_is_not_reached() -> None:
    async def rebound(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    fault = asyncio.run(fault_at("http://mcp.example.com/mcp", guard=Guard((), resolver=rebound)))
    assert fault.kind == "blocked"


def test_a_name_that_nobody_has_is_told() -> None:
    async def nobody(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    fault = asyncio.run(fault_at("http://mcp.example.com/mcp", guard=Guard((), resolver=nobody)))
    assert (fault.kind, "mcp.example.com" in fault.message) == ("unreachable", True)


def test_our_own_endpoint_may_be_at_a_private_address() -> None:
    async def story() -> SourceFault:
        async with answering(said("401 Unauthorized")) as url:
            target = Target(transport="streamable_http", url=url, own=True)
            async with connect(target, guard=Guard(())) as connection:
                with pytest.raises(SourceFault) as caught:
                    await connection.initialize()
            return caught.value

    assert asyncio.run(story()).kind == "auth"


def test_a_credential_that_a_server_sends_back_is_not_in_the_fault() -> None:
    secret = "hunter2-hunter2"
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"wrong key hunter2-hunter2"}}'

    async def story() -> SourceFault:
        async with answering(said("400 Bad Request", body)) as url:
            return await fault_at(url, headers={"X-Key": secret})

    fault = asyncio.run(story())
    assert "wrong key ***" in fault.message
    assert secret not in fault.message


def process(script: str, **limits: float) -> SourceFault:
    target = Target(
        transport="stdio",
        command=(sys.executable, "-c", script),
        secrets=frozenset({"s3cret-value"}),
        limits=Limits(**{"initialize_s": 20.0, "close_s": 0.5} | limits),  # type: ignore[arg-type]
    )

    async def story() -> SourceFault:
        async with connect(target, guard=Guard(())) as connection:
            with pytest.raises(SourceFault) as caught:
                await connection.initialize()
        return caught.value

    return asyncio.run(story())


def test_a_process_that_ends_is_quoted_without_its_secrets() -> None:
    fault = process("import sys; sys.stderr.write('no key s3cret-value\\n'); sys.exit(3)")
    assert fault.kind == "unreachable"
    assert "exit code 3" in fault.message
    assert "no key ***" in fault.message


def test_a_process_that_floods_is_stopped() -> None:
    assert process("import sys\nwhile True: sys.stdout.write('x' * 65536)").kind == "too_large"


def test_a_process_that_says_nothing_is_not_waited_for() -> None:
    assert process("import time; time.sleep(600)", initialize_s=1.0).kind == "timeout"


def test_a_program_that_is_not_there_is_named() -> None:
    target = Target(transport="stdio", command=("/no/such/program",))

    async def story() -> SourceFault:
        async with connect(target, guard=Guard(())) as connection:
            with pytest.raises(SourceFault) as caught:
                await connection.initialize()
        return caught.value

    fault = asyncio.run(story())
    assert fault.kind == "unreachable"
    assert "/no/such/program" in fault.message
