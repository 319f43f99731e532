"""The dashboard: pages for people, at the root of the site, behind every other door.

In order: which view, who is signed in, whether the form is ours, whether the role may; then the view. It
stands as the last door, so it can never stand in front of another; an address that is nobody's is answered
as a page to browsers and as the API's error to programs. A fault becomes a page that says what to do.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote

from starlette.convertors import Convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from ammeter.base.errors import AmmeterError, InsufficientRole, MethodNotAllowed, NotFound, Unavailable
from ammeter.doors.dashboard import cookies
from ammeter.doors.dashboard.assets import ASSETS
from ammeter.doors.dashboard.errors import error_page, form_is_not_ours
from ammeter.doors.dashboard.render import Renderer
from ammeter.doors.dashboard.sign_in import SIGN_IN, SignIn
from ammeter.doors.dashboard.site import Area, View
from ammeter.doors.dashboard.visit import Visit
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import error_response, internal_error
from ammeter.features.orgs import sessions
from ammeter.features.orgs.model import SignedIn
from ammeter.wiring import House

log = logging.getLogger("ammeter.dashboard")

FORM_LIMITS = dict.fromkeys(("/bundles/upload", "/start"), 7 * 1024 * 1024)
"""Bytes of the forms that may be longer than others: a description, as `uploads` takes it, and the rest."""

Place = tuple[tuple[re.Pattern[str], str, dict[str, Convertor[Any]]], dict[str, View]]

_READS = ("GET", "HEAD")


class _WrongMethod(MethodNotAllowed):
    def __init__(self, allowed: str) -> None:
        super().__init__(f"This path does not take that method; it takes {allowed}.")
        self.allowed = allowed


class Dashboard:
    def __init__(self, house: House) -> None:
        self._house = house

    @cached_property
    def _areas(self) -> Sequence[Area]:
        # Imported here: a start does not wait for pages that nobody has asked for yet.
        from ammeter.doors.dashboard.areas import AREAS

        return AREAS

    @cached_property
    def _places(self) -> list[Place]:
        places: dict[str, dict[str, View]] = {}
        for view in (view for area in self._areas for view in area.views):
            assert view.method not in places.get(view.path, {}), f"{view.method} {view.path} is given twice"
            places.setdefault(view.path, {})[view.method] = view
        return [(compile_path(path), views) for path, views in places.items()]

    @cached_property
    def _renderer(self) -> Renderer:
        return Renderer()

    @cached_property
    def _sign_in(self) -> SignIn:
        return SignIn(self._house, self._renderer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            return await self._respond(request)
        except _WrongMethod as fault:
            response = await self._refused(request, fault)
            response.headers["allow"] = fault.allowed
            return response
        except AmmeterError as fault:
            return await self._refused(request, fault)
        except Exception:
            notes = notes_of(request.scope)
            log.exception("page failed", extra={"request_id": notes.request_id, "route": notes.route})
            return await self._fault(request, internal_error())

    async def _respond(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith(ASSETS) and request.method in _READS:
            notes_of(request.scope).route = f"{ASSETS}{{name}}"
            return self._renderer.assets.respond(request)
        if path in SIGN_IN:
            notes_of(request.scope).route = path
            return await self._sign_in.respond(request, await self._find_signed_in(request))
        views, params = self._find_place(path)
        view = views.get("GET" if request.method == "HEAD" else request.method)
        if view is None:
            raise _WrongMethod(", ".join(views))
        notes_of(request.scope).route = view.path
        request.scope["path_params"] = params
        signed_in = await self._find_signed_in(request)
        if signed_in is None:
            return _to_sign_in(request)
        return await self._show(view, request, signed_in)

    async def _show(self, view: View, request: Request, signed_in: SignedIn) -> Response:
        token = request.cookies[cookies.session_cookie(request)]
        visit = Visit(self._house, request, signed_in, token, self._areas, self._renderer)
        if request.method not in _READS:
            given = request.headers.get("x-form-proof") or (await visit.form()).raw("proof")
            if cookies.comes_from_elsewhere(request) or not cookies.proof_holds(token, given):
                raise form_is_not_ours()
        if not visit.may(view.role):
            raise InsufficientRole(
                f"To {view.to} takes the role {view.role.name} or above; yours is {signed_in.role.name}."
            )
        return await view.handle(visit)

    def _find_place(self, path: str) -> tuple[dict[str, View], dict[str, Any]]:
        if "\0" in path:
            # No address of ours has one, and PostgreSQL takes none.
            raise NotFound("path")
        for (regex, _, convertors), views in self._places:
            if found := regex.match(path):
                return views, {
                    name: convertors[name].convert(value) for name, value in found.groupdict().items()
                }
        raise NotFound("path")

    async def _find_signed_in(self, request: Request) -> SignedIn | None:
        token = request.cookies.get(cookies.session_cookie(request), "")
        if not token:
            return None
        signed_in = await self._house.db.run(self._recognise, token)
        if signed_in is not None:
            # As with keys: the log tells whose request it was.
            notes_of(request.scope).key_id = signed_in.session_id
        return signed_in

    def _recognise(self, token: str) -> SignedIn | None:
        with self._house.db.read() as tx:
            signed_in = sessions.find(tx, token, self._house.session_life)
        if signed_in is not None and not sessions.is_seen_lately(signed_in):
            self._note_seen(signed_in)
        return signed_in

    def _note_seen(self, signed_in: SignedIn) -> None:
        try:
            with self._house.db.write() as tx:
                sessions.note_seen(tx, signed_in)
        except Unavailable:
            # A database that takes no writes still shows its pages.
            log.warning("a session was not noted: the database takes no writes")

    async def _refused(self, request: Request, fault: AmmeterError) -> Response:
        if _takes_html(request):
            return await self._fault(request, fault)
        return error_response(fault, notes_of(request.scope).request_id)

    async def _fault(self, request: Request, fault: AmmeterError) -> Response:
        try:
            signed_in = await self._find_signed_in(request)
        except AmmeterError:
            signed_in = None
        visit = None
        if signed_in is not None:
            token = request.cookies[cookies.session_cookie(request)]
            visit = Visit(self._house, request, signed_in, token, self._areas, self._renderer)
        return error_page(self._renderer, request, visit, fault)


def _to_sign_in(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"hx-redirect": "/sign-in"})
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(here, safe='/')}" if request.method in _READS and here != "/" else ""
    return RedirectResponse(f"/sign-in{back}", 303)


def _takes_html(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") or request.headers.get("hx-request") == "true"
