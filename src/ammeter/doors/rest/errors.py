"""Which errors an operation documents: a few that any has, and those that its kind adds."""

from __future__ import annotations

from typing import Any, Literal

from ammeter.doors.http.records import ErrorRecord

Kind = Literal["role", "feature", "feature and role", "id", "body", "conflict", "quota"]

_ALWAYS = {
    401: "unauthenticated: no key, or one that is unknown, revoked or expired",
    406: "not_acceptable: the answer is JSON",
    422: "validation_failed: a field or parameter is unknown, missing or wrong; details name each",
    429: "rate_limited: see Retry-After",
    500: "internal: our fault; the request id finds it in the log",
    503: "unavailable: the database is out of reach, or the server is stopping; see Retry-After",
}
_BY_KIND: dict[Kind, dict[int, str]] = {
    "role": {403: "insufficient_role: the message names the role needed"},
    "feature": {403: "feature_disabled: MCP Analytics is off for the organization"},
    "feature and role": {
        403: "feature_disabled: MCP Analytics is off for the organization; insufficient_role: the message"
        " names the role needed"
    },
    "id": {404: "not_found: unknown, malformed or foreign ids alike"},
    "quota": {402: "included_runs_exhausted: the included runs of this month are used up"},
    "conflict": {409: "conflict: the state does not allow it"},
    "body": {
        400: "malformed_json: the body is not JSON",
        413: "payload_too_large: the body is over its limit",
        415: "unsupported_media_type: the body is not sent as JSON",
    },
}


def errors(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    table = dict(_ALWAYS)
    for kind in kinds:
        table |= _BY_KIND[kind]
    return {status: {"model": ErrorRecord, "description": table[status]} for status in sorted(table)}
