"""One request of a person who is signed in: who it is, what they may, the transaction, and the answer.

As at the other doors, the work of a request is one function of a transaction and of who asks, run in one
transaction; the answer leaves after the commit.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Concatenate, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ammeter.base.errors import RateLimited
from ammeter.doors.dashboard import cookies
from ammeter.doors.dashboard.forms import Form, read_form
from ammeter.doors.dashboard.render import Renderer
from ammeter.doors.dashboard.site import Area, Entry
from ammeter.doors.dashboard.tables import Query
from ammeter.doors.http.edge import notes_of
from ammeter.engines.buckets import Policy
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.model import Actor, Organization, Role, SignedIn
from ammeter.wiring import House

P = ParamSpec("P")
T = TypeVar("T")

HTML_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "vary": "accept-encoding, cookie",
}
_WORTH_PACKING = 1_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who asks: the first argument of a page's work after the transaction."""

    signed_in: SignedIn
    actor: Actor

    @property
    def org(self) -> Organization:
        return self.signed_in.org

    @property
    def org_id(self) -> str:
        return self.signed_in.org.id


Work = Callable[Concatenate[Tx, Me, P], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """What every page has around its own content; `shell` in the templates."""

    title: str
    path: str
    theme: str
    zone: ZoneInfo
    said: str
    proof: str
    navigation: Sequence[tuple[str, Sequence[Entry]]]
    signed_in: SignedIn | None

    def may(self, role: str) -> bool:
        """Whether to offer what takes this role."""
        return self.signed_in is not None and self.signed_in.role >= Role[role]

    def is_at(self, entry: Entry) -> bool:
        return self.path == entry.path or (entry.path != "/" and self.path.startswith(f"{entry.path}/"))


class Visit:
    def __init__(
        self,
        house: House,
        request: Request,
        signed_in: SignedIn,
        token: str,
        areas: Sequence[Area],
        renderer: Renderer,
    ) -> None:
        self.house = house
        self.request = request
        self.signed_in = signed_in
        self._token = token
        self._areas = areas
        self._renderer = renderer
        self._form: Form | None = None

    @cached_property
    def me(self) -> Me:
        client = self.request.client
        actor = Actor(
            kind="member",
            name=self.signed_in.email,
            role=self.signed_in.role,
            origin=client.host if client else "",
            request_id=notes_of(self.request.scope).request_id,
        )
        return Me(signed_in=self.signed_in, actor=actor)

    @property
    def query(self) -> Query:
        return Query(path=self.request.url.path, params=dict(self.request.query_params))

    @property
    def wants_fragment(self) -> bool:
        """Whether htmx asks, for a part of a page that is open already."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def first_path(self) -> str:
        """Where the navigation begins."""
        return next(area.entry.path for area in self._areas if area.entry is not None)

    def part(self, name: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[name])

    def may(self, role: Role) -> bool:
        return self.signed_in.role >= role

    async def form(self) -> Form:
        if self._form is None:
            self._form = await read_form(self.request)
        return self._form

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def step() -> T:
            with self.house.db.read() as tx:
                return work(tx, self.me, *args, **kwargs)

        return await self.house.db.run(step)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One transaction, committed before the answer leaves."""

        def step() -> T:
            with self.house.db.write() as tx:
                return work(tx, self.me, *args, **kwargs)

        return await self.house.db.run(step)

    async def spend(self, policy: Policy, told: str) -> None:
        """A token of a bucket that the whole organization shares; `told` says what there was too much of."""
        taken = await self.house.buckets.spend(policy, self.me.org_id)
        if not taken.allowed:
            raise RateLimited(
                f"{told} Try again in {taken.retry_after_s} s.", retry_after_s=taken.retry_after_s
            )

    def page(self, template: str, page: object, *, title: str, status: int = 200) -> Response:
        """A whole page: the template with `page`, a frozen dataclass, and `shell`."""
        shell = self._shell(title)
        response = html(self.request, self._renderer.render(template, {"page": page, "shell": shell}), status)
        if shell.said:
            cookies.drop_cookie(response, self.request, "said")
        return response

    def fragment(self, template: str, page: object, *, status: int = 200) -> Response:
        """A part of a page, for htmx to put in its place; its template extends nothing."""
        shell = self._shell("")
        return html(self.request, self._renderer.render(template, {"page": page, "shell": shell}), status)

    def go(self, path: str, *, said: str = "") -> Response:
        """To another page after a form was sent, which says `said` once."""
        response: Response = RedirectResponse(path, 303)
        if self.wants_fragment:
            response = Response(status_code=204, headers={"hx-redirect": path})
        if said:
            cookies.keep_said(response, self.request, said)
        return response

    def _shell(self, title: str) -> Shell:
        return Shell(
            title=title,
            path=self.request.url.path,
            theme=cookies.theme_of(self.request),
            zone=cookies.zone_of(self.request),
            said=cookies.take_said(self.request),
            proof=cookies.proof_of(self._token),
            navigation=_navigation(self._areas),
            signed_in=self.signed_in,
        )


def bare_shell(request: Request, title: str, *, secret: str = "") -> Shell:
    """Of a page for whoever is not signed in."""
    return Shell(
        title=title,
        path=request.url.path,
        theme=cookies.theme_of(request),
        zone=cookies.zone_of(request),
        said=cookies.take_said(request),
        proof=cookies.proof_of(secret) if secret else "",
        navigation=(),
        signed_in=None,
    )


def html(request: Request, text: str, status: int = 200) -> Response:
    body, headers = text.encode("utf-8", "replace"), dict(HTML_HEADERS)
    if len(body) > _WORTH_PACKING and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, 5, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, status, headers, media_type="text/html; charset=utf-8")


def _navigation(areas: Sequence[Area]) -> list[tuple[str, list[Entry]]]:
    sections: dict[str, list[Entry]] = {}
    for area in areas:
        if area.entry is not None:
            sections.setdefault(area.entry.section, []).append(area.entry)
    return list(sections.items())
