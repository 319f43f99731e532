"""A visit at Ammeter's own endpoint: who calls, and how far what is waited for is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from ammeter.doors.http.call import Call
from ammeter.doors.mcp_protocol.visit import Visit
from ammeter.features.suites.model import SuiteResult


@dataclass(slots=True, kw_only=True)
class OwnVisit(Visit):
    call: Call
    request: Request
    latest: SuiteResult | None = None
    told: int = -1
    """Runs that had ended when progress was told last: each telling is of more than the one before."""

    def look_at(self, result: SuiteResult) -> None:
        self.latest = result

    def progress(self) -> dict[str, Any] | None:
        if self.latest is None or self.latest.progress.runs_ended <= self.told:
            return None
        progress = self.latest.progress
        self.told = progress.runs_ended
        cases = f"{progress.cases_ended} of {progress.cases} cases ended"
        return {
            "progress": progress.runs_ended,
            "total": progress.runs,
            "message": f"{cases}, {self.latest.cost_usd:.4f} US dollars so far",
        }
