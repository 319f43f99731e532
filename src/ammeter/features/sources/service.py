"""Sources: provision with a slug, create, read, list, change, archive, look at anew; their auth profiles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, Detail, InsufficientRole, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.base.text import did_you_mean
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Job, Jobs, Status
from ammeter.features.orgs import audit
from ammeter.features.orgs.fields import Name, Slug, checked
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.sources import store
from ammeter.features.sources.categories import CATEGORIES
from ammeter.features.sources.checks import NewSource, problems
from ammeter.features.sources.model import AuthProfile, Discovery, Source, SourceStatus
from ammeter.features.sources.targets import Place

DISCOVER = "sources.discover"
PROVISION = "sources.provision"

_OPEN = (Status.QUEUED, Status.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    source: Source
    auth_profile: AuthProfile
    discovery_job: Job
    provisioning_job: Job | None


def provision_source(tx: Tx, actor: Actor, org_id: str, *, name: str, source_slug: str) -> Source:
    actor.need(Role.owner, to="provision a source slug")
    at = now()
    source = Source(
        id=new_id(),
        org_id=org_id,
        name=checked(Name, name, "$.name"),
        source_slug=checked(Slug, source_slug, "$.slug"),
        environment="production",
        status="active",
        created_at=at,
        updated_at=at,
    )
    store.insert_source(tx, source)
    audit.record(tx, actor, org_id, "source.provision", source_slug, name=source.name)
    return source


def create_source(tx: Tx, actor: Actor, org_id: str, new: NewSource, *, jobs: Jobs, place: Place) -> Created:
    """A source with its first auth profile, and the jobs that look at it queued in the same transaction."""
    actor.need(Role.editor, to="create an MCP source")
    if actor.source_ids is not None:
        raise InsufficientRole("Your key is limited to some sources; it cannot make others.")
    if found := problems(new, place):
        raise ValidationFailed(found)
    at = now()
    source = Source(
        id=new_id(),
        org_id=org_id,
        name=checked(Name, new.name, "$.name"),
        source_slug=None,
        environment=new.environment,
        status="active",
        created_at=at,
        updated_at=at,
        transport_type=new.transport_type,
        target_kind=new.target_kind,
        base_url=new.base_url,
        connection_config=new.connection_config,
        network_policy=new.network_policy,
    )
    if source.is_hosted:
        source = replace(source, network_policy={"mode": "none", "allow": []} | dict(new.network_policy))
    profile = AuthProfile(
        id=new_id(),
        org_id=org_id,
        source_id=source.id,
        name=checked(Name, new.auth_name, "$.authProfile.name"),
        auth_type=new.auth_type,
        auth_config=new.auth_config,
        created_at=at,
    )
    store.insert_source(tx, source)
    store.insert_auth_profile(tx, profile)
    provisioning = _enqueue(tx, jobs, source, PROVISION) if source.is_hosted else None
    discovery = _enqueue(tx, jobs, source, DISCOVER)
    store.set_columns(
        tx,
        source.id,
        discovery_job_id=discovery.id,
        provisioning_job_id=provisioning.id if provisioning else None,
    )
    audit.record(tx, actor, org_id, "source.create", source.id, name=source.name)
    return Created(
        source=get_source(tx, org_id, source.id),
        auth_profile=profile,
        discovery_job=discovery,
        provisioning_job=provisioning,
    )


def get_source(tx: Tx, org_id: str, slug_or_id: str) -> Source:
    source = store.find_source(tx, org_id, slug_or_id)
    if source is None:
        raise NotFound("source")
    return source


def get_source_by_id(tx: Tx, actor: Actor, org_id: str, source_id: str) -> Source:
    """For doors whose address names an id: one that is malformed, foreign, or beyond the key, is unknown."""
    if not is_id(source_id) or (actor.source_ids is not None and source_id not in actor.source_ids):
        raise NotFound("MCP source")
    source = store.find_source(tx, org_id, source_id)
    if source is None:
        raise NotFound("MCP source")
    return source


def set_policy(tx: Tx, actor: Actor, org_id: str, slug_or_id: str, *, viewers_may_execute: bool) -> Source:
    actor.need(Role.admin, to="change a source's policy")
    source = get_source(tx, org_id, slug_or_id)
    changed = replace(source, viewers_may_execute=viewers_may_execute, updated_at=now())
    store.update_source(tx, changed)
    name = source.source_slug or source.id
    audit.record(tx, actor, org_id, "source.policy", name, viewers_may_execute=viewers_may_execute)
    return changed


def change_source(
    tx: Tx,
    actor: Actor,
    org_id: str,
    source_id: str,
    *,
    name: str | None = None,
    categories: Sequence[str] | None = None,
    status: SourceStatus | None = None,
) -> Source:
    """What is given is changed. Categories that a person has chosen stay."""
    actor.need(Role.editor, to="change an MCP source")
    source = get_source_by_id(tx, actor, org_id, source_id)
    changes: dict[str, object] = {}
    if name is not None:
        changes["name"] = checked(Name, name, "$.name")
    if categories is not None:
        changes["categories"] = list(_known_categories(categories))
        changes["categories_by_person"] = True
    if status is not None:
        changes["status"] = status
    if changes:
        store.set_columns(tx, source.id, **changes, updated_at=now())
        told = {key: value for key, value in changes.items() if key != "categories_by_person"}
        audit.record(tx, actor, org_id, "source.change", source.id, **told)
    return get_source(tx, org_id, source.id)


def archive_source(tx: Tx, actor: Actor, org_id: str, source_id: str) -> Source:
    return change_source(tx, actor, org_id, source_id, status="archived")


def list_sources(tx: Tx, org_id: str, page: PageRequest) -> Page[Source]:
    return store.list_sources(tx, org_id, page)


def list_active_sources(
    tx: Tx,
    actor: Actor,
    org_id: str,
    *,
    environment: str = "production",
    any_category: Collection[str] | None = None,
    category: str | None = None,
) -> list[Source]:
    """Newest first. `any_category`: one of these slugs at least; `category`: this one too."""
    return [
        source
        for source in store.list_active(tx, org_id, environment)
        if (actor.source_ids is None or source.id in actor.source_ids)
        and (any_category is None or not set(any_category).isdisjoint(source.categories))
        and (category is None or category in source.categories)
    ]


def source_ids(tx: Tx, org_id: str, slugs_or_ids: Sequence[str]) -> list[str]:
    """The ids of the named sources; ValidationFailed names each that is not there."""
    found = [store.find_source(tx, org_id, name) for name in slugs_or_ids]
    missing = [
        Detail(path=f"$.sourceIds[{i}]", message=f"no such source: {name!r}")
        for i, (name, source) in enumerate(zip(slugs_or_ids, found, strict=True))
        if source is None
    ]
    if missing:
        raise ValidationFailed(missing)
    return [source.id for source in found if source]


def list_auth_profiles(tx: Tx, source: Source) -> list[AuthProfile]:
    """The first is the source's default; a source that was provisioned with a slug may have none."""
    return store.list_auth_profiles(tx, source.id)


def find_auth_profile(tx: Tx, source: Source, profile_id: str | None = None) -> AuthProfile | None:
    """The named profile of the source, or its default; None where there is no such one."""
    profiles = store.list_auth_profiles(tx, source.id)
    return next((each for each in profiles if profile_id is None or each.id == profile_id), None)


def discover_again(tx: Tx, actor: Actor, org_id: str, source_id: str, *, jobs: Jobs) -> Job:
    """Queue another look at the source; one that is queued or running already stands in for it."""
    actor.need(Role.editor, to="look at an MCP source anew")
    source = get_source_by_id(tx, actor, org_id, source_id)
    if source.status != "active":
        raise Conflict("The source is archived; make it active again first.")
    job = _enqueue(tx, jobs, source, DISCOVER)
    store.set_columns(tx, source.id, discovery_job_id=job.id)
    audit.record(tx, actor, org_id, "source.discover", source.id)
    return job


def discovery_of(tx: Tx, source: Source, jobs: Jobs) -> Discovery:
    """What is known, with the status of the look that is under way, or that ended without a word."""
    job = jobs.find(tx, source.discovery_job_id) if source.discovery_job_id else None
    known = source.discovery
    if job is None:
        return known
    if job.status in _OPEN:
        return replace(known, status="queued" if job.status == Status.QUEUED else "running", error=None)
    if job.status in (Status.FAILED, Status.CANCELLED):
        told = job.error or "It was cancelled."
        return replace(known, status="failed", error=known.error or told, finished_at=job.finished_at)
    return known


def _enqueue(tx: Tx, jobs: Jobs, source: Source, kind: str) -> Job:
    return jobs.enqueue(
        tx,
        kind=kind,
        payload={"source_id": source.id},
        org_id=source.org_id,
        dedup_key=source.id,
        max_attempts=2,
    ).job


def _known_categories(slugs: Sequence[str]) -> Sequence[str]:
    wrong = [
        Detail(
            path=f"$.categories[{i}]",
            message=f"there is no category {slug!r}.{did_you_mean(slug, CATEGORIES)}",
        )
        for i, slug in enumerate(slugs)
        if slug not in CATEGORIES
    ]
    if wrong:
        raise ValidationFailed(wrong)
    return tuple(dict.fromkeys(slugs))
