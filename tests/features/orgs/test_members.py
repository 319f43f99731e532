"""Members: people in one or more organizations, their roles and passwords; an owner always stays."""

from __future__ import annotations

import pytest
from argon2 import Type
from sqlalchemy import func, select, update

from ammeter.base.errors import Conflict, InsufficientRole, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import people
from ammeter.features.orgs import members
from ammeter.features.orgs.model import Actor, Member, Organization, Role
from tests.household import OPERATOR
from tests.shared import acting, at_once, new_org

PASSWORD = "correct horse battery"


def new_address() -> str:
    return f"p{new_id()}@example.com"


def add(tx: Tx, org: Organization, email: str, role: Role = Role.viewer, actor: Actor = OPERATOR) -> Member:
    return members.add_member(tx, actor, org.id, email=email, name="Ada Lovelace", role=role)


def roles(db: Database, org: Organization) -> dict[str, Role]:
    with db.read() as tx:
        return {m.email: m.role for m in members.list_members(tx, org.id, PageRequest()).rows}


@pytest.fixture
def owner(shared_db: Database, org: Organization) -> Member:
    with shared_db.write() as tx:
        return add(tx, org, new_address(), Role.owner)


def test_a_new_person_becomes_a_member(shared_db: Database, org: Organization) -> None:
    email = new_address()
    with shared_db.write() as tx:
        member = add(tx, org, email.upper(), Role.editor)
    assert (member.email, member.name, member.role, member.org_id) == (
        email,
        "Ada Lovelace",
        Role.editor,
        org.id,
    )
    assert is_id(member.id)
    with shared_db.read() as tx:
        for name in (member.id, email, email.upper()):
            assert members.get_member(tx, org.id, name) == member
        assert members.is_known(tx, email.upper())
        assert not members.is_known(tx, new_address())


def test_a_known_person_joins_a_second_organization_and_keeps_name_and_password(
    shared_db: Database, org: Organization
) -> None:
    email = new_address()
    with shared_db.write() as tx:
        first = members.add_member(
            tx, OPERATOR, org.id, email=email, name="Ada", role=Role.owner, password=PASSWORD
        )
        other = new_org(tx)
        second = members.add_member(
            tx, OPERATOR, other.id, email=email, name="Eve", role=Role.viewer, password="another password"
        )
    assert first.person_id == second.person_id
    assert first.id != second.id
    assert (second.name, second.role) == ("Ada", Role.viewer)
    with shared_db.write() as tx:
        assert members.password_is_right(tx, email, PASSWORD)
        assert not members.password_is_right(tx, email, "another password")
        members.remove_member(tx, OPERATOR, other.id, email)
    assert roles(shared_db, org) == {email: Role.owner}


def test_a_person_is_a_member_once(shared_db: Database, org: Organization, owner: Member) -> None:
    for same in (owner.email, owner.email.title()):
        with shared_db.write() as tx, pytest.raises(Conflict, match=f"{owner.email} is a member already"):
            add(tx, org, same)
    assert roles(shared_db, org) == {owner.email: Role.owner}


def test_a_person_added_twice_at_once_is_a_member_once(shared_db: Database, org: Organization) -> None:
    email = new_address()
    with pytest.raises(Conflict, match="is a member already"):
        at_once(
            shared_db,
            lambda tx: add(tx, org, email, Role.admin),
            lambda tx: add(tx, org, email, Role.viewer),
        )
    assert roles(shared_db, org) == {email: Role.admin}


def test_a_new_person_added_to_two_organizations_at_once_is_one_person(
    shared_db: Database, org: Organization
) -> None:
    email = new_address()
    with shared_db.write() as tx:
        other = new_org(tx)
    at_once(shared_db, lambda tx: add(tx, org, email), lambda tx: add(tx, other, email))
    assert roles(shared_db, org) == roles(shared_db, other) == {email: Role.viewer}
    with shared_db.read() as tx:
        assert tx.scalar(select(func.count()).where(people.c.email == email)) == 1


@pytest.mark.parametrize(
    ("email", "name", "path"),
    [
        ("ada", "Ada", "$.email"),
        ("ada@", "Ada", "$.email"),
        ("@example.com", "Ada", "$.email"),
        ("a b@example.com", "Ada", "$.email"),
        ("ada@exa_mple.com", "Ada", "$.email"),
        ("ada@example..com", "Ada", "$.email"),
        ("ada@example.com\n", "Ada", "$.email"),
        (f"{'a' * 251}@b.c", "Ada", "$.email"),
        ("ada@example.com", "", "$.name"),
        ("ada@example.com", "Ada\nBcc: all", "$.name"),
    ],
)
def test_a_wrong_address_or_name_is_refused_by_its_path(
    shared_db: Database, org: Organization, email: str, name: str, path: str
) -> None:
    with shared_db.write() as tx, pytest.raises(ValidationFailed) as refusal:
        members.add_member(tx, OPERATOR, org.id, email=email, name=name, role=Role.viewer)
    assert [detail.path for detail in refusal.value.details] == [path]


def test_members_are_listed_in_the_order_they_came_a_page_at_a_time(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        added = [add(tx, org, new_address()) for _ in range(3)]
    with shared_db.read() as tx:
        first = members.list_members(tx, org.id, PageRequest(page_size=2))
        second = members.list_members(tx, org.id, PageRequest(page=2, page_size=2))
    assert [*first.rows, *second.rows] == added
    assert (first.has_more, second.has_more, second.total) == (True, False, 3)


@pytest.mark.parametrize("role", list(Role))
def test_admins_manage_members_and_only_owners_make_owners(
    shared_db: Database, org: Organization, owner: Member, role: Role
) -> None:
    actor = acting(role)
    with shared_db.write() as tx:
        other = add(tx, org, new_address())
        for wanted in Role:
            if role >= Role.admin and (wanted < Role.owner or role is Role.owner):
                assert add(tx, org, new_address(), wanted, actor).role is wanted
                assert members.set_role(tx, actor, org.id, other.id, wanted).role is wanted
            else:
                with pytest.raises(InsufficientRole):
                    add(tx, org, new_address(), wanted, actor)
                with pytest.raises(InsufficientRole):
                    members.set_role(tx, actor, org.id, other.id, wanted)


def test_the_refusal_names_the_role_that_is_needed(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        with pytest.raises(InsufficientRole, match=r"takes the role admin or above; yours is editor"):
            add(tx, org, new_address(), Role.viewer, acting(Role.editor))
        with pytest.raises(InsufficientRole, match=r"make an owner takes the role owner"):
            add(tx, org, new_address(), Role.owner, acting(Role.admin))


def test_an_admin_neither_demotes_nor_removes_an_owner(
    shared_db: Database, org: Organization, owner: Member
) -> None:
    with shared_db.write() as tx:
        add(tx, org, new_address(), Role.owner)
        with pytest.raises(InsufficientRole):
            members.set_role(tx, acting(Role.admin), org.id, owner.id, Role.viewer)
        with pytest.raises(InsufficientRole):
            members.remove_member(tx, acting(Role.admin), org.id, owner.id)


def test_the_last_owner_is_neither_demoted_nor_removed(
    shared_db: Database, org: Organization, owner: Member
) -> None:
    with shared_db.write() as tx:
        add(tx, org, new_address(), Role.admin)
        for role in (Role.viewer, Role.editor, Role.admin):
            with pytest.raises(Conflict, match="is the only owner; make another owner first"):
                members.set_role(tx, OPERATOR, org.id, owner.id, role)
        with pytest.raises(Conflict, match="is the only owner"):
            members.remove_member(tx, OPERATOR, org.id, owner.email)
        assert members.set_role(tx, OPERATOR, org.id, owner.id, Role.owner) == owner
        second = add(tx, org, new_address(), Role.owner)
        assert members.set_role(tx, OPERATOR, org.id, owner.id, Role.viewer).role is Role.viewer
        with pytest.raises(Conflict, match="is the only owner"):
            members.remove_member(tx, OPERATOR, org.id, second.id)


@pytest.mark.parametrize("way", ["removed", "demoted"])
def test_of_two_owners_who_leave_at_once_one_stays(
    shared_db: Database, org: Organization, owner: Member, way: str
) -> None:
    with shared_db.write() as tx:
        second = add(tx, org, new_address(), Role.owner)

    def leave(tx: Tx, member: Member) -> None:
        if way == "removed":
            members.remove_member(tx, OPERATOR, org.id, member.id)
        else:
            members.set_role(tx, OPERATOR, org.id, member.id, Role.viewer)

    with pytest.raises(Conflict, match="is the only owner"):
        at_once(shared_db, lambda tx: leave(tx, owner), lambda tx: leave(tx, second))
    assert [e for e, role in roles(shared_db, org).items() if role is Role.owner] == [second.email]


def test_a_member_who_is_made_the_only_owner_is_not_demoted_by_who_saw_them_before(
    shared_db: Database, org: Organization, owner: Member
) -> None:
    with shared_db.write() as tx:
        heir = add(tx, org, new_address(), Role.admin)

    def hand_over(tx: Tx) -> None:
        members.set_role(tx, OPERATOR, org.id, heir.id, Role.owner)
        members.remove_member(tx, OPERATOR, org.id, owner.id)

    with pytest.raises(Conflict, match="is the only owner"):
        at_once(shared_db, hand_over, lambda tx: members.set_role(tx, OPERATOR, org.id, heir.id, Role.viewer))
    assert roles(shared_db, org) == {heir.email: Role.owner}


def test_an_unknown_or_foreign_member_is_not_found(
    shared_db: Database, org: Organization, owner: Member
) -> None:
    with shared_db.write() as tx:
        theirs = add(tx, new_org(tx), new_address(), Role.owner)
        for name in (new_id(), "nobody@example.com", "", theirs.id, theirs.email):
            with pytest.raises(NotFound):
                members.set_role(tx, OPERATOR, org.id, name, Role.viewer)
            with pytest.raises(NotFound):
                members.remove_member(tx, OPERATOR, org.id, name)
            with pytest.raises(NotFound):
                members.set_password(tx, OPERATOR, org.id, name, PASSWORD)


REAL_HASHER = members._hasher
"""As it was before tests were given a cheap one."""


def test_guessing_a_password_is_dear() -> None:
    assert (REAL_HASHER.type, REAL_HASHER.memory_cost >= 19_456) == (Type.ID, True)
    assert REAL_HASHER.time_cost * REAL_HASHER.memory_cost >= 2 * 19_456


def test_a_password_is_kept_as_an_argon2id_hash_only(shared_db: Database, org: Organization) -> None:
    email, twin = new_address(), new_address()
    with shared_db.write() as tx:
        for address in (email, twin):
            members.add_member(
                tx, OPERATOR, org.id, email=address, name="Ada", role=Role.owner, password=PASSWORD
            )
        rows = tx.execute(select(people).where(people.c.email.in_([email, twin]))).all()
    hashes = {row.password_hash for row in rows}
    assert len(hashes) == 2
    assert all(hashed.startswith("$argon2id$v=19$") for hashed in hashes)
    assert PASSWORD not in str(rows)


def test_only_the_right_password_is_right(shared_db: Database, org: Organization) -> None:
    email, without = new_address(), new_address()
    with shared_db.write() as tx:
        members.add_member(tx, OPERATOR, org.id, email=email, name="Ada", role=Role.owner, password=PASSWORD)
        add(tx, org, without)
    with shared_db.read() as tx:
        assert members.password_is_right(tx, email, PASSWORD)
        assert members.password_is_right(tx, email.upper(), PASSWORD)
        for wrong in ("", PASSWORD.upper(), PASSWORD + "\0", "\ud800"):
            assert not members.password_is_right(tx, email, wrong)
        for address in (without, new_address(), "", "nobody", "a\0b@example.com"):
            assert not members.password_is_right(tx, address, PASSWORD)
            assert not members.password_is_right(tx, address, "")
    with shared_db.write() as tx:
        tx.execute(update(people).where(people.c.email == email).values(password_hash="$argon2id$damaged"))
        assert not members.password_is_right(tx, email, PASSWORD)


def test_a_new_password_replaces_the_old_one(shared_db: Database, org: Organization, owner: Member) -> None:
    fresh = members.new_password()
    with shared_db.write() as tx:
        members.set_password(tx, OPERATOR, org.id, owner.email, PASSWORD)
        members.set_password(tx, OPERATOR, org.id, owner.id, fresh)
        assert members.password_is_right(tx, owner.email, fresh)
        assert not members.password_is_right(tx, owner.email, PASSWORD)
    assert len(fresh) >= 20
    assert fresh != members.new_password()


@pytest.mark.parametrize("password", ["", "elevenchars", "x" * 257])
def test_a_password_that_is_too_short_or_long_is_refused(
    shared_db: Database, org: Organization, owner: Member, password: str
) -> None:
    with shared_db.write() as tx, pytest.raises(ValidationFailed) as refusal:
        members.set_password(tx, OPERATOR, org.id, owner.id, password)
    assert refusal.value.details[0].path == "$.password"
