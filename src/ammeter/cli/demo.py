"""The demo's bundle: once the port is open, the description of Harbour Books is uploaded and promoted, with
the demo owner's key and through the door that everybody uses. A second start finds it served and is done.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from ammeter import __version__
from ammeter.cli.first import DEMO_SLUG, FirstOwner
from ammeter.cli.remote import Remote, RemoteError
from ammeter.doors.demo_api.app import demo_description
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_SECRET
from ammeter.engines.compiler.hashing import canonical_hash

log = logging.getLogger("ammeter.demo")

_BUNDLES = "/api/openapi-artifacts"
_REPOSITORY = "ammeter-demo"
_TIMEOUT_S = 300.0


async def serve_demo(owner: FirstOwner, address: str) -> None:
    """Runs beside the server; a failure is logged, and the server goes on without the demo's bundle."""
    try:
        await asyncio.to_thread(_serve_demo, owner, reachable(address))
    except RemoteError as error:
        log.warning("the demo has no bundle: %s", error.message)
    except Exception:
        log.exception("the demo has no bundle")


def _serve_demo(owner: FirstOwner, address: str) -> None:
    remote = Remote(address, owner.token, timeout_s=_TIMEOUT_S)
    content = _content(address)
    mark = canonical_hash({**content, "version": __version__})
    served = _active(remote)
    if served is not None and served["repository"] != _REPOSITORY:
        log.info("the demo's source serves a bundle of its owner's; it is left as it is")
        return
    if served is not None and served["commitSha"] == mark:
        log.info("the demo's bundle %s is served", served["id"])
        return
    log.info("compiling the demo's bundle in the background")
    body = {
        "source": DEMO_SLUG,
        **content,
        "repository": _REPOSITORY,
        "commitSha": mark,
        "promote": True,
    }
    raw = json.dumps(body, ensure_ascii=False).encode()
    answer = remote.post(f"{_BUNDLES}/upload", raw, headers=remote.signature(raw))
    log.info("the demo's bundle %s is served", answer["bundleId"])


def _content(address: str) -> dict[str, Any]:
    return {
        "openapi": demo_description(),
        "manifest": {
            "vendorName": "Harbour Books",
            "clientName": "shop",
            "baseUrl": f"{address}{DEMO_BASE}",
            "auth": {"type": "bearer", "secretRef": f"secret:{DEMO_SECRET}"},
        },
    }


def _active(remote: Remote) -> Any:
    rows = remote.pages(_BUNDLES, source=DEMO_SLUG, environment="production")["rows"]
    return next((row for row in rows if row["status"] == "active"), None)


def reachable(address: str) -> str:
    """A server that listens everywhere is called on this machine."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
