"""Rotation: everything sealed anew, with keys in a file or in a setting, whatever comes in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, InsufficientRole, Unavailable
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.engines.db.tables import audit_events, org_secrets
from ammeter.features.orgs.model import Organization, Role
from ammeter.features.secrets.sealing import KeyRing, key_id_of, open_key_ring
from ammeter.features.secrets.service import Secrets
from tests.household import OPERATOR
from tests.shared import acting, new_org

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def org(shared_db: Database) -> Iterator[Organization]:
    """An organization whose secrets are the only ones: a rotation seals those of the whole server."""
    with shared_db.write() as tx:
        tx.execute(org_secrets.delete())
        made = new_org(tx)
    yield made
    with shared_db.write() as tx:
        tx.execute(org_secrets.delete())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sealing.key"


def opened(file: Path) -> Secrets:
    """Secrets as a process that starts now has them."""
    return Secrets(open_key_ring(setting="", file=file))


def put(secrets: Secrets, db: Database, org: Organization, **values: str) -> None:
    with db.write() as tx:
        for name, value in values.items():
            secrets.put(tx, OPERATOR, org.id, name=name, value=value)


def reveal(secrets: Secrets, db: Database, org: Organization, name: str) -> str:
    with db.read() as tx:
        return secrets.reveal(tx, org.id, name)


def key_ids(db: Database) -> set[str]:
    with db.read() as tx:
        return set(tx.scalars(select(org_secrets.c.sealing_key_id)))


def keys_in(file: Path) -> list[str]:
    return file.read_text().split()


def test_a_rotation_of_a_file_seals_all_under_a_new_key_and_keeps_the_one_before(
    shared_db: Database, org: Organization, file: Path
) -> None:
    secrets = opened(file)
    put(secrets, shared_db, org, A="alpha", B="beta")
    (first,), (was,) = keys_in(file), key_ids(shared_db)
    with shared_db.read() as tx:
        before = secrets.get(tx, org.id, "A")
    assert secrets.rotate(shared_db, OPERATOR) == 2
    second, *rest = keys_in(file)
    assert rest == [first]
    assert was not in key_ids(shared_db)
    assert file.stat().st_mode & 0o777 == 0o600
    for reader in (secrets, opened(file)):
        assert reveal(reader, shared_db, org, "A") == "alpha"
        assert reveal(reader, shared_db, org, "B") == "beta"
    with shared_db.read() as tx:
        assert secrets.get(tx, org.id, "A") == before
    secrets.rotate(shared_db, OPERATOR)
    assert keys_in(file)[1:] == [second]


def test_a_rotation_by_a_setting_seals_all_under_the_first_key(
    shared_db: Database, org: Organization
) -> None:
    put(Secrets(KeyRing([OLD])), shared_db, org, A="alpha", B="beta")
    both = Secrets(KeyRing([NEW, OLD]))
    put(both, shared_db, org, C="gamma")
    assert both.rotate(shared_db, OPERATOR) == 2
    assert key_ids(shared_db) == {key_id_of(NEW)}
    assert both.rotate(shared_db, OPERATOR) == 0
    alone = Secrets(KeyRing([NEW]))
    assert [reveal(alone, shared_db, org, name) for name in "ABC"] == ["alpha", "beta", "gamma"]


def test_a_rotation_is_written_down_and_is_the_owners(
    shared_db: Database, org: Organization, file: Path
) -> None:
    secrets = opened(file)
    put(secrets, shared_db, org, A="alpha")
    with pytest.raises(InsufficientRole):
        secrets.rotate(shared_db, acting(Role.admin))
    assert len(keys_in(file)) == 1
    secrets.rotate(shared_db, acting(Role.owner))
    with shared_db.read() as tx:
        chosen = select(audit_events).where(audit_events.c.action == "sealing.rotate")
        event = tx.execute(chosen.order_by(audit_events.c.id.desc())).first()
    assert event is not None
    assert (event.actor, event.org_id, {event.target}) == ("owners-key", None, key_ids(shared_db))
    assert event.details == {"resealed": 1}
    assert keys_in(file)[0] not in str(event)


def test_other_processes_go_on_while_one_rotates(shared_db: Database, org: Organization, file: Path) -> None:
    ours, theirs = opened(file), opened(file)
    put(ours, shared_db, org, A="alpha")
    ours.rotate(shared_db, OPERATOR)
    assert reveal(theirs, shared_db, org, "A") == "alpha"
    ours.rotate(shared_db, OPERATOR)
    put(theirs, shared_db, org, B="beta")
    assert reveal(ours, shared_db, org, "B") == "beta"
    assert len(key_ids(shared_db)) == 1


def test_a_write_that_was_under_way_during_a_rotation_still_opens(
    shared_db: Database, org: Organization, file: Path
) -> None:
    secrets = opened(file)
    key_id, sealed = open_key_ring(setting="", file=file).seal("late", bound_to=f"{org.id}/LATE")
    secrets.rotate(shared_db, OPERATOR)
    insert_sealed(shared_db, org, {"LATE": (key_id, sealed)})
    assert reveal(opened(file), shared_db, org, "LATE") == "late"
    assert secrets.rotate(shared_db, OPERATOR) == 1
    assert key_id not in key_ids(shared_db)


def test_a_rotation_that_is_interrupted_loses_nothing_and_is_carried_on(
    shared_db: Database, org: Organization, file: Path
) -> None:
    ring = open_key_ring(setting="", file=file)
    names = [f"S{n:03}" for n in range(510)]
    insert_sealed(shared_db, org, {n: ring.seal(n.lower(), bound_to=f"{org.id}/{n}") for n in names})
    last = org_secrets.c.name == names[-1]
    with shared_db.write() as tx:
        tx.execute(update(org_secrets).where(last).values(sealed=b"damaged by a bad disk"))
    with pytest.raises(Unavailable, match=f"The sealed secret {org.id}/{names[-1]} is damaged"):
        opened(file).rotate(shared_db, OPERATOR)
    assert len(key_ids(shared_db)) == 2
    after = opened(file)
    with shared_db.read() as tx:
        after.check(tx)
        assert all(after.reveal(tx, org.id, name) == name.lower() for name in names[:-1])
    put(after, shared_db, org, S509="s509")
    assert after.rotate(shared_db, OPERATOR) == 510
    assert len(key_ids(shared_db)) == 1
    assert len(keys_in(file)) == 2
    with shared_db.read() as tx:
        assert all(opened(file).reveal(tx, org.id, name) == name.lower() for name in names[::50])


def test_a_second_rotation_at_the_same_time_is_refused_and_drops_no_key(
    shared_db: Database, org: Organization, file: Path
) -> None:
    secrets = opened(file)
    put(secrets, shared_db, org, A="alpha")
    with open_key_ring(setting="", file=file).rotating():
        before = keys_in(file)
        with pytest.raises(Conflict, match="rotated already"):
            secrets.rotate(shared_db, OPERATOR)
        assert keys_in(file) == before
    assert secrets.rotate(shared_db, OPERATOR) == 1


def insert_sealed(db: Database, org: Organization, sealed: dict[str, tuple[str, bytes]]) -> None:
    rows = [
        {
            "id": new_id(),
            "org_id": org.id,
            "name": name,
            "sealing_key_id": key_id,
            "sealed": value,
            "created_at": now(),
            "updated_at": now(),
        }
        for name, (key_id, value) in sealed.items()
    ]
    with db.write() as tx:
        tx.execute(insert(org_secrets), rows)
