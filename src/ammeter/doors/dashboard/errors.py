"""A fault as a page, or as a part of one: what happened, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from ammeter.base.errors import AmmeterError, Detail, InsufficientRole, RateLimited, Unavailable
from ammeter.doors.dashboard.render import Renderer
from ammeter.doors.dashboard.visit import Visit, bare_shell, html
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import STATUS_OF

_TITLES = {
    "not_found": "Not found",
    "insufficient_role": "Not allowed",
    "feature_disabled": "Switched off",
    "rate_limited": "Too many at once",
    "unavailable": "Not available",
    "conflict": "Not done",
    "method_not_allowed": "Not done here",
    "internal": "Something went wrong",
}
_HINTS = {
    "not_found": "The address may be mistyped, or what was here is in another of your organizations.",
    "insufficient_role": "Ask an admin of your organization for the role you need.",
    "internal": "Try again. If it stays, give the request id to whoever runs this server.",
    "unavailable": "Try again in a moment.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    status: int
    title: str
    message: str
    hint: str
    details: tuple[Detail, ...]
    request_id: str


def form_is_not_ours() -> InsufficientRole:
    return InsufficientRole(
        "This form was not sent from a page of this server, or the page was open for too long. Nothing was"
        " changed: open the page again and repeat it."
    )


def error_page(renderer: Renderer, request: Request, visit: Visit | None, fault: AmmeterError) -> Response:
    page = ErrorPage(
        status=STATUS_OF[fault.code],
        title=_TITLES.get(fault.code, "Not done"),
        message=fault.message,
        hint=_HINTS.get(fault.code, ""),
        details=fault.details,
        request_id=notes_of(request.scope).request_id,
    )
    if request.headers.get("hx-request") == "true":
        shell = bare_shell(request, page.title)
        text = renderer.render("templates/error_part.html", {"page": page, "shell": shell})
        response = html(request, text, page.status)
    elif visit is not None:
        response = visit.page("templates/error.html", page, title=page.title, status=page.status)
    else:
        shell = bare_shell(request, page.title)
        text = renderer.render("templates/error.html", {"page": page, "shell": shell})
        response = html(request, text, page.status)
    if isinstance(fault, RateLimited | Unavailable):
        response.headers["retry-after"] = str(fault.retry_after_s)
    return response
