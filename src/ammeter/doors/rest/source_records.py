"""Sources as the REST API shows them: snake_case records, and the camelCase answer that creates one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Record, SnakeRecord
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Jobs, Status
from ammeter.features.orgs.model import Organization
from ammeter.features.sources import service
from ammeter.features.sources.model import (
    AuthProfile,
    AuthType,
    Discovery,
    JobStatus,
    Source,
    SourceStatus,
    TargetKind,
    TransportType,
)
from ammeter.features.sources.service import Created
from ammeter.features.sources.targets import Place, base_url_of

_SHOWN: dict[Status, JobStatus] = {
    Status.QUEUED: "queued",
    Status.RUNNING: "running",
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.CANCELLED: "failed",
}


class JobRecord(Record):
    id: str
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]


class NamedRecord(Record):
    id: str
    name: str


class CreatedSourceRecord(Record):
    server: NamedRecord
    auth_profile: NamedRecord
    discovery_job: JobRecord
    provisioning_job: JobRecord | None


class ListedSourceRecord(SnakeRecord):
    id: str
    name: str
    transport_type: TransportType
    base_url: str | None
    categories: list[str]


class ListedSourcesRecord(SnakeRecord):
    rows: list[ListedSourceRecord]


class AuthProfileRecord(SnakeRecord):
    id: str
    name: str
    auth_type: AuthType
    auth_config: Mapping[str, Any]


class ToolRecord(SnakeRecord):
    name: str
    title: str | None
    description: str | None
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] | None


class DiscoveryRecord(SnakeRecord):
    status: JobStatus | None
    finished_at: Instant | None
    error: str | None
    server_info: Mapping[str, Any] | None
    protocol_version: str | None
    instructions: str | None
    tools: list[ToolRecord]
    resources: list[Mapping[str, Any]]
    prompts: list[Mapping[str, Any]]


class ProvisioningRecord(SnakeRecord):
    status: JobStatus
    progress: str
    finished_at: Instant | None
    error: str | None


class SourceRecord(ListedSourceRecord):
    target_kind: TargetKind
    status: SourceStatus
    environment: str
    connection_config: Mapping[str, Any]
    network_policy: Mapping[str, Any]
    auth_profiles: list[AuthProfileRecord]
    source_slug: str | None
    code_mode: bool
    discovery: DiscoveryRecord
    provisioning: ProvisioningRecord | None
    created_at: Instant
    updated_at: Instant


def created_record(made: Created) -> CreatedSourceRecord:
    provisioning = made.provisioning_job
    return CreatedSourceRecord(
        server=NamedRecord(id=made.source.id, name=made.source.name),
        auth_profile=NamedRecord(id=made.auth_profile.id, name=made.auth_profile.name),
        discovery_job=JobRecord(id=made.discovery_job.id, status=made.discovery_job.status.value),
        provisioning_job=JobRecord(id=provisioning.id, status=provisioning.status.value)
        if provisioning
        else None,
    )


def listed_record(source: Source, place: Place) -> ListedSourceRecord:
    return ListedSourceRecord(
        id=source.id,
        name=source.name,
        transport_type=source.transport_type,
        base_url=base_url_of(source, place.public_url),
        categories=list(source.categories),
    )


def source_record(tx: Tx, source: Source, org: Organization, jobs: Jobs, place: Place) -> SourceRecord:
    return SourceRecord(
        **listed_record(source, place).model_dump(),
        target_kind=source.target_kind,
        status=source.status,
        environment=source.environment,
        connection_config=source.connection_config,
        network_policy=source.network_policy,
        auth_profiles=[_profile(each) for each in service.list_auth_profiles(tx, source)],
        source_slug=source.source_slug,
        code_mode=source.source_slug is not None and org.code_mode,
        discovery=_discovery(service.discovery_of(tx, source, jobs)),
        provisioning=_provisioning(tx, source, jobs),
        created_at=source.created_at,
        updated_at=source.updated_at,
    )


def _profile(profile: AuthProfile) -> AuthProfileRecord:
    return AuthProfileRecord(
        id=profile.id, name=profile.name, auth_type=profile.auth_type, auth_config=profile.auth_config
    )


def _discovery(discovery: Discovery) -> DiscoveryRecord:
    return DiscoveryRecord.model_validate(discovery, from_attributes=True)


def _provisioning(tx: Tx, source: Source, jobs: Jobs) -> ProvisioningRecord | None:
    job = jobs.find(tx, source.provisioning_job_id) if source.provisioning_job_id else None
    if job is None:
        return None
    return ProvisioningRecord(
        status=_SHOWN[job.status],
        progress=job.progress_message,
        finished_at=job.finished_at,
        error=job.error,
    )
