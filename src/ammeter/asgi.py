"""All doors behind one edge: the ASGI application of a web process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ammeter.doors.dashboard.app import FORM_LIMITS, Dashboard
from ammeter.doors.hosted_mcp.door import HOSTED_BASE, HostedMcp
from ammeter.doors.http.edge import Edge
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.http.metrics import HttpMetrics
from ammeter.doors.own_mcp.door import OWN_PATH, OwnMcp
from ammeter.doors.probes import probe_routes
from ammeter.doors.rest.app import API_BASE, rest_app
from ammeter.doors.uploads import MAX_UPLOAD_BYTES, UPLOAD_PATH, UPLOADS_BASE, uploads_app
from ammeter.wiring import House


class _Busiest:
    """The doors that most requests are for, by their prefixes. The router, which matches the pattern of each
    door in turn, has all others."""

    def __init__(self, doors: dict[str, ASGIApp], router: Router) -> None:
        self._doors = [(prefix, f"{prefix}/", door) for prefix, door in doors.items()]
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        for prefix, start, busy in self._doors:
            if path.startswith(start):
                root = scope.get("root_path", "")
                # As a mount tells it to what is mounted.
                scope["app_root_path"] = scope.get("app_root_path", root)
                scope["root_path"] = root + prefix
                await busy(scope, receive, send)
                return
        await self._router(scope, receive, send)


def build_app(house: House) -> Edge:
    """The edge is told when the server stops, and refuses new work then."""
    settings = house.settings
    metrics = HttpMetrics()
    metrics.watch_telemetry(house.recorder.figures)
    metrics.watch_sandbox(house.sandbox.counters)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        yield
        await house.stop()

    hosts = AllowedHosts(settings.allowed_hosts, public_url=settings.public_url)
    rest = rest_app(house)
    busiest: dict[str, ASGIApp] = {API_BASE: rest, HOSTED_BASE: HostedMcp(house, hosts)}
    doors: list[BaseRoute] = [
        Mount(UPLOADS_BASE, uploads_app(house)),
        Route(OWN_PATH, OwnMcp(house, hosts, rest=rest, rest_base=API_BASE)),
    ]
    if settings.demo:
        # Imported here: the demo's shop is for servers that have one.
        from ammeter.doors.demo_api.app import demo_app
        from ammeter.doors.demo_api.names import DEMO_BASE

        doors.append(Mount(DEMO_BASE, demo_app(house)))
    routes = [*doors, *probe_routes(house, metrics, lambda: edge.is_stopping)]
    # The dashboard takes what no other door does, so that it stands in front of none.
    router = Router(routes, redirect_slashes=False, default=Dashboard(house), lifespan=lifespan)
    edge = Edge(
        _Busiest(busiest, router),
        hosts=hosts,
        metrics=metrics,
        body_timeout_s=settings.body_timeout_s,
        body_limits={UPLOADS_BASE + UPLOAD_PATH: MAX_UPLOAD_BYTES, **FORM_LIMITS},
    )
    return edge
