"""Sessions of people at the dashboard: begin, recognise, choose an organization, list, end.

The token is 256 random bits that only the browser has; its SHA-256 is stored. A session ends when it was
idle for too long, and in any case after its time, and at a sign-in a new one always begins. The role is read
from the members each time, so that a change holds at the next request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from ammeter.base.clock import now
from ammeter.base.errors import InsufficientRole, NotFound
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, store
from ammeter.features.orgs.model import Actor, SignedIn

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_SEEN_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    idle: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSession:
    """One of a person's sessions, as they are shown it."""

    id: str
    began_at: datetime
    seen_at: datetime
    org_name: str
    is_this: bool


def begin(tx: Tx, *, email: str, origin: str, request_id: str | None, old_token: str = "") -> str:
    """The token of a new session, for a person whose password was right; what the browser had before ends.
    InsufficientRole where they are a member of nothing."""
    at = now()
    person_id = store.find_person_id(tx, email.lower())
    memberships = store.list_memberships(tx, person_id) if person_id else ()
    if person_id is None or not memberships:
        raise InsufficientRole("You are a member of no organization here; ask an admin to add you.")
    if _TOKEN.fullmatch(old_token):
        store.delete_session(tx, _hash(old_token))
    chosen = memberships[0]
    token = _insert(tx, person_id, chosen.org.id, at)
    actor = Actor(kind="member", name=email.lower(), role=chosen.role, origin=origin, request_id=request_id)
    for each in memberships:
        audit.record(tx, actor, each.org.id, "member.sign_in", email.lower())
    return token


def find(tx: Tx, token: str, life: Lifetime) -> SignedIn | None:
    """Who is signed in with this token; None where nobody is, any more."""
    if not _TOKEN.fullmatch(token):
        return None
    row = store.find_session(tx, _hash(token))
    if row is None or _is_over(row["created_at"], row["seen_at"], life):
        return None
    memberships = store.list_memberships(tx, row["person_id"])
    if not memberships:
        return None
    chosen = next((each for each in memberships if each.org.id == row["org_id"]), memberships[0])
    return SignedIn(
        session_id=row["id"],
        person_id=row["person_id"],
        email=row["email"],
        name=row["name"],
        seen_at=row["seen_at"],
        memberships=memberships,
        chosen=chosen,
    )


def is_seen_lately(signed_in: SignedIn) -> bool:
    """Whether its row need not be written again yet: not every request is a write."""
    return now() - signed_in.seen_at < _SEEN_EVERY


def note_seen(tx: Tx, signed_in: SignedIn) -> None:
    store.change_session(tx, signed_in.session_id, {"seen_at": now()})


def choose_org(tx: Tx, signed_in: SignedIn, slug: str) -> None:
    for each in signed_in.memberships:
        if each.org.slug == slug:
            store.change_session(tx, signed_in.session_id, {"org_id": each.org.id})
            return
    raise NotFound("organization")


def list_own(tx: Tx, signed_in: SignedIn, life: Lifetime) -> list[OwnSession]:
    """Those of this person that still hold, the last seen first."""
    return [
        OwnSession(
            id=row["id"],
            began_at=row["created_at"],
            seen_at=row["seen_at"],
            org_name=row["org_name"] or "",
            is_this=row["id"] == signed_in.session_id,
        )
        for row in store.list_sessions_of(tx, signed_in.person_id)
        if not _is_over(row["created_at"], row["seen_at"], life)
    ]


def end_others(tx: Tx, actor: Actor, signed_in: SignedIn) -> int:
    """How many sessions of this person ended; this one goes on."""
    ended = store.delete_sessions_of(tx, signed_in.person_id, but=signed_in.session_id)
    for each in signed_in.memberships:
        audit.record(tx, actor, each.org.id, "member.sign_out_others", signed_in.email, sessions=ended)
    return ended


def renew(tx: Tx, signed_in: SignedIn) -> str:
    """The token of a new session in place of every one of this person, for the browser that asks."""
    store.delete_sessions_of(tx, signed_in.person_id)
    return _insert(tx, signed_in.person_id, signed_in.org.id, now())


def end(tx: Tx, token: str) -> None:
    if _TOKEN.fullmatch(token):
        store.delete_session(tx, _hash(token))


def prune(tx: Tx, life: Lifetime, at: datetime) -> int:
    """Forget sessions that are over."""
    return store.delete_old_sessions(tx, seen_before=at - life.idle, made_before=at - life.longest)


def _insert(tx: Tx, person_id: str, org_id: str, at: datetime) -> str:
    token = secrets.token_urlsafe(32)
    store.insert_session(
        tx, session_id=new_id(), token_hash=_hash(token), person_id=person_id, org_id=org_id, at=at
    )
    return token


def _is_over(created_at: datetime, seen_at: datetime, life: Lifetime) -> bool:
    at = now()
    return at - seen_at > life.idle or at - created_at > life.longest


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
