"""`/org/keys`: API keys. A key's token is in the answer that mints it, and nowhere else."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StringConstraints

from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, InstantIn, PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import keys
from ammeter.features.orgs.fields import Name
from ammeter.features.orgs.model import ApiKey, Role, RoleName
from ammeter.features.sources.service import source_ids

router = APIRouter(tags=["org"], route_class=StrictRoute)


class KeyRecord(Record):
    id: str
    key_id: str
    name: str
    role: RoleName
    source_ids: list[str] | None
    created_by: str
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None


class MintedKeyRecord(Record):
    key: KeyRecord
    token: Annotated[str, Field(description="`amt_<key_id>_<secret>`; shown this once.")]


# Ids and slugs alike are written so; what is not cannot name a source.
SourceName = Annotated[str, StringConstraints(max_length=63, pattern=r"^[a-z0-9][a-z0-9-]*$")]


class MintKey(Body):
    name: Name
    role: RoleName
    expires_at: Annotated[
        InstantIn | None, Field(description="When the key ends; null or absent: never.")
    ] = None
    source_ids: Annotated[
        list[SourceName] | None,
        Field(max_length=100, description="Ids or slugs of the sources it may touch; null or absent: all."),
    ] = None


@router.get(
    "/org/keys", operation_id="listApiKeys", summary="List API keys, newest first", responses=errors("role")
)
async def list_keys(call: CurrentCall, page: Paging) -> PageRecord[KeyRecord]:
    return await call.read(_list, page)


@router.post(
    "/org/keys",
    operation_id="mintApiKey",
    summary="Mint an API key",
    status_code=201,
    responses=errors("role", "body"),
)
async def mint_key(call: CurrentCall, body: MintKey) -> MintedKeyRecord:
    return await call.write(_mint, body)


@router.delete(
    "/org/keys/{id}",
    operation_id="revokeApiKey",
    summary="Revoke an API key",
    responses=errors("role", "id", "conflict"),
)
async def revoke_key(call: CurrentCall, id: str) -> KeyRecord:  # noqa: A002 - the published parameter name
    return await call.write(_revoke, id)


def _list(tx: Tx, caller: Caller, page: PageRequest) -> PageRecord[KeyRecord]:
    return page_record(keys.list_keys(tx, caller.actor, caller.principal.org.id, page), _record)


def _mint(tx: Tx, caller: Caller, body: MintKey) -> MintedKeyRecord:
    org_id = caller.principal.org.id
    key, token = keys.mint_key(
        tx,
        caller.actor,
        org_id,
        name=body.name,
        role=Role[body.role],
        expires_at=body.expires_at,
        source_ids=None if body.source_ids is None else source_ids(tx, org_id, body.source_ids),
    )
    return MintedKeyRecord(key=_record(key), token=token)


def _revoke(tx: Tx, caller: Caller, key: str) -> KeyRecord:
    if not is_id(key):
        raise NotFound("API key")
    return _record(keys.revoke_key(tx, caller.actor, caller.principal.org.id, key))


def _record(key: ApiKey) -> KeyRecord:
    return KeyRecord(
        id=key.id,
        key_id=key.key_id,
        name=key.name,
        role=key.role.word,
        source_ids=None if key.source_ids is None else list(key.source_ids),
        created_by=key.created_by,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )
