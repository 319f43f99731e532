"""What a manifest's policy lets scripts do. A write is whatever is not a GET, HEAD or OPTIONS: descriptions
say nothing more that could be relied on."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ammeter.engines.compiler.manifest import Policy
from ammeter.engines.compiler.model import Operation

_READS = frozenset({"get", "head", "options"})


def is_write(operation: Operation) -> bool:
    return operation.method not in _READS


def why_denied(policy: Policy, operation: Operation, *, read_only: bool = False) -> str | None:
    """Why a script may not call the operation; None where it may."""
    if is_write(operation) and (policy.read_only or read_only):
        whose = "This API is served" if policy.read_only else "This script runs"
        what = f"{operation.sdk_name} is a {operation.method.upper()}"
        return f"{what}. {whose} read-only: only GET, HEAD and OPTIONS."
    pattern = next((pattern for pattern in policy.deny if denies(pattern, operation)), None)
    if pattern is not None:
        return f"{operation.sdk_name} is denied by the policy of this API ({pattern})."
    return None


def denies(pattern: str, operation: Operation) -> bool:
    """Letter case is not looked at: a rule that misses by a capital would protect nothing."""
    method = operation.method.upper()
    names = (operation.id, operation.sdk_name, operation.path, f"{method} {operation.path}")
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for name in names)
