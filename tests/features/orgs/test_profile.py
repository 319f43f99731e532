"""What a person changes of themselves, and their sessions: on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest

from ammeter.base.errors import Conflict, ValidationFailed
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.features.orgs import audit, members, profile, sessions
from ammeter.features.orgs.model import Actor, AuditEvent, Organization, Role, SignedIn
from tests.household import OPERATOR
from tests.shared import at_once, new_org

OLD, NEW = "the old password", "the new password"
LIFE = sessions.Lifetime(idle=timedelta(hours=1), longest=timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Someone:
    """Signed in, a member of two organizations."""

    db: Database
    email: str
    token: str
    orgs: tuple[Organization, ...]

    def at(self, token: str) -> SignedIn | None:
        with self.db.read() as tx:
            return sessions.find(tx, token, LIFE)

    @property
    def signed_in(self) -> SignedIn:
        found = self.at(self.token)
        assert found is not None
        return found

    @property
    def actor(self) -> Actor:
        return Actor(kind="member", name=self.email, role=Role.viewer, origin="203.0.113.7")

    def enter(self) -> str:
        with self.db.write() as tx:
            return sessions.begin(tx, email=self.email, origin="203.0.113.7", request_id=None)

    def knows(self, password: str) -> bool:
        with self.db.read() as tx:
            return members.password_is_right(tx, self.email, password)

    def checked(self, current: str = OLD, new: str = NEW) -> profile.NewPassword:
        with self.db.read() as tx:
            return profile.check_password(tx, self.signed_in, current=current, new=new)

    def logged(self, action: str) -> list[tuple[str | None, str, str, object]]:
        with self.db.read() as tx:
            found = [each for org in self.orgs for each in _events(tx, org) if each.action == action]
            return [(each.org_id, each.actor, each.target, each.details) for each in found]


def _events(tx: Tx, org: Organization) -> Sequence[AuditEvent]:
    return audit.list_events(tx, OPERATOR, org.id, PageRequest()).rows


@pytest.fixture
def someone(shared_db: Database, org: Organization) -> Someone:
    return _made(shared_db, org, OLD)


def _made(db: Database, org: Organization, password: str | None) -> Someone:
    email = f"p{new_id()}@example.com"
    with db.write() as tx:
        orgs = (org, new_org(tx))
        for each in orgs:
            members.add_member(
                tx, OPERATOR, each.id, email=email, name="Ada", role=Role.viewer, password=password
            )
        token = sessions.begin(tx, email=email, origin="203.0.113.7", request_id=None)
    return Someone(db, email, token, orgs)


def test_a_new_password_holds_and_ends_every_session_but_a_fresh_one(someone: Someone) -> None:
    other, before, new = someone.enter(), someone.signed_in, someone.checked()
    with someone.db.write() as tx:
        token = profile.change_password(tx, someone.actor, before, new)
    assert someone.knows(NEW)
    assert not someone.knows(OLD)
    assert someone.at(other) is None
    assert someone.at(someone.token) is None, "whoever has the old token of this browser is out as well"
    after = someone.at(token)
    assert after is not None
    assert after.session_id != before.session_id
    assert (after.person_id, after.org) == (before.person_id, before.org)
    assert sorted(someone.logged("member.password")) == sorted(
        (org.id, someone.email, someone.email, {}) for org in someone.orgs
    )


@pytest.mark.parametrize(
    ("current", "new", "path", "told"),
    [
        ("not the password", NEW, "$.current", "this is not your password"),
        (OLD, "too short", "$.password", "a password has 12 to 256 characters"),
        (OLD, "x" * 257, "$.password", "a password has 12 to 256 characters"),
        (OLD, OLD, "$.password", "this is your password already"),
        ("\ud800", NEW, "$.current", "this is not your password"),
    ],
)
def test_what_is_no_new_password_is_told(
    someone: Someone, current: str, new: str, path: str, told: str
) -> None:
    with pytest.raises(ValidationFailed) as raised:
        someone.checked(current, new)
    assert [(each.path, each.message) for each in raised.value.details] == [(path, told)]
    assert someone.knows(OLD)


def test_of_two_changes_at_once_the_second_is_told(someone: Someone) -> None:
    first, second, signed_in = someone.checked(), someone.checked(new="a third password"), someone.signed_in
    with pytest.raises(Conflict, match="at the same moment"):
        at_once(
            someone.db,
            lambda tx: profile.change_password(tx, someone.actor, signed_in, first),
            lambda tx: profile.change_password(tx, someone.actor, signed_in, second),
        )
    assert someone.knows(NEW)
    assert len(someone.logged("member.password")) == len(someone.orgs)


def test_who_has_no_password_gets_none(shared_db: Database, org: Organization) -> None:
    someone = _made(shared_db, org, None)
    with shared_db.read() as tx:
        assert not profile.has_password(tx, someone.signed_in)
    with pytest.raises(Conflict, match="at another service"):
        someone.checked("", NEW)


def test_the_hashes_are_not_shown(someone: Someone) -> None:
    assert "argon2" not in repr(someone.checked())


def test_a_new_name_is_the_same_everywhere(someone: Someone) -> None:
    with someone.db.write() as tx:
        assert profile.rename(tx, someone.actor, someone.signed_in, "Ada King") == "Ada King"
    for org in someone.orgs:
        with someone.db.read() as tx:
            assert members.get_member(tx, org.id, someone.email).name == "Ada King"
    told = {"to": "Ada King", "was": "Ada"}
    assert sorted(someone.logged("member.rename"), key=str) == sorted(
        ((org.id, someone.email, someone.email, told) for org in someone.orgs), key=str
    )
    with someone.db.write() as tx:
        profile.rename(tx, someone.actor, someone.signed_in, "Ada King")
    assert len(someone.logged("member.rename")) == 2, "the same name is no change"
    with pytest.raises(ValidationFailed), someone.db.write() as tx:
        profile.rename(tx, someone.actor, someone.signed_in, "two\nlines")


def test_own_sessions_are_listed_and_the_others_end(someone: Someone, org: Organization) -> None:
    stranger, other = _made(someone.db, org, OLD), someone.enter()
    with someone.db.write() as tx:
        listed = sessions.list_own(tx, someone.signed_in, LIFE)
        assert sorted(each.is_this for each in listed) == [False, True]
        assert {each.org_name for each in listed} == {"Acme"}
        over = sessions.Lifetime(idle=timedelta(0), longest=timedelta(0))
        assert sessions.list_own(tx, someone.signed_in, over) == []
        assert sessions.end_others(tx, someone.actor, someone.signed_in) == 1
    assert someone.at(other) is None
    assert someone.at(someone.token) is not None
    assert stranger.at(stranger.token) is not None
    assert someone.logged("member.sign_out_others")[0][2:] == (someone.email, {"sessions": 1})
