"""What else the demo organization has: people, keys, a skill, a look at its source, and a change to its API
that waits in a pull request. Made once, through the doors that everybody uses, after its bundle is served.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import yaml

from ammeter.cli.first import DEMO_SLUG, FirstOwner
from ammeter.cli.remote import Remote, RemoteError
from ammeter.doors.demo_api.app import demo_description
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_SECRET

log = logging.getLogger("ammeter.demo_surroundings")

_API = "/api/service/v1"
_BUNDLES = "/api/openapi-artifacts"
_PEOPLE = (("ines@demo.example", "Ines Duarte", "editor"), ("theo@demo.example", "Theo Brandt", "viewer"))
_KEYS = (("CI of Harbour Books", "editor"), ("Shop assistant", "viewer"))
_SKILL = """\
# Helping readers at Harbour Books

- Look a customer up by e-mail address before you place an order for them.
- Prices are in cents; say them in euros with two digits.
- An order can be cancelled until it is shipped. After that, offer a return instead.
- Never promise a delivery date: the API does not know one.
"""


async def surround_demo(owner: FirstOwner, address: str) -> None:
    """Runs beside the server; a failure is logged, and the server goes on with what is there."""
    try:
        made = await asyncio.to_thread(_surround, Remote(address, owner.token, timeout_s=300), address)
    except RemoteError as error:
        log.warning("the demo has no surroundings: %s", error.message)
    except Exception:
        log.exception("the demo has no surroundings")
    else:
        if made:
            log.info("the demo has people, keys, a skill and a pull request")


def _surround(remote: Remote, address: str) -> bool:
    rows = remote.pages(_BUNDLES, source=DEMO_SLUG)["rows"]
    if not rows or any(row["pullRequestNumber"] for row in rows):
        return False
    for email, name, role in _PEOPLE:
        remote.post(f"{_API}/org/members", _body({"email": email, "name": name, "role": role}))
    for name, role in _KEYS:
        remote.post(f"{_API}/org/keys", _body({"name": name, "role": role, "sourceIds": [DEMO_SLUG]}))
    for row in remote.get(f"{_API}/mcp-servers")["rows"]:
        source = f"{_API}/mcp-servers/{row['id']}"
        if remote.get(source)["source_slug"] == DEMO_SLUG:
            remote.post(f"{source}/skills", _body({"name": "Shop manners", "text": _SKILL}))
            remote.post(f"{source}/discover", b"")
    upload = _body(
        {
            "source": DEMO_SLUG,
            "openapi": next_description(),
            "manifest": {
                "vendorName": "Harbour Books",
                "clientName": "shop",
                "baseUrl": f"{address}{DEMO_BASE}",
                "auth": {"type": "bearer", "secretRef": f"secret:{DEMO_SECRET}"},
            },
            "repository": "harbour-books/api",
            "branch": "wish-lists",
            "commitSha": "9f2c41d07be3a6c58d1f0a7e4b92d6c3e8f51a20",
            "pullRequestNumber": 42,
        }
    )
    remote.post(f"{_BUNDLES}/upload", upload, headers=remote.signature(upload))
    return True


def next_description() -> dict[str, Any]:
    """The demo's API as a pull request would have it: wish lists come, cancelling changes, a report goes."""
    document: dict[str, Any] = yaml.safe_load(demo_description())
    paths = document["paths"]
    del paths["/reports/sales"]
    cancel = paths["/orders/{order_id}/cancel"]["post"]
    reason = {"name": "reason", "in": "query", "required": True, "schema": {"type": "string"}}
    cancel["parameters"] = [*cancel.get("parameters", ()), reason]
    customer = {"name": "customer_id", "in": "path", "required": True, "schema": {"type": "string"}}
    listed = {"type": "array", "items": {"type": "string"}, "description": "Ids of books."}
    answer = {"description": "The wish list.", "content": {"application/json": {"schema": listed}}}
    paths["/customers/{customer_id}/wish-list"] = {
        "get": {
            "operationId": "getWishList",
            "summary": "Read a customer's wish list",
            "tags": ["customers"],
            "parameters": [customer],
            "responses": {"200": answer},
        }
    }
    return document


def _body(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
