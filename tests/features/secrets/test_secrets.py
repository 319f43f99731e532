"""An organization's secrets: set, listed by name, deleted, revealed where they were set and nowhere else."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from sqlalchemy import select, update

from ammeter.base.errors import InsufficientRole, NotFound, SettingsError, Unavailable, ValidationFailed
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database
from ammeter.engines.db.tables import org_secrets
from ammeter.features.orgs.model import Organization, Role
from ammeter.features.secrets.sealing import KeyRing
from ammeter.features.secrets.service import Secrets
from ammeter.wiring import House, open_house
from tests.household import OPERATOR, make_settings
from tests.shared import acting, at_once, new_org

VALUE = "sk_live_51Habcdefghijklmnop"
KEY = b"k" * 32
SECRETS = Secrets(KeyRing([KEY]))


def put(db: Database, org: Organization, name: str = "STRIPE_KEY", value: str = VALUE) -> None:
    with db.write() as tx:
        SECRETS.put(tx, OPERATOR, org.id, name=name, value=value)


def reveal(db: Database, org: Organization, name: str = "STRIPE_KEY") -> str:
    with db.read() as tx:
        return SECRETS.reveal(tx, org.id, name)


def test_a_secret_that_is_set_can_be_revealed_to_the_part_that_needs_it(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        secret, is_new = SECRETS.put(tx, OPERATOR, org.id, name="STRIPE_KEY", value=VALUE)
    assert is_new
    assert (secret.name, secret.org_id, secret.created_at) == ("STRIPE_KEY", org.id, secret.updated_at)
    assert VALUE not in repr(secret)
    assert reveal(shared_db, org) == VALUE


def test_setting_a_secret_anew_replaces_its_value_and_keeps_its_record(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        first, _ = SECRETS.put(tx, OPERATOR, org.id, name="STRIPE_KEY", value=VALUE)
        second, is_new = SECRETS.put(tx, OPERATOR, org.id, name="STRIPE_KEY", value="another")
    assert not is_new
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert second.updated_at >= first.updated_at
    assert reveal(shared_db, org) == "another"


@pytest.mark.parametrize(
    "value", ["x", "v" * 16_384, "-----BEGIN KEY-----\nabc\n", "schlüssel 🔑", "a\0b", " "]
)
def test_a_value_is_kept_to_the_letter(shared_db: Database, org: Organization, value: str) -> None:
    put(shared_db, org, value=value)
    assert reveal(shared_db, org) == value


def test_nothing_of_the_value_is_in_the_database(shared_db: Database, org: Organization) -> None:
    put(shared_db, org)
    with shared_db.read() as tx:
        row = tx.execute(select(org_secrets).where(org_secrets.c.org_id == org.id)).one()
    kept = b"|".join(part if isinstance(part, bytes) else str(part).encode() for part in row)
    value = VALUE.encode()
    for shape in (value, value[:8], base64.b64encode(value)[:12], value.hex().encode(), KEY, value[::-1]):
        assert shape not in kept


def test_a_row_copied_to_another_name_or_organization_does_not_open(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        other = new_org(tx)
    put(shared_db, org)
    put(shared_db, org, "OTHER", "other")
    put(shared_db, other, "STRIPE_KEY", "theirs")
    with shared_db.write() as tx:
        sealed = tx.scalar(
            select(org_secrets.c.sealed).where(
                org_secrets.c.org_id == org.id, org_secrets.c.name == "STRIPE_KEY"
            )
        )
        copies = ((org_secrets.c.org_id == org.id) & (org_secrets.c.name == "OTHER")) | (
            org_secrets.c.org_id == other.id
        )
        assert tx.execute(update(org_secrets).where(copies).values(sealed=sealed)).rowcount == 2
    for where, name in ((org, "OTHER"), (other, "STRIPE_KEY")):
        with pytest.raises(Unavailable, match="damaged; set it again"):
            reveal(shared_db, where, name)
    assert reveal(shared_db, org) == VALUE


def test_secrets_are_listed_by_name_a_page_at_a_time_without_values(
    shared_db: Database, org: Organization
) -> None:
    for name in ("ZULU", "ALPHA", "M_1"):
        put(shared_db, org, name)
    with shared_db.write() as tx:
        other = new_org(tx)
    put(shared_db, other, "THEIRS")
    with shared_db.read() as tx:
        first = SECRETS.list(tx, OPERATOR, org.id, PageRequest(page_size=2))
        second = SECRETS.list(tx, OPERATOR, org.id, PageRequest(page=2, page_size=2))
    assert [secret.name for secret in (*first.rows, *second.rows)] == ["ALPHA", "M_1", "ZULU"]
    assert (first.has_more, second.has_more, second.total) == (True, False, 3)
    assert VALUE not in repr((first, second))


def test_a_deleted_secret_is_gone(shared_db: Database, org: Organization) -> None:
    put(shared_db, org)
    with shared_db.write() as tx:
        SECRETS.delete(tx, OPERATOR, org.id, "STRIPE_KEY")
    with pytest.raises(NotFound):
        reveal(shared_db, org)
    with shared_db.write() as tx, pytest.raises(NotFound):
        SECRETS.delete(tx, OPERATOR, org.id, "STRIPE_KEY")


def test_a_secret_of_another_organization_is_not_found(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        other = new_org(tx)
    put(shared_db, other)
    with pytest.raises(NotFound):
        reveal(shared_db, org)
    with shared_db.write() as tx, pytest.raises(NotFound):
        SECRETS.delete(tx, OPERATOR, org.id, "STRIPE_KEY")
    assert reveal(shared_db, other) == VALUE


@pytest.mark.parametrize("name", ["", "lower", "1ST", "_A", "A-B", "A B", "A" * 65, "É", "A\n", "A/B", "A\0"])
def test_a_name_that_is_no_variables_name_is_refused(
    shared_db: Database, org: Organization, name: str
) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        put(shared_db, org, name)
    assert [detail.path for detail in refusal.value.details] == ["$.secretName"]


@pytest.mark.parametrize("value", ["", "v" * 16_385, "hunter2\ud800"])
def test_an_empty_or_huge_value_is_refused_without_being_shown(
    shared_db: Database, org: Organization, value: str
) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        put(shared_db, org, value=value)
    (detail,) = refusal.value.details
    assert detail.path == "$.value"
    assert "vvvv" not in detail.message
    assert "hunter2" not in detail.message


@pytest.mark.parametrize("role", list(Role))
def test_admins_and_owners_manage_secrets(shared_db: Database, org: Organization, role: Role) -> None:
    actor = acting(role)
    put(shared_db, org, "OLD")
    with shared_db.write() as tx:
        if role >= Role.admin:
            SECRETS.put(tx, actor, org.id, name="NEW", value=VALUE)
            SECRETS.delete(tx, actor, org.id, "OLD")
            assert [s.name for s in SECRETS.list(tx, actor, org.id, PageRequest()).rows] == ["NEW"]
            return
        with pytest.raises(InsufficientRole):
            SECRETS.put(tx, actor, org.id, name="NEW", value=VALUE)
        with pytest.raises(InsufficientRole):
            SECRETS.delete(tx, actor, org.id, "OLD")
        with pytest.raises(InsufficientRole):
            SECRETS.list(tx, actor, org.id, PageRequest())


def test_a_secret_set_twice_at_once_is_one_secret_with_the_later_value(
    shared_db: Database, org: Organization
) -> None:
    _, is_new = at_once(
        shared_db,
        lambda tx: SECRETS.put(tx, OPERATOR, org.id, name="STRIPE_KEY", value="first"),
        lambda tx: SECRETS.put(tx, OPERATOR, org.id, name="STRIPE_KEY", value="second"),
    )
    assert not is_new
    assert reveal(shared_db, org) == "second"


def test_a_start_without_the_key_of_what_is_sealed_is_refused(house: House, tmp_path: Path) -> None:
    with house.db.write() as tx:
        house.secrets.put(tx, OPERATOR, new_org(tx).id, name="STRIPE_KEY", value=VALUE)
        needed = tx.scalar(select(org_secrets.c.sealing_key_id))
    kept = (tmp_path / "sealing.key").read_text().strip()
    fresh = base64.b64encode(b"f" * 32).decode()
    for settings in (
        make_settings(house.db.url, tmp_path, sealing_keys=fresh),
        make_settings(house.db.url, tmp_path / "elsewhere"),
    ):
        with pytest.raises(SettingsError, match=f"sealed under the key {needed}, which this server does not"):
            open_house(settings)
    open_house(make_settings(house.db.url, tmp_path, sealing_keys=f"{fresh},{kept}")).close()
