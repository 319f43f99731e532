"""One request at an MCP endpoint, by someone who may make it: what every such endpoint keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class Visit:
    headers: Mapping[str, str]
    request_id: str
    bytes_in: int = 0
    session_handle: str | None = None
    answer_headers: dict[str, str] = field(default_factory=dict)

    def progress(self) -> dict[str, Any] | None:
        """How far the work is, as a progress notification tells it; None where there is nothing new."""
        return None
