"""The REST door: every noun's routes under one FastAPI application, and the description of them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ammeter.base.errors import AmmeterError
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import error_response, from_http, internal_error
from ammeter.doors.rest import keys, members, org
from ammeter.doors.rest.openapi import describe
from ammeter.doors.rest.secrets import secrets_router
from ammeter.wiring import House

API_BASE = "/api/service/v1"


def rest_app(house: House) -> FastAPI:
    # A body without a content type is taken for JSON: `strict` reads it before FastAPI does.
    app = FastAPI(
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, strict_content_type=False
    )
    app.state.house = house
    routers = (org.router, keys.router, members.router, secrets_router(house.secrets))
    for router in routers:
        app.include_router(router)
    document = describe(app.routes)
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]

    async def get_description(request: Request) -> Response:
        notes_of(request.scope).route = f"{API_BASE}/openapi"
        return JSONResponse({**document, "servers": [{"url": _server(house, request)}]})

    async def not_routed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = {"Allow": allow} if (allow := _methods(routes, request)) else error.headers
        refused = HTTPException(error.status_code, headers=headers)
        return error_response(from_http(refused), notes_of(request.scope).request_id, headers=headers)

    app.add_route("/openapi", get_description, methods=["GET"], include_in_schema=False)
    app.add_exception_handler(AmmeterError, _refused)
    app.add_exception_handler(HTTPException, not_routed)
    app.add_exception_handler(RequestValidationError, _failed)
    app.add_exception_handler(Exception, _failed)
    return app


def _server(house: House, request: Request) -> str:
    base: Any = house.settings.base_url or f"{request.url.scheme}://{request.url.netloc}"
    return f"{base}{API_BASE}"


def _methods(routes: Sequence[APIRoute], request: Request) -> str:
    """The methods of a path over all its routes; the router itself names those of the first only."""
    path = request.scope["path"].removeprefix(API_BASE)
    matching = [route.methods or set() for route in routes if route.path_regex.match(path)]
    return ", ".join(sorted(set().union(*matching)))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AmmeterError)
    return error_response(error, notes_of(request.scope).request_id)


async def _failed(request: Request, error: Exception) -> Response:
    return error_response(internal_error(), notes_of(request.scope).request_id)
