"""SQL for organizations, people, members, keys and the audit log. Rows in, values out; no rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import BigInteger, Integer, RowMapping, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import to_millis
from ammeter.base.errors import Conflict
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.bulk import Bulk, column_names
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import (
    api_keys,
    audit_events,
    members,
    organizations,
    people,
    run_usage,
    web_sessions,
)
from ammeter.features.orgs.model import ApiKey, AuditEvent, Member, Membership, Organization, Role

_MEMBERS = select(members, people.c.email, people.c.name).join(people, people.c.id == members.c.person_id)
_KEY_WIDTH = len(api_keys.c)
_ORG_FIELDS = tuple(organizations.c.keys())
_KEY_FIELDS = tuple(api_keys.c.keys())


def insert_org(tx: Tx, org: Organization) -> None:
    try:
        tx.execute(insert(organizations).values(asdict(org)))
    except IntegrityError:
        raise Conflict(f"An organization with the slug {org.slug!r} exists already.") from None


def find_org(tx: Tx, slug_or_id: str) -> Organization | None:
    return _ORG_BY_NAME.find(tx, named=slug_or_id)


def list_orgs(tx: Tx, page: PageRequest) -> Page[Organization]:
    chosen = select(organizations).order_by(organizations.c.id)
    return fetch_page(tx, chosen, page, lambda row: Organization(**row))


def update_org(tx: Tx, org_id: str, changes: Mapping[str, Any]) -> None:
    tx.execute(update(organizations).where(organizations.c.id == org_id).values(**changes))


def read_used_runs(tx: Tx, org_id: str, period_start: datetime) -> int:
    return _USED_RUNS.find(tx, org_id=org_id, period_start=to_millis(period_start)) or 0


def add_used_runs(tx: Tx, org_id: str, period_start: datetime, count: int, *, most: int | None) -> bool:
    """Whether there was room under `most`, and so they were added."""
    given = (count, org_id, period_start, count, _ANY_NUMBER if most is None else most)
    if _ADD_USED.run(tx, [given]):
        return True
    # The first of a month has no row to add to yet.
    _BEGIN_USED.run(tx, [(org_id, period_start, 0)])
    return _ADD_USED.run(tx, [given]) == 1


_ANY_NUMBER = 2_147_483_647
_ADD_USED = Bulk(
    ("count", "org", "start", "count", "most"),
    lambda _: (
        update(run_usage)
        .where(run_usage.c.org_id == bindparam("org"), run_usage.c.period_start == bindparam("start"))
        .where(run_usage.c.used_runs + bindparam("count", type_=Integer) <= bindparam("most"))
        .values(used_runs=run_usage.c.used_runs + bindparam("count", type_=Integer))
    ),
)
_BEGIN_USED = Bulk(column_names(run_usage), lambda tx: merging_insert(tx, run_usage).on_conflict_do_nothing())


def find_person_id(tx: Tx, email: str) -> str | None:
    found: str | None = tx.scalar(select(people.c.id).where(people.c.email == email))
    return found


def insert_person(
    tx: Tx, *, person_id: str, email: str, name: str, password_hash: str | None, at: datetime
) -> str:
    """The id of the person: another organization may have added them at the same moment."""
    row = {"id": person_id, "email": email, "name": name, "password_hash": password_hash, "created_at": at}
    try:
        with tx.begin_nested():
            tx.execute(insert(people).values(row))
    except IntegrityError:
        person_id = tx.scalars(select(people.c.id).where(people.c.email == email)).one()
    return person_id


def set_password_hash(tx: Tx, person_id: str, password_hash: str) -> None:
    tx.execute(update(people).where(people.c.id == person_id).values(password_hash=password_hash))


def replace_password_hash(tx: Tx, person_id: str, *, was: str, becomes: str) -> bool:
    """Whether it still was what it is taken for; of two that change it at once, one is told so."""
    same = (people.c.id == person_id) & (people.c.password_hash == was)
    return tx.execute(update(people).where(same).values(password_hash=becomes)).rowcount == 1


def set_person_name(tx: Tx, person_id: str, name: str) -> None:
    tx.execute(update(people).where(people.c.id == person_id).values(name=name))


def find_password_hash(tx: Tx, email: str) -> str | None:
    found: str | None = tx.scalar(select(people.c.password_hash).where(people.c.email == email))
    return found


def insert_member(tx: Tx, *, member_id: str, org_id: str, person_id: str, role: Role, at: datetime) -> None:
    row = {"id": member_id, "org_id": org_id, "person_id": person_id, "role": role.name, "created_at": at}
    tx.execute(insert(members).values(row))


def has_code_mode(tx: Tx) -> bool:
    """Whether any organization may run scripts."""
    return bool(tx.scalar(select(organizations.c.code_mode).where(organizations.c.code_mode).limit(1)))


def find_member(tx: Tx, org_id: str, id_or_email: str) -> Member | None:
    named = (members.c.id == id_or_email) | (people.c.email == id_or_email.lower())
    row = tx.execute(_MEMBERS.where(members.c.org_id == org_id, named)).mappings().one_or_none()
    return _member(row) if row else None


def list_members(tx: Tx, org_id: str, page: PageRequest) -> Page[Member]:
    chosen = _MEMBERS.where(members.c.org_id == org_id).order_by(members.c.id)
    return fetch_page(tx, chosen, page, _member)


def set_member_role(tx: Tx, member_id: str, role: Role) -> None:
    tx.execute(update(members).where(members.c.id == member_id).values(role=role.name))


def delete_member(tx: Tx, member_id: str) -> None:
    tx.execute(delete(members).where(members.c.id == member_id))


def lock_members(tx: Tx, org_id: str) -> None:
    """Until the transaction ends nobody else changes who is in the organization, so that what was
    read of its members still holds when it is acted on."""
    chosen = select(organizations.c.id).where(organizations.c.id == org_id)
    # Without the key: keys and the like, which refer to the organization, are still made meanwhile.
    tx.execute(chosen.with_for_update(key_share=True))


def list_owner_ids(tx: Tx, org_id: str) -> list[str]:
    chosen = select(members.c.id).where(members.c.org_id == org_id, members.c.role == Role.owner.name)
    return list(tx.scalars(chosen))


def insert_session(
    tx: Tx, *, session_id: str, token_hash: bytes, person_id: str, org_id: str, at: datetime
) -> None:
    tx.execute(
        insert(web_sessions).values(
            id=session_id,
            token_hash=token_hash,
            person_id=person_id,
            org_id=org_id,
            created_at=at,
            seen_at=at,
        )
    )


def find_session(tx: Tx, token_hash: bytes) -> Mapping[Any, Any] | None:
    """The session's row with its person's address and name."""
    chosen = select(web_sessions, people.c.email, people.c.name).join(
        people, people.c.id == web_sessions.c.person_id
    )
    return tx.execute(chosen.where(web_sessions.c.token_hash == token_hash)).mappings().one_or_none()


def list_memberships(tx: Tx, person_id: str) -> tuple[Membership, ...]:
    chosen = (
        select(organizations, members.c.role.label("member_role"))
        .join(members, members.c.org_id == organizations.c.id)
        .where(members.c.person_id == person_id)
        .order_by(organizations.c.name, organizations.c.id)
    )
    return tuple(
        Membership(
            org=Organization(**{name: row[name] for name in _ORG_FIELDS}), role=Role[row["member_role"]]
        )
        for row in tx.execute(chosen).mappings()
    )


def change_session(tx: Tx, session_id: str, changes: Mapping[str, Any]) -> None:
    tx.execute(update(web_sessions).where(web_sessions.c.id == session_id).values(**changes))


def delete_session(tx: Tx, token_hash: bytes) -> None:
    tx.execute(delete(web_sessions).where(web_sessions.c.token_hash == token_hash))


def list_sessions_of(tx: Tx, person_id: str) -> Sequence[RowMapping]:
    """Each with the name of the organization that is looked at; the last seen first."""
    chosen = (
        select(web_sessions, organizations.c.name.label("org_name"))
        .outerjoin(organizations, organizations.c.id == web_sessions.c.org_id)
        .where(web_sessions.c.person_id == person_id)
        .order_by(web_sessions.c.seen_at.desc(), web_sessions.c.id.desc())
    )
    return tx.execute(chosen).mappings().all()


def delete_sessions_of(tx: Tx, person_id: str, *, but: str = "") -> int:
    """All but one, where its id is given; how many."""
    gone = (web_sessions.c.person_id == person_id) & (web_sessions.c.id != but)
    return tx.execute(delete(web_sessions).where(gone)).rowcount


def delete_old_sessions(tx: Tx, *, seen_before: datetime, made_before: datetime) -> int:
    old = (web_sessions.c.seen_at < seen_before) | (web_sessions.c.created_at < made_before)
    return tx.execute(delete(web_sessions).where(old)).rowcount


def insert_key(tx: Tx, key: ApiKey, *, salt: bytes, secret_hash: bytes) -> None:
    row = asdict(key) | {"role": key.role.name, "salt": salt, "secret_hash": secret_hash}
    tx.execute(insert(api_keys).values(row))


def find_key_with_org(tx: Tx, key_id: str) -> tuple[ApiKey, Organization, bytes, bytes] | None:
    """A key by its public part, with its organization, salt and hash: all an authentication reads."""
    return _KEY_WITH_ORG.find(tx, key_id=key_id)


def find_key(tx: Tx, org_id: str, id_or_key_id: str) -> ApiKey | None:
    named = (api_keys.c.id == id_or_key_id) | (api_keys.c.key_id == id_or_key_id)
    row = tx.execute(select(api_keys).where(api_keys.c.org_id == org_id, named)).mappings().one_or_none()
    return _key(row) if row else None


def list_keys(tx: Tx, org_id: str, page: PageRequest) -> Page[ApiKey]:
    chosen = select(api_keys).where(api_keys.c.org_id == org_id).order_by(api_keys.c.id.desc())
    return fetch_page(tx, chosen, page, _key)


def revoke_key(tx: Tx, key_row_id: str, at: datetime) -> bool:
    """Whether the key was live until now; of two that revoke it at once, one is told so."""
    live = (api_keys.c.id == key_row_id) & api_keys.c.revoked_at.is_(None)
    return tx.execute(update(api_keys).where(live).values(revoked_at=at)).rowcount == 1


def note_keys_used(tx: Tx, used: Mapping[str, datetime]) -> None:
    """Move each key's last-used time forward; never back, as several nodes may report."""
    for key_row_id, at in sorted(used.items()):
        older = (api_keys.c.last_used_at.is_(None)) | (api_keys.c.last_used_at < at)
        tx.execute(update(api_keys).where(api_keys.c.id == key_row_id, older).values(last_used_at=at))


def insert_audit(tx: Tx, event: AuditEvent) -> None:
    _INSERT_AUDIT.run(tx, [_audit_values(event)])


_INSERT_AUDIT = Bulk(column_names(audit_events), lambda _: insert(audit_events))
_audit_values = attrgetter(*column_names(audit_events))


def _member(row: RowMapping) -> Member:
    return Member(**{**row, "role": Role[row["role"]]})


def _key(row: Mapping[Any, Any]) -> ApiKey:
    return ApiKey(
        id=row["id"],
        org_id=row["org_id"],
        key_id=row["key_id"],
        name=row["name"],
        role=Role[row["role"]],
        source_ids=None if row["source_ids"] is None else tuple(row["source_ids"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )


def _key_with_org(row: Sequence[Any]) -> tuple[ApiKey, Organization, bytes, bytes]:
    key = dict(zip(_KEY_FIELDS, row[:_KEY_WIDTH], strict=True))
    org = Organization(**dict(zip(_ORG_FIELDS, row[_KEY_WIDTH:], strict=True)))
    return _key(key), org, key["salt"], key["secret_hash"]


_ORG_BY_NAME = PointRead(
    select(organizations).where(
        (organizations.c.slug == bindparam("named")) | (organizations.c.id == bindparam("named"))
    ),
    lambda row: Organization(**dict(zip(_ORG_FIELDS, row, strict=True))),
)
_KEY_WITH_ORG = PointRead(
    select(api_keys, organizations)
    .join(organizations, organizations.c.id == api_keys.c.org_id)
    .where(api_keys.c.key_id == bindparam("key_id")),
    _key_with_org,
)
# There is one row or none; the greatest of none is a row too, and is kept like any other.
_USED_RUNS = PointRead(
    select(func.max(run_usage.c.used_runs)).where(
        run_usage.c.org_id == bindparam("org_id"),
        run_usage.c.period_start == bindparam("period_start", type_=BigInteger),
    ),
    lambda row: int(row[0] or 0),
)
