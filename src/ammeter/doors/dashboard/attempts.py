"""Attempts at somebody's password, wherever it is asked for: counted before it is looked at, by address and
person together, and by each alone, so that neither guessing nor trying one password on everybody goes fast.
"""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from ammeter.base.errors import RateLimited
from ammeter.engines.buckets import Policy
from ammeter.wiring import House

_TOGETHER = Policy(name="sign_in", burst=10, per_second=1 / 15)
_ONE_PERSON = Policy(name="sign_in_person", burst=30, per_second=1 / 10)
_ONE_ADDRESS = Policy(name="sign_in_address", burst=39, per_second=1 / 2)


def count_attempt(house: House, request: Request, email: str, told: str) -> None:
    """RateLimited, which begins with `told`, where there were too many; in a database thread."""
    origin = request.client.host if request.client else ""
    person = hashlib.sha256(email.lower().encode()).hexdigest()[:32]
    for policy, subject in (
        (_TOGETHER, f"{origin} {person}"),
        (_ONE_PERSON, person),
        (_ONE_ADDRESS, origin),
    ):
        taken = house.buckets.take(policy, subject)
        if not taken.allowed:
            message = f"{told} Try again in {taken.retry_after_s} s."
            raise RateLimited(message, retry_after_s=taken.retry_after_s)
