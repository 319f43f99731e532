"""How Harbour Books reads requests and answers them: bodies, query values, two kinds of pages, errors."""

from __future__ import annotations

import binascii
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ammeter.doors.demo_api.shop import ShopError

M = TypeVar("M", bound=BaseModel)


def answer(value: Any, status: int = 200) -> Response:
    return JSONResponse(plain(value), status_code=status)


def plain(value: Any) -> Any:
    """Records as JSON has them."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def refusal(error: ShopError) -> Response:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.fields:
        body["fields"] = error.fields
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return JSONResponse({"error": body}, status_code=error.status, headers=headers)


async def sent(request: Request, kind: type[M]) -> M:
    """The body of a request, checked."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise ShopError(400, "not_json", "The body is not JSON.") from None
        fields = [
            {"field": _field(one["loc"]), "message": one["msg"]} for one in error.errors(include_url=False)
        ]
        raise ShopError(422, "invalid", "The body is not valid; see fields.", fields) from None


def cursor_page(request: Request, rows: Sequence[Any]) -> dict[str, Any]:
    """The rows after the cursor, and the cursor after them; rows have ids and come in their order."""
    limit = whole(request, "limit", default=20, most=100)
    after = _opened(request.query_params.get("cursor"))
    rest = [row for row in rows if row.id > after]
    chosen = rest[:limit]
    following = _sealed(chosen[-1].id) if len(rest) > limit else None
    return {"items": list(chosen), "next_cursor": following}


def numbered_page(request: Request, rows: Sequence[Any]) -> dict[str, Any]:
    page = whole(request, "page", default=1, most=100_000)
    size = whole(request, "per_page", default=10, most=50)
    chosen = rows[(page - 1) * size : page * size]
    return {
        "items": list(chosen),
        "page": page,
        "per_page": size,
        "total": len(rows),
        "total_pages": math.ceil(len(rows) / size),
        "has_more": page * size < len(rows),
    }


def whole(request: Request, name: str, *, default: int, most: int, least: int = 1) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most and len(text) < 10):
        raise _wrong(name, f"must be a whole number from {least} to {most:,}")
    return int(text)


def flag(request: Request, name: str) -> bool | None:
    text = request.query_params.get(name)
    if text not in (None, "true", "false"):
        raise _wrong(name, "must be true or false")
    return None if text is None else text == "true"


def day(request: Request, name: str) -> datetime | None:
    """The start of a day, UTC."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        raise _wrong(name, "must be a date such as 2026-03-31") from None


def one_of(request: Request, name: str, known: Sequence[str]) -> str | None:
    text = request.query_params.get(name)
    if text is not None and text not in known:
        raise _wrong(name, f"must be one of {', '.join(known)}")
    return text


def needed(request: Request, name: str) -> str:
    text = request.query_params.get(name, "").strip()
    if not text:
        raise _wrong(name, "is required")
    return text


def _wrong(name: str, message: str) -> ShopError:
    fields = [{"field": name, "message": message}]
    return ShopError(422, "invalid", "The query is not valid; see fields.", fields)


def _field(loc: Sequence[str | int]) -> str:
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)
    return words.removeprefix(".") or "body"


def _sealed(row_id: str) -> str:
    return urlsafe_b64encode(row_id.encode()).decode().rstrip("=")


def _opened(cursor: str | None) -> str:
    if cursor is None:
        return ""
    try:
        return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        raise _wrong("cursor", "is not one that a page gave; leave it out to start anew") from None
