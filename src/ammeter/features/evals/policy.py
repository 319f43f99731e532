"""Which tools a tester may call: a policy, a tool and what its server says of it in, a refusal out."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from ammeter.features.workflows.model import ToolPolicy


def refusal(policy: ToolPolicy, tool: str, annotations: Mapping[str, Any] | None) -> str | None:
    """What the tester is told in place of a result; None where the call may go ahead."""
    if any(fnmatchcase(tool, pattern) for pattern in policy.deny):
        return f"Not carried out: the tool policy of this test denies {tool!r}."
    if policy.allow is not None and not any(fnmatchcase(tool, pattern) for pattern in policy.allow):
        return f"Not carried out: the tool policy of this test does not allow {tool!r}."
    if policy.read_only and not (annotations or {}).get("readOnlyHint"):
        return (
            f"Not carried out: the tool policy of this test allows reading only, and {tool!r} does not say of"
            " itself that it only reads."
        )
    return None
