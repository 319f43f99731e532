"""`/demo-api`: Harbour Books, a small bookshop in memory for `ammeter serve --demo`, so that a first bundle
has an API to call on this machine. It asks for the demo organization's token and knows nothing of Ammeter.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from ammeter.base.errors import NotFound
from ammeter.doors.demo_api.answers import refusal
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_ORG, DEMO_SECRET
from ammeter.doors.demo_api.routes import shop_routes
from ammeter.doors.demo_api.shop import Shop, ShopError
from ammeter.doors.http.edge import notes_of
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import service
from ammeter.wiring import House

FindToken = Callable[[], Awaitable[str | None]]


def demo_description() -> str:
    """Its OpenAPI description, as YAML."""
    return (files("ammeter.doors.demo_api") / "openapi.yaml").read_text(encoding="utf-8")


def demo_app(house: House) -> DemoApp:
    """The shop, open to whoever has the token that the demo organization keeps as a secret."""

    def reveal(tx: Tx) -> str | None:
        try:
            return house.secrets.reveal(tx, service.get_org(tx, DEMO_ORG).id, DEMO_SECRET)
        except NotFound:
            return None

    def read() -> str | None:
        with house.db.read() as tx:
            return reveal(tx)

    async def find_token() -> str | None:
        return await house.db.run(read)

    return DemoApp(find_token)


class DemoApp:
    def __init__(self, find_token: FindToken, *, report_s: float = 1.5) -> None:
        self._find_token = find_token
        self.routes = shop_routes(Shop(), report_s=report_s)
        self._router = Router(self.routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With it the router tells what it does not know as an exception.
        scope["app"] = self
        try:
            await self._check(Request(scope))
            await self._router(scope, receive, send)
        except ShopError as error:
            await refusal(error)(scope, receive, send)
        except HTTPException as error:
            code = "method_not_allowed" if error.status_code == 405 else "not_found"
            told = ShopError(error.status_code, code, f"Harbour Books has no such operation ({code}).")
            await refusal(told)(scope, receive, send)

    async def _check(self, request: Request) -> None:
        notes_of(request.scope).route = f"{DEMO_BASE}/{{path}}"
        token = await self._find_token()
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if token is None or scheme.lower() != "bearer" or not _equal(given, token):
            raise ShopError(401, "unauthorized", "Send the shop's token as 'Authorization: Bearer <token>'.")


def _equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
