"""Cookies of the dashboard, and the proof that a form is ours.

A session's cookie cannot be read by scripts and stays on this site. The proof is made from the secret that
the cookie holds, masked anew on every page, so that compressing a page tells nothing about it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from urllib.parse import quote, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from starlette.requests import Request
from starlette.responses import Response

_PROOF_BYTES = 16
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


def session_cookie(request: Request) -> str:
    # A name with this prefix is accepted by browsers only with Secure, for this host and the whole site.
    return "__Host-ammeter" if request.url.scheme == "https" else "ammeter"


def start_cookie(request: Request) -> str:
    return f"{session_cookie(request)}-start"


def set_cookie(response: Response, request: Request, name: str, value: str, *, max_age: int | None) -> None:
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def drop_cookie(response: Response, request: Request, name: str) -> None:
    set_cookie(response, request, name, "", max_age=0)


def proof_of(secret: str) -> str:
    """For a form of whoever holds `secret`; another one each time."""
    mask = secrets.token_bytes(_PROOF_BYTES)
    return (mask + _xor(mask, _bare_proof(secret))).hex()


def proof_holds(secret: str, given: str) -> bool:
    try:
        raw = bytes.fromhex(given)
    except ValueError:
        return False
    if len(raw) != 2 * _PROOF_BYTES or not secret:
        return False
    return hmac.compare_digest(_xor(raw[:_PROOF_BYTES], raw[_PROOF_BYTES:]), _bare_proof(secret))


def comes_from_elsewhere(request: Request) -> bool:
    """Whether the browser itself says that another site sends this. `Origin` is no help: by our own
    referrer policy it is null on our forms too."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def safe_next(given: str) -> str:
    """Where to go after the sign-in: a path of this site, or the first page."""
    parts = urlsplit(given) if given.isprintable() and "\\" not in given else None
    if parts is None or parts.scheme or parts.netloc or not given.startswith("/") or given.startswith("//"):
        return "/"
    return given


def zone_of(request: Request) -> ZoneInfo:
    """The reader's zone, as their browser has told it in a cookie; UTC until then."""
    name = unquote(request.cookies.get("zone", ""))
    if not _ZONE.fullmatch(name):
        return ZoneInfo("UTC")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def theme_of(request: Request) -> str:
    theme = request.cookies.get("theme", "")
    return theme if theme in ("light", "dark") else ""


def keep_said(response: Response, request: Request, said: str) -> None:
    """For the next page to say, once."""
    set_cookie(response, request, "said", quote(said[:300]), max_age=60)


def take_said(request: Request) -> str:
    return unquote(request.cookies.get("said", ""))[:300]


def _bare_proof(secret: str) -> bytes:
    return hmac.digest(secret.encode(), b"ammeter form", "sha256")[:_PROOF_BYTES]


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))
