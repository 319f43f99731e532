"""One door: its routes, and the answers for paths and methods that are none of them.

FastAPI makes the routes and their description; its application around them would cost each request as much
as the work of a small one, and everything that application does is done by the edge already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send

from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import error_response, from_http
from ammeter.doors.http.strict import StrictRoute
from ammeter.wiring import House


class Door:
    def __init__(self, house: House, routers: Sequence[APIRouter], *, base: str) -> None:
        self._house = house
        self._base = base
        self.routes: list[BaseRoute] = [
            route for router in routers for route in router.routes if isinstance(route, APIRoute)
        ]
        self._router = Router(self.routes, redirect_slashes=False)
        # One list for both: what is added later is found too.
        self._router.routes = self.routes
        self._plain = {
            (method, base + route.path): route.app
            for route in self.routes
            if isinstance(route, StrictRoute) and route.is_plain
            for method in route.methods or ()
        }

    def add_route(self, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        self.routes.append(Route(path, endpoint, methods=["GET"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        scope["ammeter.house"] = self._house
        plain = self._plain.get((scope["method"], scope["path"]))
        if plain is not None:
            await plain(scope, receive, send)
            return
        # FastAPI's routes look for it: what a request opens is closed with it.
        async with AsyncExitStack() as scope["fastapi_middleware_astack"]:
            try:
                await self._router(scope, receive, send)
            except HTTPException as error:
                await self._not_routed(scope, error)(scope, receive, send)

    def _not_routed(self, scope: Scope, error: HTTPException) -> Response:
        allow = self._methods(scope["path"].removeprefix(self._base))
        headers = {"Allow": allow} if allow else error.headers
        refused = HTTPException(error.status_code, headers=headers)
        return error_response(from_http(refused), notes_of(scope).request_id, headers=headers)

    def _methods(self, path: str) -> str:
        """The methods of a path over all its routes; the router itself names those of the first only."""
        routes = [route for route in self.routes if isinstance(route, APIRoute | Route)]
        matching = [route.methods or set() for route in routes if route.path_regex.match(path)]
        return ", ".join(sorted(set().union(*matching)))
