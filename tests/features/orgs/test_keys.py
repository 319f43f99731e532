"""API keys: what a token looks like, what is kept of it, whom it lets in, and who may mint or revoke."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

from ammeter.base.clock import now
from ammeter.base.errors import (
    Conflict,
    InsufficientRole,
    NotFound,
    Unauthenticated,
    ValidationFailed,
)
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import api_keys
from ammeter.features.orgs import keys
from ammeter.features.orgs.model import ApiKey, Organization, Role
from tests.household import OPERATOR
from tests.shared import acting, at_once, new_org

TOKEN = re.compile(r"amt_[a-z2-7]{12}_[a-z2-7]{48}")


def mint(
    db: Database, org: Organization, role: Role = Role.viewer, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    with db.write() as tx:
        return keys.mint_key(tx, OPERATOR, org.id, name="CI", role=role, expires_at=expires_at)


def refused(db: Database, token: str | None) -> str:
    """The text of the refusal that this token gets."""
    with db.read() as tx, pytest.raises(Unauthenticated) as refusal:
        keys.authenticate(tx, token)
    return refusal.value.message


def test_a_token_has_the_published_shape_and_no_two_are_alike(shared_db: Database, org: Organization) -> None:
    minted = [mint(shared_db, org) for _ in range(20)]
    for key, token in minted:
        assert TOKEN.fullmatch(token)
        assert token.split("_")[1] == key.key_id
        assert len(token.split("_")) == 3
    assert len({token.split("_")[1] for _, token in minted}) == 20
    assert len({token.split("_")[2] for _, token in minted}) == 20


def test_of_the_secret_only_a_salted_hash_is_kept(shared_db: Database, org: Organization) -> None:
    (key, token), (twin, _) = mint(shared_db, org), mint(shared_db, org)
    secret = token.rsplit("_", 1)[1]
    with shared_db.read() as tx:
        row = tx.execute(select(api_keys).where(api_keys.c.id == key.id)).one()
        other = tx.execute(select(api_keys).where(api_keys.c.id == twin.id)).one()
    for column in row:
        kept = column if isinstance(column, bytes) else str(column).encode()
        assert secret.encode() not in kept
        assert secret[:16].encode() not in kept
    assert (len(row.salt), len(row.secret_hash)) == (16, 32)
    assert row.salt != other.salt
    assert secret not in repr(key)


def test_a_good_token_tells_the_key_and_its_organization(shared_db: Database, org: Organization) -> None:
    for role in Role:
        key, token = mint(shared_db, org, role)
        with shared_db.read() as tx:
            principal = keys.authenticate(tx, token)
        assert (principal.org, principal.key, principal.role) == (org, key, role)
        assert principal.may_touch(new_id())


def test_a_limited_key_may_touch_only_its_sources(shared_db: Database, org: Organization) -> None:
    ours = new_id()
    with shared_db.write() as tx:
        minted = keys.mint_key(tx, OPERATOR, org.id, name="CI", role=Role.editor, source_ids=[ours])
        principal = keys.authenticate(tx, minted[1])
        nothing = keys.mint_key(tx, OPERATOR, org.id, name="CI", role=Role.editor, source_ids=[])
        idle = keys.authenticate(tx, nothing[1])
    assert principal.key.source_ids == (ours,)
    assert principal.may_touch(ours)
    assert not principal.may_touch(new_id())
    assert not idle.may_touch(ours)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t[:4] + ("a" * 12) + t[16:],
        lambda t: t[:17] + t[17:][::-1],
        lambda t: t[:-1],
        lambda t: t + "a",
        lambda t: t.upper(),
        lambda t: t[:17] + t[17:].upper(),
        lambda t: f" {t}",
        lambda t: f"{t} ",
        lambda t: f"{t}\n",
        lambda t: t.removeprefix("amt_"),
        lambda t: t.replace("_", "-"),
        lambda t: t[:17],
        lambda t: f"{t[:20]}\0{t[21:]}",
        lambda t: t[:-1] + "\N{CYRILLIC SMALL LETTER A}",
        lambda _: "",
        lambda _: "amt__",
        lambda _: "Bearer",
    ],
    ids=[
        "unknown id",
        "wrong secret",
        "truncated",
        "longer",
        "upper-cased",
        "upper-cased secret",
        "blank before",
        "blank after",
        "line break after",
        "no prefix",
        "other dashes",
        "no secret",
        "NUL",
        "foreign letter",
        "empty",
        "prefix alone",
        "a word",
    ],
)
def test_a_token_that_is_not_exactly_right_is_refused_in_the_same_words(
    shared_db: Database, org: Organization, spoil: Callable[[str], str]
) -> None:
    _, token = mint(shared_db, org)
    assert refused(shared_db, spoil(token)) == refused(shared_db, None)


def test_the_secret_of_one_key_does_not_open_another(shared_db: Database, org: Organization) -> None:
    (_, one), (_, two) = mint(shared_db, org), mint(shared_db, org)
    refused(shared_db, one.rsplit("_", 1)[0] + "_" + two.rsplit("_", 1)[1])


def test_a_token_of_another_organization_is_that_organizations_alone(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        theirs = new_org(tx)
    _, token = mint(shared_db, theirs)
    with shared_db.read() as tx:
        assert keys.authenticate(tx, token).org == theirs


def test_a_revoked_key_is_refused_at_once(shared_db: Database, org: Organization) -> None:
    key, token = mint(shared_db, org)
    with shared_db.write() as tx:
        revoked = keys.revoke_key(tx, OPERATOR, org.id, key.id)
    assert revoked.revoked_at is not None
    assert refused(shared_db, token) == refused(shared_db, None)


def test_a_key_is_refused_from_the_instant_it_expires(shared_db: Database, org: Organization) -> None:
    key, token = mint(shared_db, org, expires_at=now() + timedelta(hours=1))
    with shared_db.read() as tx:
        assert keys.authenticate(tx, token).key.expires_at == key.expires_at
    assert key.expires_at is not None
    assert key.is_live(key.expires_at - timedelta(milliseconds=1))
    assert not key.is_live(key.expires_at)
    with shared_db.write() as tx:
        tx.execute(update(api_keys).where(api_keys.c.id == key.id).values(expires_at=now()))
    refused(shared_db, token)


@pytest.mark.parametrize("age", [timedelta(0), timedelta(seconds=1), timedelta(days=9999)])
def test_a_key_that_expires_in_the_past_is_not_minted(
    shared_db: Database, org: Organization, age: timedelta
) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        mint(shared_db, org, expires_at=now() - age)
    assert refusal.value.details[0].path == "$.expiresAt"


def test_a_key_may_last_as_long_as_there_are_dates(shared_db: Database, org: Organization) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert mint(shared_db, org, expires_at=last)[0].expires_at == last


@pytest.mark.parametrize("minter", list(Role))
@pytest.mark.parametrize("role", list(Role))
def test_a_key_is_minted_by_admin_and_owner_and_not_above_their_own_role(
    shared_db: Database, org: Organization, minter: Role, role: Role
) -> None:
    may = minter >= Role.admin and role <= minter
    with shared_db.write() as tx:
        if may:
            key, _ = keys.mint_key(tx, acting(minter), org.id, name="CI", role=role)
            assert (key.role, key.created_by) == (role, f"{minter.name}s-key")
        else:
            with pytest.raises(InsufficientRole):
                keys.mint_key(tx, acting(minter), org.id, name="CI", role=role)


def test_a_limited_minter_cannot_mint_a_wider_key(shared_db: Database, org: Organization) -> None:
    mine, also_mine, foreign = new_id(), new_id(), new_id()
    minter = acting(Role.admin, source_ids=(mine, also_mine))
    with shared_db.write() as tx:
        for wider in (None, [foreign], [mine, foreign]):
            with pytest.raises(InsufficientRole, match="limited to some sources"):
                keys.mint_key(tx, minter, org.id, name="CI", role=Role.viewer, source_ids=wider)
        for as_wide in ([mine], [mine, also_mine], []):
            key, _ = keys.mint_key(tx, minter, org.id, name="CI", role=Role.viewer, source_ids=as_wide)
            assert key.source_ids == tuple(as_wide)


def test_a_key_is_revoked_once_by_its_id_or_its_public_part(shared_db: Database, org: Organization) -> None:
    for name in ("id", "key_id"):
        key, _ = mint(shared_db, org)
        with shared_db.write() as tx:
            first = keys.revoke_key(tx, OPERATOR, org.id, getattr(key, name))
        with shared_db.write() as tx, pytest.raises(Conflict, match=f"{key.key_id} is revoked already"):
            keys.revoke_key(tx, OPERATOR, org.id, getattr(key, name))
        with shared_db.read() as tx:
            (kept,) = [k for k in keys.list_keys(tx, OPERATOR, org.id, PageRequest()).rows if k.id == key.id]
        assert kept == first


def test_of_two_that_revoke_a_key_at_once_one_is_told_that_it_is_done(
    shared_db: Database, org: Organization
) -> None:
    key, _ = mint(shared_db, org)
    with pytest.raises(Conflict):
        at_once(
            shared_db,
            lambda tx: keys.revoke_key(tx, OPERATOR, org.id, key.id),
            lambda tx: keys.revoke_key(tx, OPERATOR, org.id, key.id),
        )


def test_an_unknown_malformed_or_foreign_key_is_not_found(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        theirs = new_org(tx)
    key, token = mint(shared_db, theirs)
    messages = set()
    for name in (new_id(), "abcdefghij23", "", "no such key", key.id, key.key_id, token):
        with shared_db.write() as tx, pytest.raises(NotFound) as refusal:
            keys.revoke_key(tx, OPERATOR, org.id, name)
        messages.add(refusal.value.message)
    assert len(messages) == 1
    with shared_db.read() as tx:
        assert keys.authenticate(tx, token).key == key


@pytest.mark.parametrize("role", list(Role))
def test_keys_are_listed_and_revoked_by_admin_and_owner_and_owners_keys_by_owners(
    shared_db: Database, org: Organization, role: Role
) -> None:
    (editors, _), (owners, _) = mint(shared_db, org, Role.editor), mint(shared_db, org, Role.owner)
    asked: list[tuple[Role, Callable[[Tx], object]]] = [
        (Role.admin, lambda tx: keys.list_keys(tx, acting(role), org.id, PageRequest())),
        (Role.admin, lambda tx: keys.revoke_key(tx, acting(role), org.id, editors.id)),
        (Role.owner, lambda tx: keys.revoke_key(tx, acting(role), org.id, owners.id)),
    ]
    for needed, ask in asked:
        with shared_db.write() as tx:
            if role >= needed:
                ask(tx)
            else:
                with pytest.raises(InsufficientRole):
                    ask(tx)


def test_keys_are_listed_newest_first_a_page_at_a_time(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        minted = [keys.mint_key(tx, OPERATOR, org.id, name=f"k{n}", role=Role.viewer)[0] for n in range(5)]
        theirs = new_org(tx)
        keys.mint_key(tx, OPERATOR, theirs.id, name="theirs", role=Role.viewer)
    with shared_db.read() as tx:
        pages = [keys.list_keys(tx, OPERATOR, org.id, PageRequest(page=n, page_size=2)) for n in (1, 2, 3, 4)]
    assert [[key.name for key in page.rows] for page in pages] == [["k4", "k3"], ["k2", "k1"], ["k0"], []]
    assert [key for page in pages for key in page.rows] == minted[::-1]
    assert [(page.total, page.has_more) for page in pages] == [(5, True), (5, True), (5, False), (5, False)]


def test_the_last_use_is_written_at_the_flush_and_only_forward(
    shared_db: Database, org: Organization
) -> None:
    key, _ = mint(shared_db, org)
    idle, _ = mint(shared_db, org)
    early, late = keys.LastUsed(shared_db), keys.LastUsed(shared_db)
    started = now()
    early.note(key)
    assert last_used(shared_db, key) is None
    early.flush()
    first = last_used(shared_db, key)
    assert first is not None
    assert started <= first <= now()
    ahead = now() + timedelta(hours=1)
    with shared_db.write() as tx:
        tx.execute(update(api_keys).where(api_keys.c.id == key.id).values(last_used_at=ahead))
    late.note(key)
    late.flush()
    assert last_used(shared_db, key) == ahead
    assert last_used(shared_db, idle) is None


def test_a_last_use_that_could_not_be_written_is_written_at_the_next_flush(
    shared_db: Database, org: Organization
) -> None:
    key, _ = mint(shared_db, org)
    used = keys.LastUsed(shared_db)
    used.note(key)
    with without_keys(shared_db), pytest.raises(DBAPIError, match="api_keys"):
        used.flush()
    used.flush()
    assert last_used(shared_db, key) is not None


@contextmanager
def without_keys(db: Database) -> Iterator[None]:
    with db.write() as tx:
        tx.exec_driver_sql("ALTER TABLE api_keys RENAME TO api_keys_away")
    try:
        yield
    finally:
        with db.write() as tx:
            tx.exec_driver_sql("ALTER TABLE api_keys_away RENAME TO api_keys")


def last_used(db: Database, key: ApiKey) -> datetime | None:
    with db.read() as tx:
        found: datetime | None = tx.scalar(select(api_keys.c.last_used_at).where(api_keys.c.id == key.id))
    return found
