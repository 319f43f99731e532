"""All doors behind one edge: the ASGI application of a web process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.routing import Mount, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ammeter.base.errors import NotFound
from ammeter.doors.hosted_mcp.door import HOSTED_BASE, HostedMcp
from ammeter.doors.http.edge import Edge
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.http.metrics import HttpMetrics
from ammeter.doors.probes import probe_routes
from ammeter.doors.rest.app import API_BASE, rest_app
from ammeter.doors.uploads import MAX_UPLOAD_BYTES, UPLOAD_PATH, UPLOADS_BASE, uploads_app
from ammeter.wiring import House


@dataclass(frozen=True, slots=True)
class WebApp:
    """The application, and the means to make it refuse new work at a stop."""

    app: ASGIApp
    edge: Edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def build_app(house: House) -> WebApp:
    settings = house.settings
    metrics = HttpMetrics()
    metrics.watch_telemetry(house.recorder.figures)
    metrics.watch_sandbox(house.sandbox.counters)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        yield
        await house.stop()

    hosts = AllowedHosts(settings.allowed_hosts, public_url=settings.public_url)
    doors = [
        Mount(API_BASE, rest_app(house)),
        Mount(UPLOADS_BASE, uploads_app(house)),
        Mount(HOSTED_BASE, HostedMcp(house, hosts)),
    ]
    if settings.demo:
        # Imported here: the demo's shop is for servers that have one.
        from ammeter.doors.demo_api.app import demo_app
        from ammeter.doors.demo_api.names import DEMO_BASE

        doors.append(Mount(DEMO_BASE, demo_app(house)))
    routes = [*doors, *probe_routes(house, metrics, lambda: edge.is_stopping)]
    edge = Edge(
        Router(routes, redirect_slashes=False, default=_nowhere, lifespan=lifespan),
        hosts=hosts,
        metrics=metrics,
        body_timeout_s=settings.body_timeout_s,
        body_limits={UPLOADS_BASE + UPLOAD_PATH: MAX_UPLOAD_BYTES},
    )
    return WebApp(app=edge, edge=edge)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotFound("path")
