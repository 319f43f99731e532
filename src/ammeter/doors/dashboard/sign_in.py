"""`/sign-in`, `/sign-out` and the choice of an organization: the only pages for whoever is not signed in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ammeter.base.errors import AmmeterError, InsufficientRole, MethodNotAllowed, NotFound, RateLimited
from ammeter.doors.dashboard import cookies
from ammeter.doors.dashboard.attempts import count_attempt
from ammeter.doors.dashboard.entering import begin_session, let_in
from ammeter.doors.dashboard.errors import form_is_not_ours
from ammeter.doors.dashboard.forms import Form, read_form
from ammeter.doors.dashboard.render import Renderer
from ammeter.doors.dashboard.single_sign_on import CALLBACK, START, SingleSignOn
from ammeter.doors.dashboard.visit import bare_shell, html
from ammeter.doors.http.errors import STATUS_OF
from ammeter.engines.oidc import SignInFault
from ammeter.features.orgs import members, sessions
from ammeter.features.orgs.model import SignedIn
from ammeter.wiring import House

SIGN_IN = ("/sign-in", "/sign-out", "/organization", START, CALLBACK)

_WRONG = "The address or the password is not right."


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage:
    next: str
    email: str
    problem: str
    is_demo: bool
    single_sign_on: str
    """What the button to another service says; empty where there is none."""


class SignIn:
    def __init__(self, house: House, renderer: Renderer) -> None:
        self._house = house
        self._renderer = renderer
        self._elsewhere = SingleSignOn(house, house.single_sign_on) if house.single_sign_on else None

    async def respond(self, request: Request, signed_in: SignedIn | None) -> Response:
        path = request.url.path
        if path in (START, CALLBACK):
            return await self._sign_in_elsewhere(request)
        if path == "/sign-in" and request.method in ("GET", "HEAD"):
            back = cookies.safe_next(request.query_params.get("next", "/"))
            return RedirectResponse(back, 303) if signed_in else self._show(request, back)
        if request.method != "POST":
            raise MethodNotAllowed("This path does not take that method; it takes POST.")
        form = await read_form(request)
        if path == "/sign-in":
            return await self._begin(request, form)
        token = request.cookies.get(cookies.session_cookie(request), "")
        if cookies.comes_from_elsewhere(request) or not cookies.proof_holds(token, form.raw("proof")):
            raise form_is_not_ours()
        if path == "/organization":
            return await self._choose(signed_in, form)
        return await self._end(request, token)

    def _show(
        self, request: Request, back: str, *, email: str = "", problem: str = "", status: int = 200
    ) -> Response:
        secret = request.cookies.get(cookies.start_cookie(request), "") or secrets.token_urlsafe(32)
        settings = self._house.settings
        page = SignInPage(
            next=back,
            email=email,
            problem=problem,
            is_demo=settings.demo,
            single_sign_on=settings.oidc_label if self._elsewhere else "",
        )
        shell = bare_shell(request, "Sign in", secret=secret)
        response = html(
            request, self._renderer.render("templates/sign_in.html", {"page": page, "shell": shell}), status
        )
        cookies.set_cookie(response, request, cookies.start_cookie(request), secret, max_age=3600)
        return response

    async def _sign_in_elsewhere(self, request: Request) -> Response:
        if self._elsewhere is None:
            raise NotFound("page")
        if request.method != "GET":
            raise MethodNotAllowed("This path does not take that method; it takes GET.")
        try:
            if request.url.path == START:
                return await self._elsewhere.start(request)
            return await self._elsewhere.finish(request)
        except SignInFault as fault:
            return self._show(request, "/", problem=str(fault), status=401)

    async def _begin(self, request: Request, form: Form) -> Response:
        back, email = cookies.safe_next(form.raw("next")), form.text("email")[:254]
        secret = request.cookies.get(cookies.start_cookie(request), "")
        if cookies.comes_from_elsewhere(request) or not cookies.proof_holds(secret, form.raw("proof")):
            told = "This page was open for too long, or cookies are switched off. Sign in again."
            return self._show(request, back, email=email, problem=told, status=403)
        try:
            token = await self._house.db.run(self._check, request, email, form.raw("password"))
        except (RateLimited, InsufficientRole) as fault:
            return self._refused(request, back, email, fault)
        if token is None:
            return self._show(request, back, email=email, problem=_WRONG, status=401)
        response = let_in(self._house, request, token, back)
        cookies.drop_cookie(response, request, cookies.start_cookie(request))
        return response

    def _refused(self, request: Request, back: str, email: str, fault: AmmeterError) -> Response:
        response = self._show(request, back, email=email, problem=fault.message, status=STATUS_OF[fault.code])
        if isinstance(fault, RateLimited):
            response.headers["retry-after"] = str(fault.retry_after_s)
        return response

    def _check(self, request: Request, email: str, password: str) -> str | None:
        """The token of a new session; None where the password is not right."""
        count_attempt(self._house, request, email, "Too many attempts to sign in.")
        with self._house.db.read() as tx:
            if not members.password_is_right(tx, email, password[:1000]):
                return None
        return begin_session(self._house, request, email)

    async def _choose(self, signed_in: SignedIn | None, form: Form) -> Response:
        if signed_in is None:
            return RedirectResponse("/sign-in", 303)

        def choose() -> None:
            with self._house.db.write() as tx:
                sessions.choose_org(tx, signed_in, form.text("org"))

        await self._house.db.run(choose)
        return RedirectResponse("/", 303)

    async def _end(self, request: Request, token: str) -> Response:
        def end() -> None:
            with self._house.db.write() as tx:
                sessions.end(tx, token)

        await self._house.db.run(end)
        response = RedirectResponse("/sign-in", 303)
        cookies.drop_cookie(response, request, cookies.session_cookie(request))
        response.headers["clear-site-data"] = '"cache"'
        return response
