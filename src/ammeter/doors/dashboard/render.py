"""Values in, HTML out: the templates, and the filters that write times, numbers and code.

Jinja and Pygments are imported when the first page is made: a server that only answers agents never needs
them. Everything is escaped; only what the filters here have escaped themselves is taken as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ammeter.base.clock import rfc3339
from ammeter.doors.dashboard.assets import Assets

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FOLDER = Path(__file__).parent
_UNITS = ("B", "KB", "MB", "GB", "TB")
_NONE = "–"
# What turns the writing around or cannot be seen, in a text of strangers, is shown by its number.
_UNSEEN = {
    letter: f"⟨U+{letter:04X}⟩"
    for letter in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x2060, 0xFEFF, *range(0x80, 0xA0))
} | {letter: chr(0x2400 + letter) for letter in range(0x20) if letter not in (9, 10, 13)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A number and its unit as two texts, so that the unit can be set smaller."""

    number: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.number} {self.unit}".rstrip()


class Renderer:
    """Made with the first page."""

    def __init__(self) -> None:
        self.assets = Assets()
        self._environment = _environment(self.assets)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(template).render(values)


def _environment(assets: Assets) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "count": count,
        "size": size,
        "duration": duration,
        "percent": percent,
        "code": code,
        "said": said,
        "pretty": pretty,
        "instant": rfc3339,
        "shown_time": shown_time,
        "full_time": full_time,
        "words": words,
        "options": options,
    }
    made.globals["asset"] = assets.address
    made.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return made


def count(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def size(value: float | None) -> str:
    """Bytes, in the unit that leaves one to three digits before the point."""
    if value is None:
        return _NONE
    step = 0
    while value >= 1000 and step < len(_UNITS) - 1:
        value, step = value / 1024, step + 1
    return f"{value:.0f} {_UNITS[step]}" if step == 0 or value >= 100 else f"{value:.1f} {_UNITS[step]}"


def duration(ms: float | None) -> str:
    """Milliseconds, as people say it."""
    if ms is None:
        return _NONE
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def percent(share: float | None, digits: int = 0) -> str:
    return _NONE if share is None else f"{share * 100:.{digits}f} %"


def shown_time(at: datetime, zone: ZoneInfo) -> str:
    """As `static/ammeter.js` writes it too: what the server made is then already right."""
    local = at.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M}"


def full_time(at: datetime, zone: ZoneInfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {zone.key}"


def words(name: str) -> str:
    """`recent_use` as text: Recent use."""
    text = name.replace("_", " ").replace(".", " ")
    return text[:1].upper() + text[1:]


def options(names: Iterable[str]) -> list[tuple[str, str]]:
    """Words as the options of a choice, each its own text."""
    return [(name, name) for name in names]


def pretty(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def said(text: str) -> str:
    """What a stranger wrote, so that it cannot look like anything else than it is."""
    return text.translate(_UNSEEN)


def code(text: str, language: str = "typescript") -> Markup:
    """Coloured by classes; styles are in the style sheet."""
    from markupsafe import Markup
    from pygments import highlight

    text = said(text)
    if len(text) > 200_000:
        return Markup("<code>{}</code>").format(text)
    # Pygments escapes what it marks.
    return Markup(highlight(text, *_marker(language)))  # noqa: S704


@cache
def _marker(language: str) -> tuple[Any, Any]:
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True)
