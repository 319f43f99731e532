"""Which addresses may be reached, and that the one which was checked is the one which is connected to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import ForbiddenAddress, Guard
from ammeter.engines.egress.port import EgressFault, Request
from tests.upstream import Upstream

PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "169.254.170.2", "100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3"),
    *("224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "198.18.0.1"),
    *("192.0.2.1", "198.51.100.7", "203.0.113.9", "100.100.100.200", "168.63.129.16"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.1.2.3"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1"),
    # Teredo: the client's address stands in it with every bit turned.
    *("2001:0:4136:e378:8000:63bf:80ff:fffe", "2001:0:7f00:1::f7f7:f7f7", "2a00:1450::5efe:a00:1"),
    *("not an address", ""),
]
PUBLIC = [
    *("8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "192.167.1.1", "169.253.1.1"),
    *("2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public_are_closed(address: str) -> None:
    assert not Guard().permits(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open(address: str) -> None:
    assert Guard().permits(address)


@pytest.mark.parametrize(
    ("allowed", "address", "opens"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "::ffff:10.1.2.3", True),
        ("10.0.0.0/8", "64:ff9b::a01:203", True),
        ("10.0.0.0/8", "11.0.0.1", True),
        ("10.0.0.0/8", "192.168.0.1", False),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("fd12::/16", "fd12::1", True),
        ("*", "127.0.0.1", True),
        ("*", "10.0.0.1", True),
        ("*", "100.64.0.1", True),
        ("*", "fd12::1", True),
        ("*", "::1", True),
        ("*", "169.254.169.254", False),
        ("*", "::ffff:169.254.169.254", False),
        ("*", "fe80::1", False),
        ("*", "fd00:ec2::254", False),
        ("*", "fd20:ce::254", False),
        ("*", "100.100.100.200", False),
        ("*", "168.63.129.16", False),
        ("*", "0.0.0.0", False),
        ("*", "224.0.0.1", False),
        ("169.254.169.254/32", "169.254.169.254", True),
    ],
)
def test_the_operator_opens_networks(allowed: str, address: str, opens: bool) -> None:
    assert Guard([allowed]).permits(address) is opens


def test_a_name_with_one_closed_address_is_refused_as_a_whole() -> None:
    async def both(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "10.0.0.1"]

    with pytest.raises(ForbiddenAddress, match=r"'mixed\.test' is at 10\.0\.0\.1"):
        asyncio.run(Guard(resolver=both).addresses("mixed.test", 80))


def test_the_system_resolves_names() -> None:
    guard = Guard(["127.0.0.0/8", "::1"])

    async def ask() -> tuple[str, ...]:
        return await guard.addresses("localhost", 80)

    assert set(asyncio.run(ask())) <= {"127.0.0.1", "::1"}
    guard.close()


class Names:
    """A name server of the attacker's: another answer each time."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return [self.answers.pop(0)]


def test_the_checked_address_is_the_one_connected_to(upstream: Upstream) -> None:
    """The second answer would lead away; nobody asks for it."""
    names = Names("127.0.0.1", "10.66.66.66")

    async def go() -> int:
        egress = Egress(Guard(["127.0.0.1"], resolver=names))
        try:
            base = parse_base(f"http://api.test:{upstream.port}/v1")
            request = Request(method="GET", url=f"http://api.test:{upstream.port}/v1/echo")
            return (await egress.send(request, base=base)).status
        finally:
            await egress.close()

    assert asyncio.run(go()) == 200
    assert names.asked == ["api.test"]
    assert upstream.seen[0].headers["host"] == f"api.test:{upstream.port}"


def test_a_name_that_turns_to_a_private_address_is_blocked(upstream: Upstream) -> None:
    names = Names("127.0.0.1")

    async def go() -> None:
        egress = Egress(Guard(resolver=names))
        try:
            base = parse_base(f"http://api.test:{upstream.port}")
            request = Request(method="GET", url=f"http://api.test:{upstream.port}/v1/echo", repeatable=True)
            await egress.send(request, base=base)
        finally:
            await egress.close()

    with pytest.raises(EgressFault, match=r"'api\.test' is at 127\.0\.0\.1") as caught:
        asyncio.run(go())
    assert caught.value.kind == "blocked"
    assert upstream.connections == 0
    assert names.asked == ["api.test"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.1", "localhost"]
)
def test_no_way_of_writing_this_machine_gets_through(upstream: Upstream, host: str) -> None:
    async def go() -> None:
        egress = Egress(Guard())
        try:
            url = f"http://{host}:{upstream.port}/v1/echo"
            await egress.send(
                Request(method="GET", url=url), base=parse_base(f"http://{host}:{upstream.port}")
            )
        finally:
            await egress.close()

    with pytest.raises(EgressFault) as caught:
        asyncio.run(go())
    assert caught.value.kind in ("blocked", "malformed")
    assert upstream.connections == 0
