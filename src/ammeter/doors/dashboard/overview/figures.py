"""The figures of the overview in words: the value with its unit, the change against the time before and
whether that is good, and how many observations it is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ammeter.doors.dashboard.insights.asked import RangeChoice
from ammeter.doors.dashboard.render import count, duration, percent
from ammeter.features.insights.model import Kpi

Good = Literal["up", "down", "none"]
Kind = Literal["count", "share", "level", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    label: str
    value: str
    unit: str
    change: str
    """Such as `▲ 4 points`; empty where nothing can be compared."""
    change_kind: str
    """good, bad or even"""
    note: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    name: str
    label: str
    kind: Kind
    good: Good
    made_of: str = ""
    path: str = ""


_TOLD = (
    _Told(name="sessions", label="Sessions", kind="count", good="up", path="/sessions"),
    _Told(
        name="script_success_rate",
        label="Scripts that ended well",
        kind="share",
        good="up",
        made_of="scripts",
    ),
    _Told(
        name="first_script_success_rate",
        label="First tries that did",
        kind="share",
        good="up",
        made_of="first scripts",
    ),
    _Told(
        name="search_miss_rate",
        label="Searches that missed",
        kind="share",
        good="down",
        made_of="searches",
        path="/failed-searches",
    ),
    _Told(
        name="high_frustration_sessions",
        label="Strained sessions",
        kind="count",
        good="down",
        made_of="sessions",
        path="/sessions?view=high_frustration",
    ),
    _Told(name="avg_frustration", label="Stated frustration", kind="level", good="down", made_of="scripts"),
    _Told(name="median_script_ms", label="Median script", kind="time", good="down", made_of="scripts"),
    _Told(name="scripts", label="Scripts", kind="count", good="none"),
    _Told(name="searches", label="Searches", kind="count", good="none"),
    _Told(name="upstream_calls", label="Calls to the API", kind="count", good="none"),
)


def figures(kpis: Mapping[str, Kpi], within: RangeChoice) -> list[Figure]:
    return [_figure(told, kpis[told.name], within) for told in _TOLD]


def headline(kpis: Mapping[str, Kpi], within: RangeChoice) -> str:
    """How the API is doing, in two or three sentences."""
    held, well, missed = kpis["sessions"], kpis["script_success_rate"], kpis["search_miss_rate"]
    if not held.value and not well.n and not missed.n:
        return f"No agent came in the {within.words}."
    told = [f"In the {within.words} agents held {_many(held.value, 'session')}{_against(held)}."]
    if well.value is not None:
        told.append(f"{percent(well.value)} of their scripts ended well{_against(well)}.")
    if missed.value is not None:
        told.append(f"{percent(missed.value)} of their searches found nothing{_against(missed)}.")
    return " ".join(told)


def _figure(told: _Told, kpi: Kpi, within: RangeChoice) -> Figure:
    number, unit = _value(told.kind, kpi.value)
    change, step = _change(told.kind, kpi)
    is_even = not step or told.good == "none"
    kind = "even" if is_even else "good" if (step > 0) == (told.good == "up") else "bad"
    notes = [f"of {count(kpi.n)} {told.made_of}"] if told.made_of else []
    if kpi.previous is not None:
        notes.append(f"was {' '.join(_value(told.kind, kpi.previous)).strip()}")
    path, _, view = told.path.partition("?view=")
    return Figure(
        label=told.label,
        value=number,
        unit=unit,
        change=change,
        change_kind=kind,
        note=" · ".join(notes),
        href=within.address(path, view=view) if path else "",
    )


def _value(kind: Kind, value: float | None) -> tuple[str, str]:
    if value is None:
        return "–", ""
    match kind:
        case "count":
            return count(value), ""
        case "share":
            return percent(value).removesuffix(" %"), "%"
        case "level":
            return f"{value:.1f}", "of 10"
        case "time":
            number, _, unit = duration(value).rpartition(" ")
            return number, unit


def _change(kind: Kind, kpi: Kpi) -> tuple[str, float]:
    """In words, and the step itself; 0 where it is too small to tell."""
    if kpi.value is None or kpi.previous is None:
        return "", 0
    step = kpi.value - kpi.previous
    match kind:
        case "share":
            points = round(step * 100)
            return _arrow(points, f"{abs(points)} point{'' if abs(points) == 1 else 's'}"), points
        case "level":
            tenths = round(step, 1)
            return _arrow(tenths, f"{abs(tenths):.1f}"), tenths
        case "count" | "time":
            if not kpi.previous:
                return ("▲ new" if step else "="), step
            share = round(step / kpi.previous, 2)
            return _arrow(share, percent(abs(share))), share


def _arrow(step: float, words: str) -> str:
    return f"{'▲' if step > 0 else '▼'} {words}" if step else "="


def _many(value: float | None, noun: str) -> str:
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def _against(kpi: Kpi) -> str:
    """Only what changed enough to say so."""
    if kpi.value is None or not kpi.previous:
        return ""
    ratio = kpi.value / kpi.previous
    if 0.9 <= ratio <= 1.1:
        return ", about as before"
    return ", more than before" if ratio > 1 else ", fewer than before"
