"""`/bundles` and `/bundles/{id}`: versions of what is served, what each changes, promotion and roll-back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import NotFound
from ammeter.base.pages import Page, PageRequest
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.compiler.diff import ApiDiff, Entry
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.model import StoredBundle, Use
from ammeter.features.bundles.service import Promoted, Standing
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source

_MOST_ENTRIES = 200
_MOST_FINDINGS = 200
_LEVELS = ("error", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlesPage:
    sources: tuple[Source, ...]
    """Those that serve bundles."""
    source: Source | None
    listing: Listing[StoredBundle] | None
    rollback: Mapping[str, str]
    """By the id of a served bundle: the id of the one that was served before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlePage:
    standing: Standing
    findings: tuple[Finding, ...]
    findings_left_out: int
    counts: Mapping[str, int]
    """Findings by level."""

    @property
    def bundle(self) -> StoredBundle:
        return self.standing.bundle

    @property
    def source(self) -> Source:
        return self.standing.source

    @property
    def is_roll_back(self) -> bool:
        return self.standing.previous_id == self.bundle.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Operations that changed in one way, the most used first; what is left out is counted."""

    title: str
    kind: str
    entries: tuple[Entry, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPart:
    is_active: bool
    has_active: bool
    groups: tuple[Group, ...]
    uses: Mapping[str, Use]
    used: int
    """How many of the operations that break were used lately."""


async def show_list(visit: Visit) -> Response:
    page = await visit.read(_list, visit.query)
    return visit.page("bundles/templates/list.html", page, title="Bundles")


async def show(visit: Visit) -> Response:
    standing = await visit.read(_standing, visit.part("id"))
    ranked = sorted(standing.findings, key=lambda finding: _LEVELS.index(finding.level))
    page = BundlePage(
        standing=standing,
        findings=tuple(ranked[:_MOST_FINDINGS]),
        findings_left_out=max(0, len(ranked) - _MOST_FINDINGS),
        counts={level: sum(each.level == level for each in ranked) for level in _LEVELS},
    )
    return visit.page("bundles/templates/detail.html", page, title=f"Bundle of {standing.source.name}")


async def show_diff(visit: Visit) -> Response:
    standing = await visit.read(_standing, visit.part("id"))
    compared = await visit.house.uploads.compared(standing)
    part = diff_part(standing, compared.diff, compared.uses)
    return visit.fragment("bundles/templates/diff_part.html", part)


async def promote(visit: Visit) -> Response:
    promoted, source = await visit.write(_promote, visit.part("id"))
    form = await visit.form()
    told = f"{source.name} serves this bundle in {promoted.bundle.environment} now."
    back = "/start" if form.text("back") == "start" else f"/bundles/{promoted.bundle.id}"
    return visit.go(back, said=told)


def diff_part(standing: Standing, diff: ApiDiff, uses: Mapping[str, Use]) -> DiffPart:
    broken = {entry.operation_id for entry in diff.breaking}
    changed = [entry for entry in diff.signature_changed if entry.operation_id not in broken]
    removed = [entry for entry in diff.removed if entry.operation_id not in broken]
    by_use = sorted(diff.breaking, key=lambda entry: -_sessions(uses, entry))
    return DiffPart(
        is_active=standing.bundle.is_active,
        has_active=standing.active is not None,
        groups=tuple(
            group
            for group in (
                _group("Breaks scripts", "breaking", by_use),
                _group("Removed", "removed", removed),
                _group("Changed", "changed", changed),
                _group("Added", "added", diff.added),
            )
            if group.entries
        ),
        uses=uses,
        used=sum(_sessions(uses, entry) > 0 for entry in diff.breaking),
    )


def _sessions(uses: Mapping[str, Use], entry: Entry) -> int:
    use = uses.get(entry.operation_id)
    return use.sessions if use else 0


def _group(title: str, kind: str, entries: Sequence[Entry]) -> Group:
    shown = tuple(entries[:_MOST_ENTRIES])
    return Group(title=title, kind=kind, entries=shown, left_out=len(entries) - len(shown))


def serving_sources(tx: Tx, org_id: str) -> tuple[Source, ...]:
    found = every(lambda page: sources.list_sources(tx, org_id, page))
    served = [source for source in found if source.source_slug and source.status == "active"]
    return tuple(sorted(served, key=lambda source: source.name.lower()))


def chosen_source(known: Sequence[Source], named: str) -> Source | None:
    """The one that the address names, by id or slug; else the first."""
    if not named:
        return known[0] if known else None
    for source in known:
        if named in (source.id, source.source_slug):
            return source
    raise NotFound("source")


def _list(tx: Tx, me: Me, query: Query) -> BundlesPage:
    known = serving_sources(tx, me.org_id)
    source = chosen_source(known, query.get("source"))
    if source is None:
        return BundlesPage(sources=known, source=None, listing=None, rollback={})
    environment = query.get("environment") or None
    found = _bundles(tx, me, source, environment, query.request)
    rollback: dict[str, str] = {}
    for bundle in found.rows:
        if bundle.is_active:
            before = service.get_standing(tx, me.signed_in, bundle.id).previous_id
            rollback |= {bundle.id: before} if before else {}
    return BundlesPage(
        sources=known,
        source=source,
        listing=Listing(query=query, page=found, sort="-made"),
        rollback=rollback,
    )


def _bundles(
    tx: Tx, me: Me, source: Source, environment: str | None, page: PageRequest
) -> Page[StoredBundle]:
    return service.list_bundles(tx, me.signed_in, source.id, environment, page)[1]


def _standing(tx: Tx, me: Me, bundle_id: str) -> Standing:
    return service.get_standing(tx, me.signed_in, bundle_id)


def _promote(tx: Tx, me: Me, bundle_id: str) -> tuple[Promoted, Source]:
    return service.promote_stored(tx, me.signed_in, me.actor, bundle_id)


VIEWS = (
    View(path="/bundles", handle=show_list),
    View(path="/bundles/{id}", handle=show),
    View(path="/bundles/{id}/diff", handle=show_diff),
    View(path="/bundles/{id}/promote", method="POST", handle=promote, role=Role.admin, to="promote a bundle"),
)
