"""For machines that watch the server: is it alive, is it ready, how does it do."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ammeter.base.errors import AmmeterError
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.metrics import HttpMetrics, metrics_page
from ammeter.engines.db.migrate import migration_state
from ammeter.wiring import House

log = logging.getLogger("ammeter.probes")


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

    return [
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route("/metrics", figures),
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
