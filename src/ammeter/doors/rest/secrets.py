"""`/org/secrets`: names of the organization's sealed secrets. A value goes in and never comes out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.fields import SecretName, SecretValue
from ammeter.features.secrets.model import Secret
from ammeter.features.secrets.service import Secrets

NameInPath = Annotated[SecretName, Path(description="Upper-case letters, digits and underscores.")]


class SecretRecord(Record):
    name: str
    created_at: Instant
    updated_at: Instant


class PutSecret(Body):
    value: Annotated[SecretValue, Field(description="The secret itself; it is sealed and never shown again.")]


class OkRecord(Record):
    ok: bool


def secrets_router(secrets: Secrets) -> APIRouter:
    router = APIRouter(tags=["org"], route_class=StrictRoute)

    def list_all(tx: Tx, caller: Caller, page: PageRequest) -> PageRecord[SecretRecord]:
        return page_record(secrets.list(tx, caller.actor, caller.principal.org.id, page), _record)

    def put(tx: Tx, caller: Caller, name: str, value: str) -> tuple[SecretRecord, bool]:
        secret, is_new = secrets.put(tx, caller.actor, caller.principal.org.id, name=name, value=value)
        return _record(secret), is_new

    def delete(tx: Tx, caller: Caller, name: str) -> OkRecord:
        secrets.delete(tx, caller.actor, caller.principal.org.id, name)
        return OkRecord(ok=True)

    @router.get(
        "/org/secrets",
        operation_id="listSecrets",
        summary="List the names of secrets",
        responses=errors("role"),
    )
    async def list_secrets(call: CurrentCall, page: Paging) -> PageRecord[SecretRecord]:
        return await call.read(list_all, page)

    @router.put(
        "/org/secrets/{name}",
        operation_id="putSecret",
        summary="Set a secret, new or anew",
        responses={
            201: {"model": SecretRecord, "description": "The secret is new."},
            **errors("role", "body"),
        },
    )
    async def put_secret(
        call: CurrentCall, name: NameInPath, body: PutSecret, response: Response
    ) -> SecretRecord:
        record, is_new = await call.write(put, name, body.value)
        response.status_code = 201 if is_new else 200
        return record

    @router.delete(
        "/org/secrets/{name}",
        operation_id="deleteSecret",
        summary="Delete a secret",
        responses=errors("role", "id"),
    )
    async def delete_secret(call: CurrentCall, name: NameInPath) -> OkRecord:
        return await call.write(delete, name)

    return router


def _record(secret: Secret) -> SecretRecord:
    return SecretRecord(name=secret.name, created_at=secret.created_at, updated_at=secret.updated_at)
