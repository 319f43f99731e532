"""The one table from faults to HTTP answers, and the one shape of an error body, for every door."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ammeter.base.errors import (
    AmmeterError,
    Detail,
    MethodNotAllowed,
    NotFound,
    RateLimited,
    Unavailable,
    ValidationFailed,
)
from ammeter.base.text import did_you_mean

STATUS_OF = {
    "malformed_json": 400,
    "unauthenticated": 401,
    "invalid_signature": 401,
    "stale_timestamp": 401,
    "included_runs_exhausted": 402,
    "insufficient_role": 403,
    "feature_disabled": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    "conflict": 409,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "validation_failed": 422,
    "preflight_rejected": 422,
    "compile_failed": 422,
    "bundle_too_large": 422,
    "rate_limited": 429,
    "internal": 500,
    "unavailable": 503,
}


def error_response(
    error: AmmeterError, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    body = {
        "error": {
            "code": error.code,
            "message": error.message,
            "details": [{"path": d.path, "message": d.message} for d in error.details],
            "requestId": request_id,
        }
    }
    sent = dict(headers or {})
    if error.code == "unauthenticated":
        sent["www-authenticate"] = "Bearer"
    if isinstance(error, (RateLimited, Unavailable)):
        sent["retry-after"] = str(error.retry_after_s)
    return Response(
        json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        status_code=STATUS_OF[error.code],
        media_type="application/json",
        headers=sent,
    )


def internal_error() -> AmmeterError:
    return AmmeterError("Something went wrong on our side. The request id finds it in the server's log.")


def from_http(error: HTTPException) -> AmmeterError:
    """The router's own refusals, in our words."""
    if error.status_code == 404:
        return NotFound("path")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow") or (error.headers or {}).get("allow") or "another method"
        return MethodNotAllowed(f"This path does not take that method; it takes {allowed}.")
    return internal_error()


def from_validation(error: RequestValidationError, body_model: Any) -> ValidationFailed:
    """Each field at fault with its JSON path; a misspelt name is answered with the nearest known one."""
    return ValidationFailed([_detail(e, body_model) for e in error.errors()])


def _detail(error: Any, body_model: Any) -> Detail:
    loc = tuple(error["loc"])
    place = str(loc[0]) if loc else "body"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        message = "this is required"
    if error["type"] == "extra_forbidden":
        known = names_at(body_model, loc[1:-1])
        message = f"unknown field.{did_you_mean(str(loc[-1]), known)}"
    if place == "body":
        return Detail(path=json_path(loc[1:]), message=message)
    return Detail(path=f"{place}.{'.'.join(str(part) for part in loc[1:])}", message=message)


def json_path(parts: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def names_at(kind: Any, loc: Sequence[str | int]) -> list[str]:
    """The field names that a body's model knows at a place within it."""
    models = _models_in(kind)
    for part in loc:
        if isinstance(part, int):
            continue
        fields = [field for model in models for name, field in _named(model) if name == part]
        models = [model for field in fields for model in _models_in(field.annotation)] or models
    return [name for model in models for name, _ in _named(model)]


def _named(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(field.alias or name, field) for name, field in model.model_fields.items()]


def _models_in(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) in (Union, UnionType, list, tuple, dict) or get_args(kind):
        return [model for arg in get_args(kind) for model in _models_in(arg)]
    return []
