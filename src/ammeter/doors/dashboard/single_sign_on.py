"""`/sign-in/oidc` and its callback: signing in at the service that the operator named.

Whoever comes back must already be a member, by the e-mail address that the service has verified; nobody is
added here. What the answer is held against stays in a short-lived cookie of the browser that asked.
"""

from __future__ import annotations

import hmac
import json
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ammeter.base.errors import InsufficientRole
from ammeter.doors.dashboard import cookies
from ammeter.doors.dashboard.entering import begin_session, let_in
from ammeter.engines.oidc import Provider, SignInFault
from ammeter.wiring import House

START = "/sign-in/oidc"
CALLBACK = "/sign-in/oidc/callback"
_MINUTES = 10


class SingleSignOn:
    def __init__(self, house: House, provider: Provider) -> None:
        self._house = house
        self._provider = provider

    async def start(self, request: Request) -> Response:
        begun = await self._provider.start(self._redirect_uri(request))
        kept = {
            "state": begun.state,
            "nonce": begun.nonce,
            "verifier": begun.verifier,
            "next": cookies.safe_next(request.query_params.get("next", "/"))[:1000],
        }
        response = RedirectResponse(begun.url, 303)
        cookies.set_cookie(
            response, request, _cookie(request), quote(json.dumps(kept), safe=""), max_age=_MINUTES * 60
        )
        return response

    async def finish(self, request: Request) -> Response:
        """The signed-in browser on its way to where it wanted; `SignInFault` where nothing came of it."""
        kept = _kept(request)
        given = request.query_params
        if not hmac.compare_digest(kept["state"], given.get("state", "")):
            raise SignInFault("The answer belongs to another sign-in. Try again.")
        if "error" in given or not given.get("code"):
            raise SignInFault("The sign-in service did not sign you in. Try again.")
        person = await self._provider.finish(
            code=given["code"],
            verifier=kept["verifier"],
            nonce=kept["nonce"],
            redirect_uri=self._redirect_uri(request),
        )
        try:
            token = await self._house.db.run(begin_session, self._house, request, person.email)
        except InsufficientRole as fault:
            raise SignInFault(f"{person.email} is known, but: {fault.message}") from None
        response = let_in(self._house, request, token, kept["next"])
        cookies.drop_cookie(response, request, _cookie(request))
        return response

    def _redirect_uri(self, request: Request) -> str:
        base = self._house.settings.base_url or f"{request.url.scheme}://{request.url.netloc}"
        return base + CALLBACK


def _cookie(request: Request) -> str:
    return f"{cookies.session_cookie(request)}-oidc"


def _kept(request: Request) -> dict[str, str]:
    try:
        value = json.loads(unquote(request.cookies.get(_cookie(request), "")))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SignInFault("This sign-in took too long, or cookies are switched off. Try again.")
    return {name: str(value.get(name, "")) for name in ("state", "nonce", "verifier", "next")}
