"""Parts of what people and agents send about suites, the same at every door: a gate, cases, repeats, keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from ammeter.doors.http.strict import Body
from ammeter.features.suites.model import MAX_CASES, MAX_REPEATS, Gate

Id = Annotated[str, StringConstraints(min_length=1, max_length=63)]
CaseIds = Annotated[list[Id], Field(min_length=1, max_length=MAX_CASES)]
Repeats = Annotated[int, Field(ge=1, le=MAX_REPEATS)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Reason = Annotated[str, Field(max_length=500, description="Shown next to the runs.")]
Share = Annotated[float, Field(ge=0, le=1)]


class GateIn(Body):
    min_score: Share | None = None
    require_all: bool = True
    strict: bool = False
    min_pass_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_cost_usd: Annotated[float, Field(gt=0, le=1_000_000)] | None = None

    def value(self) -> Gate:
        return Gate(**self.model_dump())
