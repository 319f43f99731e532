"""The faults Ammeter speaks of, as one tree. Each carries a code of the published error table,
a sentence for a person and, where fields are at fault, the path of each.

AmmeterError
├── Unauthenticated · InvalidSignature · StaleTimestamp
├── CompileFailed · BundleTooLarge
├── InsufficientRole · FeatureDisabled · QuotaExhausted
├── NotFound · Conflict · RateLimited
├── MalformedJson · PayloadTooLarge · UnsupportedMediaType · NotAcceptable · MethodNotAllowed
├── ValidationFailed
├── Unavailable
└── SettingsError            stops a start; never crosses a door

HTTP statuses are absent on purpose: each door has its own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One thing that was wrong and where: a JSON path (`$.a[0]`), `query.name` or `header.name`."""

    path: str
    message: str


class AmmeterError(Exception):
    code = "internal"

    def __init__(self, message: str, *, details: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)


class Unauthenticated(AmmeterError):
    """Always the same text: a caller learns nothing about which part of a key was wrong."""

    code = "unauthenticated"

    def __init__(self) -> None:
        super().__init__(
            "A valid API key is required. Send it as 'Authorization: Bearer amt_<key_id>_<secret>'."
        )


class InvalidSignature(AmmeterError):
    code = "invalid_signature"


class StaleTimestamp(AmmeterError):
    code = "stale_timestamp"


class CompileFailed(AmmeterError):
    """A description gives no bundle; the details are its findings, by JSON pointer."""

    code = "compile_failed"


class BundleTooLarge(AmmeterError):
    code = "bundle_too_large"


class InsufficientRole(AmmeterError):
    code = "insufficient_role"


class FeatureDisabled(AmmeterError):
    code = "feature_disabled"


class QuotaExhausted(AmmeterError):
    code = "included_runs_exhausted"


class NotFound(AmmeterError):
    """Unknown, malformed and foreign ids give this same answer."""

    code = "not_found"

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(f"No such {what}. {hint}".rstrip())


class Conflict(AmmeterError):
    code = "conflict"


class MalformedJson(AmmeterError):
    code = "malformed_json"


class PayloadTooLarge(AmmeterError):
    code = "payload_too_large"


class UnsupportedMediaType(AmmeterError):
    code = "unsupported_media_type"


class NotAcceptable(AmmeterError):
    code = "not_acceptable"


class MethodNotAllowed(AmmeterError):
    code = "method_not_allowed"


class ValidationFailed(AmmeterError):
    code = "validation_failed"

    def __init__(self, details: Sequence[Detail]) -> None:
        count = len(details)
        super().__init__(
            f"{count} {'field is' if count == 1 else 'fields are'} not valid; see details.",
            details=details,
        )


class RateLimited(AmmeterError):
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(AmmeterError):
    """Something the request needs is out of reach for now; trying again later may help."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SettingsError(AmmeterError):
    """The process cannot start as it was configured."""

    code = "settings"
