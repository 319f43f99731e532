"""Which session a request belongs to: a known `mcp-session-id`; else a handle that the agent echoes; else the
trace of its `traceparent`; else the session of the same key and client within 30 minutes; else a new one.

A token is a session's id with a signature under a key that all nodes share, bound to organization, source,
environment and API key: any node knows it again without a look into the database, also after a restart.
Anything else is not an error, it is unknown. Nothing here fails a request.
"""

from __future__ import annotations

import base64
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from ammeter.base.clock import now
from ammeter.base.errors import AmmeterError
from ammeter.base.ids import is_id, new_id
from ammeter.engines.db.database import Database, Tx
from ammeter.features.telemetry import session_store
from ammeter.features.telemetry.model import SessionSource

log = logging.getLogger("ammeter.telemetry")

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
Client = tuple[str, str]
"""Name and version; empty where a client does not tell them."""

KEY_PURPOSE = "session ids"
"""What the keys are derived for: `Secrets.derived_keys(KEY_PURPOSE)`."""
RECENT = timedelta(minutes=30)
_TRACED = timedelta(days=1)

_NEW: SessionSource = "new"
_SIGNATURE_BYTES = 16
_MAX_TOKEN = 100
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session happens; sessions of different places never meet."""

    org_id: str
    source_id: str
    environment: str
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Of a request: its session, how that was told, and the handle by which it will be known again."""

    id: str
    source: SessionSource
    handle: str
    """To hand out as `mcp-session-id`, and to agents that echo it."""
    trace_id: str | None
    client_name: str
    client_version: str


class SessionKeeper:
    def __init__(
        self,
        db: Database,
        keys: Callable[[], Sequence[bytes]],
        *,
        remembered: int = 20_000,
        reread_keys_s: float = 10.0,
    ) -> None:
        """`keys`: the first signs, all verify; asked again when a signature is not known, but not more often
        than every so many seconds."""
        self._db = db
        self._read_keys = keys
        self._keys = tuple(keys())
        self._keys_read_at = time.monotonic()
        self._reread_keys_s = reread_keys_s
        # By place and trace or client: which session, and when it was last heard of.
        self._latest = _Memory[tuple[Place, str], tuple[str, datetime]](remembered)
        self._clients = _Memory[str, Client](remembered)

    async def identify(
        self,
        *,
        org_id: str,
        source_id: str,
        environment: str,
        key_id: str,
        client_name: str = "",
        client_version: str = "",
        header: str | None = None,
        handle: str | None = None,
        traceparent: str | None = None,
        starts_anew: bool = False,
        at: datetime | None = None,
    ) -> Identity:
        """`starts_anew`: the request begins a session whatever it carries, as `initialize` does."""
        place = Place(org_id=org_id, source_id=source_id, environment=environment, key_id=key_id)
        at = at or now()
        client, trace_id = (client_name, client_version), trace_of(traceparent)
        found = None
        if not starts_anew:
            found = await self._belongs_to(place, client, header, handle, trace_id, at)
        session_id, source = found or (new_id(), _NEW if starts_anew or trace_id is None else "traceparent")
        if not client_name and source != _NEW:
            client = await self._client_of(place, session_id)
        self._remember(place, session_id, client, trace_id, at)
        return Identity(
            id=session_id,
            source=source,
            handle=f"{session_id}.{_signature(self._keys[0], place, session_id)}",
            trace_id=trace_id,
            client_name=client[0],
            client_version=client[1],
        )

    async def _belongs_to(
        self,
        place: Place,
        client: Client,
        header: str | None,
        handle: str | None,
        trace_id: str | None,
        at: datetime,
    ) -> tuple[str, SessionSource] | None:
        if session_id := self._known(place, header):
            return session_id, "header"
        if session_id := self._known(place, handle):
            return session_id, "handle"
        if trace_id:
            found = await self._heard_of(place, _trace_key(trace_id), at - _TRACED, trace_id=trace_id)
            return (found, "traceparent") if found else None
        # A client that does not tell its name on later requests is whoever was here last.
        known_client = client if client[0] else None
        found = await self._heard_of(place, _client_key(known_client), at - RECENT, client=known_client)
        return (found, "recent") if found else None

    async def _heard_of(
        self,
        place: Place,
        what: str,
        since: datetime,
        *,
        trace_id: str | None = None,
        client: Client | None = None,
    ) -> str | None:
        known = self._latest.get((place, what))
        if known and known[1] >= since:
            return known[0]
        return await self._look(
            lambda tx: session_store.find_recent_session(
                tx, **asdict(place), trace_id=trace_id, client=client, since=since
            )
        )

    async def _client_of(self, place: Place, session_id: str) -> Client:
        """Clients of the older protocol tell their names once, when they connect."""
        if known := self._clients.get(session_id):
            return known
        session = await self._look(lambda tx: session_store.find_session(tx, place.org_id, session_id))
        return (session.client_name, session.client_version) if session else ("", "")

    async def _look(self, work: Callable[[Tx], T]) -> T | None:
        try:
            return await self._db.read_few(work)
        except AmmeterError as fault:
            log.warning("a session could not be looked up: %s", fault.message)
            return None

    def _remember(
        self, place: Place, session_id: str, client: Client, trace_id: str | None, at: datetime
    ) -> None:
        self._clients.put(session_id, client)
        keys = {_client_key(None), _client_key(client if client[0] else None)}
        if trace_id:
            keys.add(_trace_key(trace_id))
        for key in keys:
            self._latest.put((place, key), (session_id, at))

    def _known(self, place: Place, token: str | None) -> str | None:
        """The session that a token of ours names."""
        if not token or len(token) > _MAX_TOKEN or not token.isascii():
            return None
        session_id, _, signature = token.partition(".")
        if not is_id(session_id):
            return None
        if self._is_signed(place, session_id, signature):
            return session_id
        # The keys may have been rotated since: another node signs with one that this one has not seen.
        if time.monotonic() - self._keys_read_at < self._reread_keys_s or not self._read_keys_anew():
            return None
        return session_id if self._is_signed(place, session_id, signature) else None

    def _is_signed(self, place: Place, session_id: str, signature: str) -> bool:
        return any(hmac.compare_digest(_signature(key, place, session_id), signature) for key in self._keys)

    def _read_keys_anew(self) -> bool:
        self._keys_read_at = time.monotonic()
        try:
            keys = tuple(self._read_keys())
        except AmmeterError:
            return False
        changed = keys != self._keys
        self._keys = keys
        return changed


def trace_of(traceparent: str | None) -> str | None:
    """The trace id of a W3C `traceparent`; None where it is none, or says that there is no trace."""
    found = _TRACEPARENT.fullmatch((traceparent or "").strip())
    if found is None or found[1] == "0" * 32 or found[0].startswith("ff"):
        return None
    return found[1]


def _signature(key: bytes, place: Place, session_id: str) -> str:
    signed = "\0".join((session_id, place.org_id, place.source_id, place.environment, place.key_id))
    digest = hmac.digest(key, signed.encode(), "sha256")[:_SIGNATURE_BYTES]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _trace_key(trace_id: str) -> str:
    return f"trace {trace_id}"


def _client_key(client: Client | None) -> str:
    return f"client {client[0]}\0{client[1]}" if client else "client"


class _Memory(Generic[K, V]):
    """What was put in last, up to so much; what goes is in the database."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
