"""Tables by URL: which page, which order, which filter, and the addresses of the others.

`Query` is what the address asks for. Lists that a feature pages go through `visit.query.request`; short ones
that it does not sort or filter are arranged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from ammeter.base.pages import Page, PageRequest

T = TypeVar("T")

PAGE_SIZE = 25
MAX_PAGE = 100_000
MAX_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    path: str
    params: Mapping[str, str]

    @property
    def page(self) -> int:
        given = self.params.get("page", "")
        return min(MAX_PAGE, max(1, int(given))) if given.isdecimal() and len(given) < 9 else 1

    @property
    def request(self) -> PageRequest:
        return PageRequest(page=self.page, page_size=PAGE_SIZE)

    def get(self, name: str, known: Iterable[str] | None = None, default: str = "") -> str:
        """A parameter; one that is not among the known words is taken as not given."""
        value = self.params.get(name, "")[:MAX_WORDS].replace("\0", "")
        return value if value and (known is None or value in known) else default

    def to(self, **changes: object) -> str:
        """This address with other parameters; None or "" takes one away, and a change begins at page 1."""
        params = {name: value for name, value in self.params.items() if name != "page"}
        for name, value in changes.items():
            params.pop(name, None)
            if value not in (None, ""):
                params[name] = str(value)
        return f"{self.path}?{urlencode(params)}" if params else self.path

    @property
    def is_filtered(self) -> bool:
        return bool(set(self.params) - {"page", "sort"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """A page of rows with the query that chose it; what the table macros take."""

    query: Query
    page: Page[T]
    sort: str = ""
    """Such as `name` or `-name`."""

    @property
    def rows(self) -> Sequence[T]:
        return self.page.rows

    @property
    def total(self) -> int:
        return self.page.total

    @property
    def first(self) -> int:
        return (self.page.page - 1) * self.page.page_size + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    def order(self, column: str) -> str:
        """What `aria-sort` says of a column."""
        return {column: "ascending", f"-{column}": "descending"}.get(self.sort, "none")

    def sorted_by(self, column: str) -> str:
        """The address where the column's heading leads: up first, then down."""
        return self.query.to(sort=f"-{column}" if self.sort == column else column)


def arranged(
    query: Query,
    rows: Sequence[T],
    *,
    keys: Mapping[str, Callable[[T], Any]],
    default: str,
    text: Callable[[T], str] | None = None,
) -> Listing[T]:
    """Rows that are all at hand: filtered by `q` in their `text`, sorted by `sort`, and the page of them."""
    words = query.get("q").lower().split()
    if words and text is not None:
        rows = [row for row in rows if all(word in text(row).lower() for word in words)]
    sort = query.get("sort", {*keys, *(f"-{key}" for key in keys)}, default)
    key = keys[sort.removeprefix("-")]
    rows = sorted(rows, key=lambda row: _orderable(key(row)), reverse=sort.startswith("-"))
    start = query.request.offset
    page = Page(rows=rows[start : start + PAGE_SIZE], page=query.page, page_size=PAGE_SIZE, total=len(rows))
    return Listing(query=query, page=page, sort=sort)


def every(read: Callable[[PageRequest], Page[T]], most: int = 2_000) -> list[T]:
    """All rows of a short list that a feature gives in pages."""
    rows: list[T] = []
    number = 1
    while len(rows) < most:
        page = read(PageRequest(page=number, page_size=200))
        rows += page.rows
        if not page.has_more:
            break
        number += 1
    return rows


def _orderable(value: Any) -> tuple[bool, Any]:
    """What is not there comes last; words without regard to case."""
    return value is not None, value.lower() if isinstance(value, str) else value if value is not None else 0
