"""For machines that watch the server: is it alive, is it ready, how does it do; and a first page."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ammeter import __version__
from ammeter.base.errors import AmmeterError
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.metrics import HttpMetrics, metrics_page
from ammeter.engines.db.migrate import migration_state
from ammeter.wiring import House

log = logging.getLogger("ammeter.probes")

_FIRST_PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Ammeter</title>
<h1>Ammeter {__version__}</h1>
<p>This server is running. Its interface: <a href="/api/service/v1/openapi">OpenAPI description</a>;
its state: <a href="/readyz">readiness</a>, <a href="/metrics">metrics</a>.</p></html>
"""


def probe_routes(house: House, metrics: HttpMetrics, is_stopping: Callable[[], bool]) -> list[Route]:
    async def alive(request: Request) -> Response:
        notes_of(request.scope).route = "/healthz"
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        notes_of(request.scope).route = "/readyz"
        checks = await house.db.run(_checks, house)
        if is_stopping():
            checks["stop"] = "the server is stopping"
        is_ready = all(value == "ok" for value in checks.values())
        walls = house.sandbox.hardening()
        status = {
            "status": "ready" if is_ready else "not ready",
            "checks": checks,
            "sandbox": {"started": False} if walls is None else {"started": True, **walls},
        }
        return JSONResponse(status, status_code=200 if is_ready else 503, headers={"retry-after": "2"})

    async def figures(request: Request) -> Response:
        notes_of(request.scope).route = "/metrics"
        return metrics_page(metrics, house.settings.metrics_token.get_secret_value(), request)

    async def first_page(request: Request) -> Response:
        notes_of(request.scope).route = "/"
        return HTMLResponse(_FIRST_PAGE)

    return [
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", figures),
        Route("/", first_page),
    ]


def _checks(house: House) -> dict[str, str]:
    return {"database": _database_check(house), "objects": _objects_check(house)}


def _database_check(house: House) -> str:
    try:
        pending = migration_state(house.db).pending
    except AmmeterError as error:
        return error.message
    return f"{len(pending)} migrations are to run" if pending else "ok"


def _objects_check(house: House) -> str:
    try:
        house.blobs.check()
    except AmmeterError as error:
        return error.message
    return "ok"
