"""Shapes that several nouns of the REST API share: instants, roles, pages, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import AwareDatetime, BeforeValidator, PlainSerializer, WithJsonSchema

from ammeter.base.clock import parse_rfc3339, rfc3339
from ammeter.base.pages import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Page, PageRequest
from ammeter.doors.http.strict import Record

T = TypeVar("T")
R = TypeVar("R")

Instant = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "example": "2026-11-15T09:00:00.000Z"}),
]


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _parse_instant(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # Python reads much more than RFC 3339, and less: it wants T and Z in upper case.
    if not _RFC3339.fullmatch(value):
        raise ValueError("this is not an instant; write it as 2027-01-31T00:00:00Z")
    try:
        return parse_rfc3339(value.upper())
    except ValueError:
        raise ValueError("there is no such instant") from None


InstantIn = Annotated[
    AwareDatetime,
    BeforeValidator(_parse_instant),
    WithJsonSchema({"type": "string", "format": "date-time", "example": "2027-01-31T00:00:00Z"}),
]


class PageRecord(Record, Generic[R]):
    rows: Sequence[R]
    page: int
    page_size: int
    total: int
    has_more: bool


def page_record(page: Page[T], make: Callable[[T], R]) -> PageRecord[R]:
    return PageRecord[R](
        rows=[make(row) for row in page.rows],
        page=page.page,
        page_size=page.page_size,
        total=page.total,
        has_more=page.has_more,
    )


def _whole_number(value: Any) -> Any:
    # Left to itself, the parser takes `1.0`, ` 1` and `1_0` for whole numbers too.
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise ValueError("this is not a whole number")
    return value


# Last of the marks of a parameter: before the bounds it would keep them out of the description.
WholeNumber = BeforeValidator(_whole_number)


async def paging(
    page: Annotated[int, Query(ge=1, le=1_000_000, description="Page, from 1."), WholeNumber] = 1,
    page_size: Annotated[
        int, Query(alias="pageSize", ge=1, le=MAX_PAGE_SIZE, description="Rows on a page."), WholeNumber
    ] = DEFAULT_PAGE_SIZE,
) -> PageRequest:
    return PageRequest(page=page, page_size=page_size)


Paging = Annotated[PageRequest, Depends(paging)]


class ErrorDetail(Record):
    path: str
    message: str


class ErrorContent(Record):
    code: str
    message: str
    details: list[ErrorDetail]
    request_id: str


class ErrorRecord(Record):
    """Every error of the API."""

    error: ErrorContent
