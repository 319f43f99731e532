"""Organizations: make, find, list, switch features, set and read the included runs."""

from __future__ import annotations

from dataclasses import replace

from ammeter.base.clock import month_of, now, rfc3339
from ammeter.base.errors import Detail, NotFound, QuotaExhausted, ValidationFailed
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, store
from ammeter.features.orgs.fields import Name, Slug, checked
from ammeter.features.orgs.model import Actor, Organization, Region, Role, Usage


def create_org(
    tx: Tx,
    actor: Actor,
    *,
    slug: str,
    name: str,
    region: Region,
    mcp_analytics: bool = False,
    code_mode: bool = False,
    included_runs: int | None = None,
) -> Organization:
    _check_included(included_runs)
    org = Organization(
        id=new_id(),
        slug=checked(Slug, slug, "$.slug"),
        name=checked(Name, name, "$.name"),
        region=region,
        mcp_analytics=mcp_analytics,
        code_mode=code_mode,
        included_runs=included_runs,
        created_at=now(),
    )
    store.insert_org(tx, org)
    audit.record(tx, actor, org.id, "org.create", org.slug, name=org.name, region=org.region)
    return org


def get_org(tx: Tx, slug_or_id: str) -> Organization:
    org = store.find_org(tx, slug_or_id)
    if org is None:
        raise NotFound(f"organization {slug_or_id!r}")
    return org


def list_orgs(tx: Tx, page: PageRequest) -> Page[Organization]:
    return store.list_orgs(tx, page)


def anyone_runs_scripts(tx: Tx) -> bool:
    return store.has_code_mode(tx)


def set_features(
    tx: Tx,
    actor: Actor,
    org: Organization,
    *,
    mcp_analytics: bool | None = None,
    code_mode: bool | None = None,
) -> Organization:
    actor.need(Role.owner, to="switch features")
    wanted = {"mcp_analytics": mcp_analytics, "code_mode": code_mode}
    changes = {name: value for name, value in wanted.items() if value is not None}
    if changes:
        store.update_org(tx, org.id, changes)
        audit.record(tx, actor, org.id, "org.features", org.slug, **changes)
    return get_org(tx, org.id)


def set_included_runs(tx: Tx, actor: Actor, org: Organization, included_runs: int | None) -> Organization:
    actor.need(Role.owner, to="set the included runs")
    _check_included(included_runs)
    store.update_org(tx, org.id, {"included_runs": included_runs})
    audit.record(tx, actor, org.id, "org.included_runs", org.slug, now=included_runs, was=org.included_runs)
    return replace(org, included_runs=included_runs)


def read_usage(tx: Tx, org: Organization) -> Usage:
    """Runs of the calendar month, UTC, that we are in."""
    start, end = month_of(now())
    used = store.read_used_runs(tx, org.id, start)
    return Usage(period_start=start, period_end=end, included=org.included_runs, used=used)


def spend_runs(tx: Tx, org_id: str, count: int) -> None:
    """Count so many runs toward this month's; QuotaExhausted, and none counted, where they are not left."""
    start, end = month_of(now())
    included = get_org(tx, org_id).included_runs
    if not store.add_used_runs(tx, org_id, start, count, most=included):
        used = store.read_used_runs(tx, org_id, start)
        raise QuotaExhausted(
            f"{used} of the {included} included runs of this month are used, and {count} more are needed;"
            f" the next month begins at {rfc3339(end)}."
        )


def _check_included(included_runs: int | None) -> None:
    if included_runs is not None and not 0 <= included_runs <= 2_000_000_000:
        raise ValidationFailed(
            [
                Detail(
                    path="$.includedRuns",
                    message="included runs are 0 to 2,000,000,000, or none for unlimited",
                )
            ]
        )
