"""A page of a query: the slice that was asked for and how many rows there are in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import RowMapping, Select, func, select

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx

T = TypeVar("T")


def fetch_page(tx: Tx, chosen: Select[Any], page: PageRequest, make: Callable[[RowMapping], T]) -> Page[T]:
    total = tx.scalar(select(func.count()).select_from(chosen.order_by(None).subquery())) or 0
    rows = tx.execute(chosen.limit(page.page_size).offset(page.offset)).mappings()
    return Page(rows=[make(row) for row in rows], page=page.page, page_size=page.page_size, total=total)
