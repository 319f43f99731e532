"""The REST door: every noun's routes under one application, and the description of them all."""

from __future__ import annotations

from asyncio import to_thread
from functools import cache

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ammeter.doors.http.app import Door
from ammeter.doors.http.edge import notes_of
from ammeter.doors.rest import insights, keys, members, org, runs, skills, suites, workflows
from ammeter.doors.rest.mcp_servers import mcp_servers_router
from ammeter.doors.rest.openapi import describe
from ammeter.doors.rest.secrets import secrets_router
from ammeter.wiring import House

API_BASE = "/api/service/v1"


def rest_app(house: House) -> Door:
    routers = (
        org.router,
        keys.router,
        members.router,
        secrets_router(house.secrets),
        mcp_servers_router(house),
        skills.router,
        workflows.router,
        runs.router,
        suites.router,
        insights.router,
    )
    app = Door(house, routers, base=API_BASE)
    # Made when it is first asked for: it takes longer than everything else at a start.
    document = cache(lambda: describe(app.routes))

    async def get_description(request: Request) -> Response:
        notes_of(request.scope).route = f"{API_BASE}/openapi"
        base = house.settings.base_url or f"{request.url.scheme}://{request.url.netloc}"
        return JSONResponse({**await to_thread(document), "servers": [{"url": f"{base}{API_BASE}"}]})

    app.add_route("/openapi", get_description)
    return app
