"""Request bodies: counted and timed while they are read, then parsed strictly.

A body over its limit is refused at the byte that is too many, never held whole. JSON with duplicate
keys, NaN or nesting without end is not JSON here: two readers would see two different bodies.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

from starlette.types import Message, Receive

from ammeter.base.errors import MalformedJson, PayloadTooLarge

MAX_BODY_BYTES = 1024 * 1024


class GuardedBody:
    """Stands in for `receive`. `declared_bytes` is what the headers promise: None where they promise a
    body without saying how long it is, 0 where they promise none."""

    def __init__(
        self, receive: Receive, *, declared_bytes: int | None, limit_bytes: int, timeout_s: float
    ) -> None:
        self._receive = receive
        self._declared_bytes = declared_bytes
        self._limit_bytes = limit_bytes
        self._timeout_s = timeout_s
        self._received = 0
        self._deadline: float | None = None
        self._whole = False

    @property
    def is_worth_finishing(self) -> bool:
        """Whether what is still to come is so little that the connection is kept for it."""
        if self._whole:
            return True
        return (
            self._deadline is None
            and self._declared_bytes is not None
            and self._declared_bytes <= self._limit_bytes
        )

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._timeout_s
            if self._declared_bytes is not None and self._declared_bytes > self._limit_bytes:
                raise self._too_large()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise MalformedJson(
                f"The body did not arrive within {self._timeout_s:g} seconds ({self._received} bytes came)."
            ) from None
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self._limit_bytes:
                raise self._too_large()
            self._whole = not message.get("more_body", False)
        elif message["type"] == "http.disconnect":
            raise MalformedJson(f"The connection ended within the body ({self._received} bytes came).")
        return message

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(f"The body is larger than the {self._limit_bytes:,} bytes allowed here.")


async def read_whole(receive: Receive) -> bytes:
    """A body from a `receive` that is guarded."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def parse_json(body: bytes) -> Any:
    """The value of a JSON body; MalformedJson says what is wrong and where."""
    try:
        text = body.decode("utf-8")
        if text.startswith("\ufeff"):
            raise _NotJson("it begins with a byte order mark (BOM)")
        return _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8 (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise MalformedJson("The body is nested too deeply.") from None
    except _NotJson as error:
        raise MalformedJson(f"The body is not JSON: {error}.") from None
    except ValueError:
        # The one that is left is Python's limit on the digits of an integer.
        raise MalformedJson("The body holds a number with too many digits.") from None


class _NotJson(ValueError):
    """What Python would read and others would not, or not alike."""


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twin = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _NotJson(f"the key {twin!r} stands twice in one object")
    return value


def _no_constant(name: str) -> Any:
    raise _NotJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NotJson(f"{text[:30]} is too large a number")
    return number


_decoder = json.JSONDecoder(
    object_pairs_hook=_without_twins, parse_constant=_no_constant, parse_float=_finite
)
