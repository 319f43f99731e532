"""A FastAPI application for one door: its routes, with the manners that all doors share."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ammeter.base.errors import AmmeterError
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import error_response, from_http, internal_error
from ammeter.wiring import House


def door_app(house: House, routers: Sequence[APIRouter], *, base: str) -> FastAPI:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.house = house
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    # Straight into the application: a router within a router is one more search for every request.
    app.router.routes.extend(routes)

    async def not_routed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.scope["path"].removeprefix(base)
        headers = {"Allow": allow} if (allow := _methods(routes, path)) else error.headers
        refused = HTTPException(error.status_code, headers=headers)
        return error_response(from_http(refused), notes_of(request.scope).request_id, headers=headers)

    app.add_exception_handler(AmmeterError, _refused)
    app.add_exception_handler(HTTPException, not_routed)
    app.add_exception_handler(RequestValidationError, _failed)
    app.add_exception_handler(Exception, _failed)
    return app


def _methods(routes: Sequence[APIRoute], path: str) -> str:
    """The methods of a path over all its routes; the router itself names those of the first only."""
    matching = [route.methods or set() for route in routes if route.path_regex.match(path)]
    return ", ".join(sorted(set().union(*matching)))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AmmeterError)
    return error_response(error, notes_of(request.scope).request_id)


async def _failed(request: Request, error: Exception) -> Response:
    return error_response(internal_error(), notes_of(request.scope).request_id)
