"""Members: people in an organization and their roles. An organization always keeps an owner."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, InsufficientRole, NotFound, ValidationFailed
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, store
from ammeter.features.orgs.fields import Email, Name, Password, checked
from ammeter.features.orgs.model import Actor, Member, Role

_hasher = PasswordHasher()


def add_member(
    tx: Tx, actor: Actor, org_id: str, *, email: str, name: str, role: Role, password: str | None = None
) -> Member:
    """Add a person, new or known; a known person keeps their name and password."""
    _may_give(actor, role)
    email, name = checked(Email, email, "$.email"), checked(Name, name, "$.name")
    store.lock_members(tx, org_id)
    if store.find_member(tx, org_id, email):
        raise Conflict(f"{email} is a member already.")
    person_id = store.find_person_id(tx, email)
    if person_id is None:
        hashed = hash_password(password) if password else None
        person_id = store.insert_person(
            tx, person_id=new_id(), email=email, name=name, password_hash=hashed, at=now()
        )
    store.insert_member(tx, member_id=new_id(), org_id=org_id, person_id=person_id, role=role, at=now())
    audit.record(tx, actor, org_id, "member.add", email, role=role.name)
    return get_member(tx, org_id, email)


def is_known(tx: Tx, email: str) -> bool:
    """Whether a person with this address is a member anywhere on this server."""
    return store.find_person_id(tx, email.lower()) is not None


def get_member(tx: Tx, org_id: str, id_or_email: str) -> Member:
    member = store.find_member(tx, org_id, id_or_email)
    if member is None:
        raise NotFound("member")
    return member


def list_members(tx: Tx, org_id: str, page: PageRequest) -> Page[Member]:
    return store.list_members(tx, org_id, page)


def set_role(tx: Tx, actor: Actor, org_id: str, id_or_email: str, role: Role) -> Member:
    _may_give(actor, role)
    store.lock_members(tx, org_id)
    member = get_member(tx, org_id, id_or_email)
    _may_change(tx, actor, member, keeps_owner=role is Role.owner)
    store.set_member_role(tx, member.id, role)
    audit.record(tx, actor, org_id, "member.role", member.email, role=role.name, was=member.role.name)
    return get_member(tx, org_id, member.id)


def remove_member(tx: Tx, actor: Actor, org_id: str, id_or_email: str) -> Member:
    actor.need(Role.admin, to="remove a member")
    store.lock_members(tx, org_id)
    member = get_member(tx, org_id, id_or_email)
    _may_change(tx, actor, member, keeps_owner=False)
    store.delete_member(tx, member.id)
    audit.record(tx, actor, org_id, "member.remove", member.email, was=member.role.name)
    return member


def set_password(tx: Tx, actor: Actor, org_id: str, id_or_email: str, password: str) -> Member:
    """The operator's way to let somebody in again; whoever is signed in as them is not any more."""
    member = get_member(tx, org_id, id_or_email)
    store.set_password_hash(tx, member.person_id, hash_password(password))
    store.delete_sessions_of(tx, member.person_id)
    audit.record(tx, actor, org_id, "member.password", member.email)
    return member


def password_is_right(tx: Tx, email: str, password: str) -> bool:
    try:
        hashed = store.find_password_hash(tx, checked(Email, email, "$.email"))
    except ValidationFailed:
        return False
    # An unknown address takes as long as a wrong password: the time tells nobody who is a member.
    return password_fits(hashed or _nobodys_hash(), password) and hashed is not None


def password_fits(hashed: str, password: str) -> bool:
    try:
        return _hasher.verify(hashed, password)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


@cache
def _nobodys_hash() -> str:
    return _hasher.hash(secrets.token_urlsafe(32))


def new_password() -> str:
    return secrets.token_urlsafe(15)


def hash_password(password: str) -> str:
    """Slow on purpose; ValidationFailed where it is too short or too long."""
    return _hasher.hash(checked(Password, password, "$.password"))


def _may_give(actor: Actor, role: Role) -> None:
    actor.need(Role.admin, to="manage members")
    if role is Role.owner:
        actor.need(Role.owner, to="make an owner")


def _may_change(tx: Tx, actor: Actor, member: Member, *, keeps_owner: bool) -> None:
    if member.role is not Role.owner or keeps_owner:
        return
    if actor.role < Role.owner:
        raise InsufficientRole("Only an owner changes or removes an owner.")
    if store.list_owner_ids(tx, member.org_id) == [member.id]:
        raise Conflict(f"{member.email} is the only owner; make another owner first.")
