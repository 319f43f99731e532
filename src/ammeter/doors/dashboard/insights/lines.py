"""Figures over time as the pages draw them: charts for uPlot, and small lines that need no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_WIDTH, _HEIGHT = 96, 22
_POINTS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """A line of a table's row."""

    points: str
    label: str


def series(label: str, values: Iterable[float | None], color: str = "accent", kind: str = "line") -> Any:
    shown = [None if value is None else round(value, 2) for value in values]
    return {"label": label, "values": shown, "kind": kind, "color": color}


def chart(at: Iterable[datetime], *lines: Any, unit: str = "") -> dict[str, Any]:
    return {"x": [int(each.timestamp()) for each in at], "series": list(lines), "unit": unit}


def folded(values: Sequence[int], width: int) -> list[int]:
    """So many at a time, added up; the last ones may be fewer."""
    return [sum(values[begin : begin + width]) for begin in range(0, len(values), width)]


def spark(values: Sequence[int], what: str = "sessions") -> Spark:
    shown = folded(values, -(-len(values) // _POINTS) or 1)
    most = max(shown, default=0) or 1
    step = _WIDTH / max(1, len(shown) - 1)
    points = " ".join(
        f"{number * step:.1f},{_HEIGHT - 2 - value / most * (_HEIGHT - 4):.1f}"
        for number, value in enumerate(shown)
    )
    return Spark(points=points, label=f"{sum(values):,} {what} in {len(values)} days")
