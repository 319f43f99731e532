"""Column types that mean the same on both databases."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

from ammeter.base.clock import from_millis, to_millis


class Instant(TypeDecorator[datetime]):
    """An instant as milliseconds since 1970: exact, ordered and equal on both databases."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_millis(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else from_millis(value)
