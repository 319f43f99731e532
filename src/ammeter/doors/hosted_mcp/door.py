"""`/product-mcp/<source-slug>`: which source and bundle a request is for; the rest is every MCP door's.

`?bundle=<id>` previews a stored bundle before it is promoted, for keys that may promote it.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from ammeter.doors.hosted_mcp.endpoint import Endpoint, HostedVisit
from ammeter.doors.http.call import Call, Caller
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.mcp_protocol.door import McpDoor
from ammeter.doors.mcp_protocol.messages import Message
from ammeter.engines.db.database import Tx
from ammeter.features.gateway.live import Target, find_preview, find_target
from ammeter.wiring import House

HOSTED_BASE = "/product-mcp"
_NO_QUERY: dict[str, str] = {}


class HostedMcp(McpDoor[HostedVisit]):
    def __init__(self, house: House, hosts: AllowedHosts) -> None:
        super().__init__(house, hosts, route=HOSTED_BASE + "/{slug}")
        self._endpoint = Endpoint(house)
        house.recorder.start()

    async def admit(self, request: Request, call: Call) -> HostedVisit:
        query = request.query_params if request.scope["query_string"] else _NO_QUERY
        slug = request.scope["path"].removeprefix(HOSTED_BASE + "/")
        if (bundle_id := query.get("bundle")) is not None:
            target, caller = await call.read_few(_preview, slug, bundle_id)
        else:
            target, caller = await call.read_few(_find, slug, query.get("environment", "production"))
        return HostedVisit(
            target=target,
            principal=caller.principal,
            headers=call.headers,
            request_id=notes_of(request.scope).request_id,
            read_only=query.get("mode") == "read",
        )

    async def result(self, visit: HostedVisit, message: Message) -> dict[str, Any]:
        return await self._endpoint.result(visit, message)


def _find(tx: Tx, caller: Caller, slug: str, environment: str) -> tuple[Target, Caller]:
    return find_target(tx, caller.principal, slug, environment), caller


def _preview(tx: Tx, caller: Caller, slug: str, bundle_id: str) -> tuple[Target, Caller]:
    return find_preview(tx, caller.principal, slug, bundle_id), caller
