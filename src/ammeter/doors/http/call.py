"""One authenticated request: whose it is, what it may spend, and the transaction it runs in.

The work of a request is one function of a transaction and a caller, run in one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec, TypeVar

from starlette.types import Scope

from ammeter.base.errors import RateLimited, Unauthenticated, Unavailable
from ammeter.doors.http.edge import notes_of
from ammeter.engines.buckets import Policy, Taken
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.keys import authenticate
from ammeter.features.orgs.model import Actor, Principal
from ammeter.wiring import House

log = logging.getLogger("ammeter.http")

P = ParamSpec("P")
T = TypeVar("T")


class Caller:
    """The principal of a request, and the actor under whose name it changes things."""

    __slots__ = ("actor", "principal")

    def __init__(self, principal: Principal, actor: Actor) -> None:
        self.principal = principal
        self.actor = actor


Work = Callable[Concatenate[Tx, Caller, P], T]


class Call:
    def __init__(self, house: House, scope: Scope) -> None:
        self._house = house
        # Not the scope itself, which holds this call: waste that holds itself is found late, and all at once.
        self._notes = notes_of(scope)
        self._origin: str = scope["client"][0] if scope.get("client") else ""
        self.headers = _headers_of(scope)
        self._caller: Caller | None = None

    @property
    def house(self) -> House:
        return self._house

    async def authenticate(self) -> None:
        """Know the caller, and that it keeps to its rate, before anything else of the request is judged."""
        principal = await self._house.db.read_few(lambda tx: authenticate(tx, bearer_of(self.headers)))
        self._notes.key_id = principal.key.key_id
        actor = Actor(
            kind="key",
            name=principal.key.key_id,
            role=principal.role,
            origin=self._origin,
            request_id=self._notes.request_id,
            source_ids=principal.key.source_ids,
        )
        self._caller = Caller(principal, actor)
        self._house.last_used.note(principal.key)
        await self._spend(principal)

    async def read_few(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """For work that reads a few rows by key; see `Database.read_few`."""
        return await self._house.db.read_few(lambda tx: work(tx, self.caller, *args, **kwargs))

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def step() -> T:
            with self._house.db.read() as tx:
                return work(tx, self.caller, *args, **kwargs)

        return await self._house.db.run(step)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One transaction, committed before the answer leaves."""

        def step() -> T:
            with self._house.db.write() as tx:
                return work(tx, self.caller, *args, **kwargs)

        return await self._house.db.run(step)

    @property
    def caller(self) -> Caller:
        """Who asks; known once the request is authenticated."""
        assert self._caller is not None, "a StrictRoute authenticates before its handler runs"
        return self._caller

    async def _spend(self, principal: Principal) -> None:
        policy, subject = self._house.api_policy, principal.key.id
        try:
            taken = await self._house.buckets.spend(policy, subject)
        except Unavailable:
            # A database that takes no writes still answers reads: the limit gives way, not the caller.
            log.warning("rate limit not applied: the database takes no writes")
            return
        self._tell(
            taken,
            f"More than {policy.burst} requests at once, or {policy.per_second:g} a second, with one key.",
        )

    async def spend(self, policy: Policy, told: str) -> None:
        """A token of a bucket that the whole organization shares; `told` says what there was too much of."""
        subject = self.caller.principal.org.id
        self._tell(await self._house.buckets.spend(policy, subject), told)

    def _tell(self, taken: Taken, told: str) -> None:
        self._notes.headers.extend(rate_headers(taken))
        if not taken.allowed:
            message = f"{told} Try again in {taken.retry_after_s} s."
            raise RateLimited(message, retry_after_s=taken.retry_after_s)


def _headers_of(scope: Scope) -> Mapping[str, str]:
    """By name in lower case, the first where one came twice. Each look into starlette's walks all of them."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}


def bearer_of(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated
    return token.strip()


def rate_headers(taken: Taken) -> list[tuple[bytes, bytes]]:
    """RateLimit fields as the IETF draft has them: remaining quota, seconds until there is more."""
    policy = taken.policy
    window_s = policy.window_s
    wait_s = taken.retry_after_s or window_s
    return [
        (b"ratelimit-policy", f'"{policy.name}";q={policy.burst};w={window_s}'.encode()),
        (b"ratelimit", f'"{policy.name}";r={taken.remaining};t={wait_s}'.encode()),
    ]
