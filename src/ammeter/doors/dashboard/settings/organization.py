"""`/settings` and its pages on features, usage and models: what the organization is and has."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.engines.models.endpoints import BUILTIN, VENDORS
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Organization, Role, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationPage:
    tabs: tuple[Tab, ...]
    org: Organization
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    name: str
    title: str
    text: str
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesPage:
    tabs: tuple[Tab, ...]
    features: tuple[Feature, ...]
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    tabs: tuple[Tab, ...]
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    name: str
    models: str
    is_ready: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsPage:
    tabs: tuple[Tab, ...]
    providers: tuple[Provider, ...]
    default_model: str
    judge_model: str


async def show_organization(visit: Visit) -> Response:
    page = OrganizationPage(tabs=tabs(visit), org=visit.me.org, address=visit.house.settings.public_url)
    return visit.page("settings/templates/organization.html", page, title="Organization")


async def show_features(visit: Visit) -> Response:
    org = visit.me.org
    features = (
        Feature(
            name="code_mode",
            title="Code mode",
            text="Agents reach your sources at hosted endpoints and run scripts in the sandbox.",
            is_on=org.code_mode,
        ),
        Feature(
            name="mcp_analytics",
            title="Insights",
            text="What agents do is told by sessions, topics and failed searches.",
            is_on=org.mcp_analytics,
        ),
    )
    page = FeaturesPage(tabs=tabs(visit), features=features, form=Form())
    return visit.page("settings/templates/features.html", page, title="Features")


async def switch_features(visit: Visit) -> Response:
    form = await visit.form()
    await visit.write(_switch, code_mode=form.flag("code_mode"), mcp_analytics=form.flag("mcp_analytics"))
    return visit.go("/settings/features", said="The features are as you set them.")


async def show_usage(visit: Visit) -> Response:
    page = UsagePage(tabs=tabs(visit), usage=await visit.read(_usage))
    return visit.page("settings/templates/usage.html", page, title="Usage")


async def show_models(visit: Visit) -> Response:
    settings, reachable = visit.house.settings, visit.house.models.reachable
    providers = [Provider(name="builtin", models=", ".join(BUILTIN), is_ready=True, note="Needs no key.")]
    for vendor in VENDORS:
        ready = bool(reachable.vendor_keys.get(vendor))
        variable = f"AMMETER_{vendor.upper()}_API_KEY"
        note = "The server has a key." if ready else f"The operator gives the server {variable}."
        providers.append(Provider(name=vendor, models=f"{vendor}/…", is_ready=ready, note=note))
    for name, endpoint in reachable.endpoints.items():
        models = ", ".join(f"{name}/{model}" for model in endpoint.names) or f"{name}/…"
        note = "Acts by calling tools." if endpoint.mode == "tools" else "Acts in constrained steps."
        providers.append(Provider(name=name, models=models, is_ready=True, note=note))
    page = ModelsPage(
        tabs=tabs(visit),
        providers=tuple(providers),
        default_model=settings.default_model,
        judge_model=settings.judge_model,
    )
    return visit.page("settings/templates/models.html", page, title="Models")


def _switch(tx: Tx, me: Me, *, code_mode: bool, mcp_analytics: bool) -> Organization:
    return service.set_features(tx, me.actor, me.org, code_mode=code_mode, mcp_analytics=mcp_analytics)


def _usage(tx: Tx, me: Me) -> Usage:
    return service.read_usage(tx, me.org)


VIEWS = (
    View(path="/settings", handle=show_organization),
    View(path="/settings/features", handle=show_features),
    View(
        path="/settings/features",
        method="POST",
        handle=switch_features,
        role=Role.owner,
        to="switch features",
    ),
    View(path="/settings/usage", handle=show_usage),
    View(path="/settings/models", handle=show_models),
)
