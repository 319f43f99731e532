"""Our own files and those from npm, each at an address with a digest of its content: read once, kept
compressed, cached by browsers for ever.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ammeter.base.errors import NotFound

ASSETS = "/assets/"
_HERE = Path(__file__).parent
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    address: str
    media_type: str
    plain: bytes
    packed: bytes
    tag: str


class Assets:
    """By name, such as `ammeter.css`; the files of a build are as good as ours."""

    def __init__(self) -> None:
        files = [*(_HERE / "static").iterdir(), *(_HERE / "generated").iterdir()]
        self._by_name = {file.name: _asset(file) for file in files if file.suffix in _KINDS}
        self._by_address = {asset.address: asset for asset in self._by_name.values()}

    def address(self, name: str) -> str:
        return self._by_name[name].address

    def respond(self, request: Request) -> Response:
        asset = self._by_address.get(request.url.path)
        if asset is None:
            raise NotFound("path")
        headers = {"cache-control": _FOR_EVER, "etag": asset.tag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(status_code=304, headers=headers)
        body = asset.plain
        if "gzip" in request.headers.get("accept-encoding", ""):
            body = asset.packed
            headers["content-encoding"] = "gzip"
        return Response(body, media_type=asset.media_type, headers=headers)


def _asset(file: Path) -> Asset:
    plain = file.read_bytes()
    digest = hashlib.sha256(plain).hexdigest()[:16]
    return Asset(
        address=f"{ASSETS}{file.stem}.{digest}{file.suffix}",
        media_type=_KINDS[file.suffix],
        plain=plain,
        packed=gzip.compress(plain, 9, mtime=0),
        tag=f'"{digest}"',
    )
