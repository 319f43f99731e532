"""API keys `amt_<key_id>_<secret>`: mint, list, revoke, authenticate.

The secret is 240 random bits, shown once; a salted SHA-256 of it is stored. A slow hash would only
cost every request: there is nothing to guess in 240 bits.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Sequence
from datetime import datetime

from ammeter.base.clock import now
from ammeter.base.errors import (
    Conflict,
    Detail,
    InsufficientRole,
    NotFound,
    Unauthenticated,
    ValidationFailed,
)
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.features.orgs import audit, store
from ammeter.features.orgs.model import Actor, ApiKey, Principal, Role

_TOKEN = re.compile(r"amt_([a-z2-7]{12})_([a-z2-7]{48})")


def mint_key(
    tx: Tx,
    actor: Actor,
    org_id: str,
    *,
    name: str,
    role: Role,
    expires_at: datetime | None = None,
    source_ids: Sequence[str] | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its token; the token can never be read again."""
    actor.need(Role.admin, to="mint an API key")
    if role > actor.role:
        raise InsufficientRole(f"A key's role cannot be above yours, which is {actor.role.name}.")
    if actor.source_ids is not None and not set(source_ids or ()) <= set(actor.source_ids):
        raise InsufficientRole("Your key is limited to some sources; a key it mints cannot reach others.")
    if actor.source_ids is not None and source_ids is None:
        raise InsufficientRole("Your key is limited to some sources; name the sources of the key it mints.")
    at = now()
    if expires_at is not None and expires_at <= at:
        raise ValidationFailed([Detail(path="$.expiresAt", message="a key must expire in the future")])
    key_id, secret, salt = _random_base32(8)[:12], _random_base32(30), secrets.token_bytes(16)
    key = ApiKey(
        id=new_id(),
        org_id=org_id,
        key_id=key_id,
        name=name,
        role=role,
        source_ids=None if source_ids is None else tuple(source_ids),
        created_by=actor.name,
        created_at=at,
        expires_at=expires_at,
        revoked_at=None,
        last_used_at=None,
    )
    store.insert_key(tx, key, salt=salt, secret_hash=_hash(salt, secret))
    sources = None if source_ids is None else list(source_ids)
    audit.record(tx, actor, org_id, "key.mint", key_id, name=name, role=role.name, source_ids=sources)
    return key, f"amt_{key_id}_{secret}"


def list_keys(tx: Tx, actor: Actor, org_id: str, page: PageRequest) -> Page[ApiKey]:
    actor.need(Role.admin, to="list API keys")
    return store.list_keys(tx, org_id, page)


def revoke_key(tx: Tx, actor: Actor, org_id: str, id_or_key_id: str) -> ApiKey:
    actor.need(Role.admin, to="revoke an API key")
    key = store.find_key(tx, org_id, id_or_key_id)
    if key is None:
        raise NotFound("API key")
    if key.role > actor.role:
        raise InsufficientRole(f"A key of the role {key.role.name} is revoked by that role only.")
    if not store.revoke_key(tx, key.id, now()):
        raise Conflict(f"The key {key.key_id} is revoked already.")
    audit.record(tx, actor, org_id, "key.revoke", key.key_id, name=key.name)
    return store.find_key(tx, org_id, key.id) or key


def authenticate(tx: Tx, token: str | None) -> Principal:
    """Whose token this is, read from the database each time, so that a revocation holds at once."""
    parts = _TOKEN.fullmatch(token or "")
    if parts is None:
        raise Unauthenticated
    found = store.find_key_with_org(tx, parts[1])
    if found is None:
        raise Unauthenticated
    key, org, salt, secret_hash = found
    if not hmac.compare_digest(_hash(salt, parts[2]), secret_hash) or not key.is_live(now()):
        raise Unauthenticated
    return Principal(org=org, key=key)


class LastUsed:
    """Remembers when keys were used and writes it now and then: a request never waits for it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._seen: dict[str, datetime] = {}

    def note(self, key: ApiKey) -> None:
        with self._lock:
            self._seen[key.id] = now()

    def flush(self) -> None:
        with self._lock:
            seen, self._seen = self._seen, {}
        if not seen:
            return
        try:
            with self._db.write() as tx:
                store.note_keys_used(tx, seen)
        except BaseException:
            with self._lock:
                self._seen = seen | self._seen
            raise


def _random_base32(size: int) -> str:
    return base64.b32encode(secrets.token_bytes(size)).decode().lower().rstrip("=")


def _hash(salt: bytes, secret: str) -> bytes:
    return hashlib.sha256(salt + secret.encode()).digest()
