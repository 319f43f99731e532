"""`/mcp-servers`: the MCP sources of the organization: make, list, read, change, look at anew."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from ammeter.doors.http.call import Caller
from ammeter.doors.http.strict import Body, CurrentCall, Record, StrictRoute
from ammeter.doors.rest.categories import Categories, CategorySlug, slugs_of
from ammeter.doors.rest.errors import errors
from ammeter.doors.rest.source_records import (
    CreatedSourceRecord,
    JobRecord,
    ListedSourcesRecord,
    SourceRecord,
    created_record,
    listed_record,
    source_record,
)
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.fields import Name
from ammeter.features.sources import service
from ammeter.features.sources.checks import NewSource
from ammeter.features.sources.model import AuthType, NetworkMode, SourceStatus, TargetKind, TransportType
from ammeter.wiring import House

Word = Annotated[str, Field(min_length=1, max_length=4_000)]
Value = Annotated[str, Field(max_length=8_000)]
Slug = Annotated[str, Field(max_length=63)]


class SecretReference(Body):
    secret_ref: Annotated[str, Field(max_length=140, description="`secret:NAME` or `env:NAME`")]


class PackageIn(Body):
    registry: Literal["npm", "pypi"]
    name: Word
    version: Annotated[str | None, Field(max_length=64, description="Exact; absent: the newest, kept.")] = (
        None
    )


class ConnectionConfig(Body):
    headers: Annotated[dict[str, Value] | None, Field(max_length=50, description="Of HTTP transports.")] = (
        None
    )
    timeout_seconds: Annotated[int | None, Field(ge=1, le=600, description="Of one tool call.")] = None
    command: Annotated[list[Word] | None, Field(min_length=1, max_length=100)] = None
    package: PackageIn | None = None
    args: Annotated[list[Value] | None, Field(max_length=100)] = None
    env: Annotated[dict[str, Value | SecretReference] | None, Field(max_length=100)] = None
    working_files: Annotated[
        dict[str, Annotated[str, Field(max_length=500_000)]] | None, Field(max_length=200)
    ] = None


class NetworkPolicyIn(Body):
    mode: NetworkMode = "none"
    allow: Annotated[
        list[Annotated[str, Field(max_length=260)]],
        Field(max_length=100, default_factory=list, description="`host[:port]`, with the mode allowlist."),
    ]


class AuthProfileIn(Body):
    name: Name = "Default"
    auth_type: AuthType = "none"
    auth_config: Annotated[
        dict[str, Any],
        Field(max_length=20, default_factory=dict, description="Names and references, never values."),
    ]


class CreateSource(Body):
    name: Name
    transport_type: TransportType = "streamable_http"
    target_kind: TargetKind = "mcp"
    base_url: Annotated[str | None, Field(max_length=2_000, json_schema_extra={"format": "uri"})] = None
    connection_config: ConnectionConfig | None = None
    network_policy: NetworkPolicyIn | None = None
    auth_profile: AuthProfileIn | None = None
    environment: Annotated[str, Field(max_length=32)] = "production"


class ChangeSource(Body):
    """What is absent or null stays as it is."""

    name: Name | None = None
    categories: Annotated[list[Slug] | None, Field(max_length=10)] = None
    status: SourceStatus | None = None


class DiscoverySentRecord(Record):
    discovery_job: JobRecord


def mcp_servers_router(house: House) -> APIRouter:
    router = APIRouter(tags=["mcpServers"], route_class=StrictRoute)
    _reading(router, house)
    _writing(router, house)
    return router


def _reading(router: APIRouter, house: House) -> None:
    jobs, place = house.jobs, house.place

    def list_some(
        tx: Tx, caller: Caller, categories: tuple[str, ...], slug: str | None
    ) -> ListedSourcesRecord:
        org_id = caller.principal.org.id
        found = service.list_active_sources(
            tx, caller.actor, org_id, any_category=slugs_of(categories), category=slug
        )
        return ListedSourcesRecord(rows=[listed_record(source, place) for source in found])

    def read(tx: Tx, caller: Caller, source_id: str) -> SourceRecord:
        org = caller.principal.org
        source = service.get_source_by_id(tx, caller.actor, org.id, source_id)
        return source_record(tx, source, org, jobs, place)

    @router.get(
        "/mcp-servers",
        operation_id="listMcpServers",
        summary="List the active sources of production",
        responses=errors(),
    )
    async def list_sources(
        call: CurrentCall,
        category: Categories = (),
        category_slug: CategorySlug = None,
    ) -> ListedSourcesRecord:
        return await call.read(list_some, category, category_slug)

    @router.get(
        "/mcp-servers/{id}", operation_id="getMcpServer", summary="Read a source", responses=errors("id")
    )
    async def get_source(call: CurrentCall, id: str) -> SourceRecord:  # noqa: A002 - the published name
        return await call.read(read, id)


def _writing(router: APIRouter, house: House) -> None:
    jobs, place = house.jobs, house.place

    def create(tx: Tx, caller: Caller, body: CreateSource) -> CreatedSourceRecord:
        org_id = caller.principal.org.id
        made = service.create_source(tx, caller.actor, org_id, _new(body), jobs=jobs, place=place)
        return created_record(made)

    def change(tx: Tx, caller: Caller, source_id: str, body: ChangeSource) -> SourceRecord:
        org = caller.principal.org
        told = body.model_dump(exclude_none=True)
        source = service.change_source(tx, caller.actor, org.id, source_id, **told)
        return source_record(tx, source, org, jobs, place)

    def discover(tx: Tx, caller: Caller, source_id: str) -> DiscoverySentRecord:
        job = service.discover_again(tx, caller.actor, caller.principal.org.id, source_id, jobs=jobs)
        return DiscoverySentRecord(discovery_job=JobRecord(id=job.id, status=job.status.value))

    @router.post(
        "/mcp-servers",
        operation_id="createMcpServer",
        summary="Create a source; jobs that install and look at it are queued",
        status_code=201,
        responses=errors("role", "body"),
    )
    async def create_source(call: CurrentCall, body: CreateSource) -> CreatedSourceRecord:
        return await call.write(create, body)

    @router.patch(
        "/mcp-servers/{id}",
        operation_id="updateMcpServer",
        summary="Change a source's name, categories or status",
        responses=errors("role", "id", "body"),
    )
    async def change_source(call: CurrentCall, id: str, body: ChangeSource) -> SourceRecord:  # noqa: A002
        return await call.write(change, id, body)

    @router.post(
        "/mcp-servers/{id}/discover",
        operation_id="discoverMcpServer",
        summary="Look at a source anew",
        status_code=202,
        responses=errors("role", "id", "conflict"),
    )
    async def discover_source(call: CurrentCall, id: str) -> DiscoverySentRecord:  # noqa: A002
        return await call.write(discover, id)


def _new(body: CreateSource) -> NewSource:
    profile = body.auth_profile or AuthProfileIn.model_validate({})
    policy = body.network_policy
    return NewSource(
        name=body.name,
        transport_type=body.transport_type,
        target_kind=body.target_kind,
        base_url=body.base_url,
        connection_config=_told(body.connection_config),
        network_policy=policy.model_dump(by_alias=True) if policy else {},
        environment=body.environment,
        auth_name=profile.name,
        auth_type=profile.auth_type,
        auth_config=profile.auth_config,
    )


def _told(config: ConnectionConfig | None) -> dict[str, Any]:
    return config.model_dump(by_alias=True, exclude_none=True) if config else {}
