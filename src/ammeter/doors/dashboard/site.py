"""What a page is made of before anybody asks for it: views, the areas they belong to, entries of the
navigation. Values only; `areas.py` lists them, `app.py` serves them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from starlette.responses import Response

from ammeter.features.orgs.model import Role

if TYPE_CHECKING:
    from ammeter.doors.dashboard.visit import Visit

Section = Literal["", "Build", "Test", "Understand", "Manage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One address and method. Whoever has less than `role` is refused before `handle` is called."""

    path: str
    handle: Callable[[Visit], Awaitable[Response]]
    method: Literal["GET", "POST"] = "GET"
    role: Role = Role.viewer
    to: str = "see this page"
    """What the role is needed for, as a refusal says it: "To mint an API key takes …"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the navigation; it leads to a view of the same area."""

    section: Section
    label: str
    path: str
    icon: str
    """The name of an icon in `templates/icons.html`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Pages that belong together, with the entry that leads to them."""

    views: tuple[View, ...]
    entry: Entry | None = None
