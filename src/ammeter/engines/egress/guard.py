"""Which addresses a request may reach: a host's name in, addresses out that were checked and are the very
ones to connect to.

Public addresses are open; private, loopback, link-local and other special ones only where the operator
allows their network. A name with one forbidden address among its answers is refused as a whole. Tables are
our own: what `ipaddress` calls global changes with the version of Python.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host's name and port in, its addresses out; OSError where it has none."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

EVERYTHING = "*"
_MOST_PASSED = 10_000

# IANA's special-purpose registries; 168.63.129.16 is where Azure's machines find their host.
_SPECIAL_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
    )
)
_GLOBAL_V6 = (ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("64:ff9b::/96"))
_SPECIAL_V6 = tuple(
    ipaddress.IPv6Network(text)
    for text in ("2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20")
)
# What `*` does not open: no API of one's own lives there, but a cloud's credentials do, or every machine.
_ONLY_BY_NAME = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8"),
        *("fd00:ec2::/32", "fd20:ce::254/128"),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


class ForbiddenAddress(OSError):
    """The host is, or resolves to, an address that is not allowed."""


class Guard:
    def __init__(self, allowed: Iterable[str] = (), *, resolver: Resolver | None = None) -> None:
        """`allowed`: networks such as `10.0.0.0/8`, or `*`."""
        words = tuple(allowed)
        self._any = EVERYTHING in words
        networks = [word for word in words if word != EVERYTHING]
        self._allowed = tuple(ipaddress.ip_network(word, strict=False) for word in networks)
        self._passed: set[str] = set()
        self._threads: ThreadPoolExecutor | None = None
        self._resolver = resolver or self._ask_system

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Where the host is; ForbiddenAddress where any of it may not be reached."""
        found = tuple(await self._resolver(host, port))
        if not found:
            raise OSError(f"The name {host!r} has no address.")
        for address in found:
            self.check(host, address)
        return found

    def check_literal(self, host: str) -> None:
        """The same for a host that is an address itself; a name passes."""
        if host not in self._passed and _literal(host) is not None:
            self.check(host, host.strip("[]"))
        if len(self._passed) < _MOST_PASSED:
            self._passed.add(host)

    def check(self, host: str, address: str) -> None:
        if not self.permits(address):
            raise ForbiddenAddress(
                f"{host!r} is at {address}, which is not a public address; the operator can allow its"
                " network with AMMETER_ALLOW_PRIVATE_NETWORKS."
            )

    def permits(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return all(self._permits(face) for face in _faces(parsed))

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _permits(self, address: Address) -> bool:
        if not _is_special(address) or _within(address, self._allowed):
            return True
        return self._any and not _within(address, _ONLY_BY_NAME)

    async def _ask_system(self, host: str, port: int) -> Sequence[str]:
        # Threads of its own: a slow name server holds up nothing but names.
        if self._threads is None:
            self._threads = ThreadPoolExecutor(8, thread_name_prefix="dns")
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _ask, host, port)
        return tuple(dict.fromkeys(str(row[4][0]) for row in found))


def _ask(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str | int, ...]]]:
    flags = socket.AI_ADDRCONFIG
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)  # type: ignore[return-value]


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _is_special(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return _within(address, _SPECIAL_V4)
    return not _within(address, _GLOBAL_V6) or _within(address, _SPECIAL_V6)


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _faces(address: Address) -> list[Address]:
    """The address, and every IPv4 address that a translator or tunnel could reach through it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    faces: list[Address] = [address]
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    if address in _NAT64 or isatap or (address in _COMPATIBLE and int(address) > 1):
        faces.append(last)
    if address.sixtofour is not None:
        faces.append(address.sixtofour)
    if address.teredo is not None:
        faces += address.teredo
    return faces
