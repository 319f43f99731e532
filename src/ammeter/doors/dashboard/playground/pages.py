"""`/playground`: search a source's SDK and run a script against it, as an agent does, and see what happens.

What is done here is no agent's: it is kept out of telemetry, and each script stands in the audit log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import AmmeterError, InsufficientRole
from ammeter.doors.dashboard.bundles.versions import chosen_source, serving_sources
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import Area, Entry, View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.buckets import Policy
from ammeter.engines.db.database import Tx
from ammeter.features.gateway.credentials import OrgCredentials
from ammeter.features.gateway.execute import Executed, Workshop, execute_script
from ammeter.features.gateway.live import LiveBundle, Target, find_preview, find_target
from ammeter.features.gateway.search import search_sdk
from ammeter.features.orgs import audit
from ammeter.features.sources.model import Source

_SCRIPTS = Policy(name="playground", burst=30, per_second=1)
_HEADER = "/** @intent Try the API in the playground @context A person looks at it @frustration_level 0 */\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundPage:
    sources: tuple[Source, ...]
    source: Source | None
    environment: str
    bundle: str
    """The id of a stored bundle that is tried before it is promoted; empty: the one that is served."""
    problem: str
    """Why nothing can be tried."""
    may_execute: bool
    client_name: str
    script: str
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPart:
    query: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    is_miss: bool
    client_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    is_error: bool
    calls: Sequence[Mapping[str, Any]]
    logs: Sequence[str]
    has_result: bool
    result: Any
    error: Mapping[str, Any]
    remarks: tuple[str, ...]
    duration_ms: float
    cpu_ms: float | None
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    sources: tuple[Source, ...]
    source: Source | None
    target: Target | None
    problem: str


async def show(visit: Visit) -> Response:
    query = visit.query
    environment, bundle = query.get("environment", default="production"), query.get("bundle")
    chosen = await visit.read(_choose, query.get("source"), environment, bundle)
    live = await visit.house.live.get(chosen.target) if chosen.target else None
    page = PlaygroundPage(
        sources=chosen.sources,
        source=chosen.source,
        environment=environment,
        bundle=bundle,
        problem=chosen.problem,
        may_execute=chosen.target is not None and chosen.target.may_execute,
        client_name=live.manifest.client_name if live else "client",
        script=_first_script(live) if live else "",
        form=Form(),
    )
    return visit.page("playground/templates/playground.html", page, title="Playground")


async def search(visit: Visit) -> Response:
    form, live, _ = await _sent(visit)
    found = search_sdk(live, form.text("query")[:1000], 5)
    part = SearchPart(
        query=form.text("query"),
        rows=found.data["results"],
        notes=found.data.get("notes", ()),
        is_miss=found.miss,
        client_name=live.manifest.client_name,
    )
    return visit.fragment("playground/templates/search_part.html", part)


async def run(visit: Visit) -> Response:
    form, live, target = await _sent(visit)
    if not target.may_execute:
        raise InsufficientRole(
            f"To run scripts takes the role editor or above; yours is {visit.signed_in.role.name}."
        )
    await visit.spend(_SCRIPTS, "Too many scripts at once.")
    house = visit.house
    executed = await execute_script(
        Workshop(sandbox=await house.sandbox.open(), egress=house.egress, lanes=house.lanes),
        live,
        form.text("code"),
        credentials=OrgCredentials(house.db, house.secrets, target.org_id, house.settings.secret_environment),
        tenant=target.org_id,
        read_only=form.flag("read_only"),
    )
    await visit.write(_note, target, executed)
    return visit.fragment("playground/templates/run_part.html", _run_part(executed))


async def _sent(visit: Visit) -> tuple[Form, LiveBundle, Target]:
    form = await visit.form()
    environment = form.text("environment") or "production"
    target = await visit.read(_target, form.text("slug"), environment, form.text("bundle"))
    return form, await visit.house.live.get(target), target


def _run_part(executed: Executed) -> RunPart:
    data = executed.data
    return RunPart(
        is_error=executed.is_error,
        calls=data.get("calls", ()),
        logs=data.get("logs", ()),
        has_result="result" in data,
        result=data.get("result"),
        error=data.get("error", {}),
        remarks=(*data.get("truncated", ()), *data.get("diagnostics", ())),
        duration_ms=data.get("durationMs", 0),
        cpu_ms=executed.cpu_ms,
        files=len(executed.files),
    )


def _first_script(live: LiveBundle) -> str:
    """An example that only reads, where there is one."""
    reading = [card for card in live.cards if card.method == "get" and card.example]
    plain = [card for card in reading if "{" not in card.path]
    best = next(iter([*plain, *reading, *live.cards]), None)
    client = live.manifest.client_name
    return _HEADER + ((best and best.example) or f"return Object.keys({client});")


def _choose(tx: Tx, me: Me, named: str, environment: str, bundle: str) -> _Chosen:
    known = serving_sources(tx, me.org_id)
    source = chosen_source(known, named)
    if source is None:
        return _Chosen(sources=known, source=None, target=None, problem="")
    try:
        target = _target(tx, me, source.source_slug or "", environment, bundle)
    except AmmeterError as fault:
        return _Chosen(sources=known, source=source, target=None, problem=fault.message)
    return _Chosen(sources=known, source=source, target=target, problem="")


def _target(tx: Tx, me: Me, slug: str, environment: str, bundle: str) -> Target:
    if bundle:
        return find_preview(tx, me.signed_in, slug, bundle)
    return find_target(tx, me.signed_in, slug, environment)


def _note(tx: Tx, me: Me, target: Target, executed: Executed) -> None:
    audit.record(
        tx,
        me.actor,
        me.org_id,
        "playground.run",
        target.slug,
        environment=target.environment,
        calls=len(executed.calls),
        outcome=executed.outcome,
    )


AREA = Area(
    entry=Entry(section="Build", label="Playground", path="/playground", icon="playground"),
    views=(
        View(path="/playground", handle=show),
        View(path="/playground/search", method="POST", handle=search),
        View(path="/playground/run", method="POST", handle=run),
    ),
)
