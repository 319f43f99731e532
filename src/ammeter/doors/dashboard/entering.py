"""The last step of every sign-in: a new session, its cookie, and on to where the person wanted."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ammeter.doors.dashboard import cookies
from ammeter.doors.http.edge import notes_of
from ammeter.features.orgs import sessions
from ammeter.wiring import House


def begin_session(house: House, request: Request, email: str) -> str:
    """The token of a new session for somebody who has shown who they are; in a database thread.
    InsufficientRole where they are a member of nothing."""
    with house.db.write() as tx:
        return sessions.begin(
            tx,
            email=email,
            origin=request.client.host if request.client else "",
            request_id=notes_of(request.scope).request_id,
            old_token=request.cookies.get(cookies.session_cookie(request), ""),
        )


def let_in(house: House, request: Request, token: str, back: str) -> RedirectResponse:
    response = RedirectResponse(cookies.safe_next(back), 303)
    keep_session(house, request, response, token)
    return response


def keep_session(house: House, request: Request, response: Response, token: str) -> None:
    life_s = round(house.session_life.longest.total_seconds())
    cookies.set_cookie(response, request, cookies.session_cookie(request), token, max_age=life_s)
