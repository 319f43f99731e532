"""What a person changes of themselves: their name and their password.

A person is one in all their organizations, so each of them finds the change in its audit log. Addresses are
absent: they are how a member is known, and the members' page is the place for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ammeter.base.errors import Conflict, Detail, ValidationFailed
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, sessions, store
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.members import hash_password, password_fits
from ammeter.features.orgs.model import Actor, SignedIn


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    """Of somebody who knew the old one, both as hashes."""

    was: str = field(repr=False)
    becomes: str = field(repr=False)


def has_password(tx: Tx, signed_in: SignedIn) -> bool:
    """Whether they can sign in with one, or only at another service."""
    return store.find_password_hash(tx, signed_in.email) is not None


def rename(tx: Tx, actor: Actor, signed_in: SignedIn, name: str) -> str:
    name = checked(Name, name, "$.name")
    if name != signed_in.name:
        store.set_person_name(tx, signed_in.person_id, name)
        for each in signed_in.memberships:
            audit.record(
                tx, actor, each.org.id, "member.rename", signed_in.email, to=name, was=signed_in.name
            )
    return name


def check_password(tx: Tx, signed_in: SignedIn, *, current: str, new: str) -> NewPassword:
    """What `change_password` takes. Slow on purpose, so not for a transaction that writes."""
    hashed = store.find_password_hash(tx, signed_in.email)
    if hashed is None:
        raise Conflict("You have no password here: you sign in at another service.")
    if not password_fits(hashed, current):
        raise ValidationFailed([Detail(path="$.current", message="this is not your password")])
    becomes = hash_password(new)
    if new == current:
        raise ValidationFailed([Detail(path="$.password", message="this is your password already")])
    return NewPassword(was=hashed, becomes=becomes)


def change_password(tx: Tx, actor: Actor, signed_in: SignedIn, new: NewPassword) -> str:
    """The token of the session that goes on; every other session of this person has ended."""
    if not store.replace_password_hash(tx, signed_in.person_id, was=new.was, becomes=new.becomes):
        raise Conflict("Your password was changed at the same moment; sign in with the new one.")
    for each in signed_in.memberships:
        audit.record(tx, actor, each.org.id, "member.password", signed_in.email)
    return sessions.renew(tx, signed_in)
