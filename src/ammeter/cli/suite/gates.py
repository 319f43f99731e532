"""The options that make up a gate, the same wherever one is given."""

from __future__ import annotations

from typing import Annotated, Any

import typer

MinScore = Annotated[
    float | None, typer.Option(min=0, max=1, help="Least score, instead of the outcome.", show_default=False)
]
Strict = Annotated[bool, typer.Option("--strict", help="Every mark of every run is a pass.")]
MinPassRate = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Share of a case's repeats that must hold.", show_default="1"),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost-usd", help="Of a whole suite run.", show_default="none")
]
Repeats = Annotated[int | None, typer.Option(min=1, max=20, help="Runs of each case.", show_default="1")]


def gate_of(
    min_score: float | None, strict: bool, min_pass_rate: float | None, max_cost_usd: float | None
) -> dict[str, Any] | None:
    """The body's gate; None where no option says anything."""
    told = {
        "minScore": min_score,
        "strict": strict or None,
        "minPassRate": min_pass_rate,
        "maxCostUsd": max_cost_usd,
    }
    return {name: value for name, value in told.items() if value is not None} or None
