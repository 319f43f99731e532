"""Token buckets kept in the database, so that every node spends from the same ones.

A busy bucket would be a write per request. So a node takes tokens in small loans (a twentieth of
the burst) and spends them from memory within a minute: what a loan holds has left the shared bucket.
A bucket of less than forty has loans of one and is exact. The next loan is drawn when half of one is
spent, so that a steady caller never waits for that write.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import now
from ammeter.base.errors import Unavailable
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import rate_buckets

log = logging.getLogger("ammeter.buckets")

_LOAN_LIFE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    name: str
    burst: int
    per_second: float

    @property
    def loan(self) -> int:
        return max(1, self.burst // 20)

    @property
    def window_s(self) -> int:
        """Seconds in which an empty bucket fills."""
        return max(1, math.ceil(self.burst / self.per_second))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of asking for a token: how many are left, and when there will be one."""

    policy: Policy
    allowed: bool
    remaining: int
    retry_after_s: int


@dataclass(slots=True)
class _Loan:
    tokens: int = 0
    left_in_bucket: float = 0
    expires: float = 0
    is_renewing: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    drawing: threading.Lock = field(default_factory=threading.Lock)


class Buckets:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._loans: dict[tuple[str, str], _Loan] = {}
        self._lock = threading.Lock()

    async def spend(self, policy: Policy, subject: str) -> Taken:
        """One token of the subject's bucket; waits for the database only where no loan is left."""
        taken = self.spend_loan(policy, subject)
        if taken is None:
            return await self._db.run(self.take, policy, subject)
        loan = self._loans.get((policy.name, subject))
        if loan is not None and loan.tokens * 2 < policy.loan and not loan.is_renewing:
            loan.is_renewing = True
            self._db.start(self._renew, policy, subject, loan)
        return taken

    def spend_loan(self, policy: Policy, subject: str) -> Taken | None:
        """A token from memory, without touching the database; None where a loan must be taken first."""
        loan = self._loans.get((policy.name, subject))
        if loan is None:
            return None
        with loan.lock:
            if loan.tokens < 1 or loan.expires < time.monotonic():
                return None
            loan.tokens -= 1
            return _taken(policy, loan.tokens + loan.left_in_bucket)

    def take(self, policy: Policy, subject: str) -> Taken:
        """One token of the subject's bucket, from a loan or by taking one from the database."""
        with self._lock:
            if len(self._loans) > 10_000:
                self._loans.clear()
            loan = self._loans.setdefault((policy.name, subject), _Loan())
        with loan.drawing:
            # Whoever waited here finds what the one before has drawn.
            return self.spend_loan(policy, subject) or self._draw(policy, subject, loan)

    def _renew(self, policy: Policy, subject: str, loan: _Loan) -> None:
        try:
            with loan.drawing:
                self._borrow(policy, subject, loan)
        except Unavailable as error:
            log.warning("no new loan of the rate limit: %s", error.message)
        finally:
            loan.is_renewing = False

    def _draw(self, policy: Policy, subject: str, loan: _Loan) -> Taken:
        got, left = self._borrow(policy, subject, loan)
        if not got:
            wait_s = math.ceil((1 - left) / policy.per_second)
            return Taken(policy=policy, allowed=False, remaining=0, retry_after_s=max(1, wait_s))
        with loan.lock:
            loan.tokens -= 1
            return _taken(policy, loan.tokens + left)

    def _borrow(self, policy: Policy, subject: str, loan: _Loan) -> tuple[int, float]:
        with self._db.write() as tx:
            got, left = _draw(tx, policy, subject, at=now())
        with loan.lock:
            if loan.expires < time.monotonic():
                loan.tokens = 0
            loan.tokens += got
            loan.left_in_bucket = left
            loan.expires = time.monotonic() + _LOAN_LIFE_S
        return got, left


def prune(tx: Tx, before: datetime) -> int:
    """Forget buckets that nobody has drawn from since; they would be full by now."""
    return tx.execute(delete(rate_buckets).where(rate_buckets.c.updated_at < before)).rowcount


def _taken(policy: Policy, left: float) -> Taken:
    return Taken(policy=policy, allowed=True, remaining=int(left), retry_after_s=0)


def _draw(tx: Tx, policy: Policy, subject: str, *, at: datetime) -> tuple[int, float]:
    """Take up to a loan's worth; how many were had, and what is left in the bucket."""
    t = rate_buckets.c
    chosen = (t.policy == policy.name) & (t.subject == subject)
    row = tx.execute(select(t.tokens, t.updated_at).where(chosen).with_for_update()).one_or_none()
    if row is None:
        values = {"policy": policy.name, "subject": subject, "tokens": float(policy.burst), "updated_at": at}
        try:
            with tx.begin_nested():
                tx.execute(insert(rate_buckets).values(values))
        except IntegrityError:
            pass  # Another node made it at the same moment.
        row = tx.execute(select(t.tokens, t.updated_at).where(chosen).with_for_update()).one()
    # Clocks of nodes differ: time that runs backwards fills nothing.
    elapsed_s = max(0.0, (at - row.updated_at) / timedelta(seconds=1))
    tokens = min(float(policy.burst), row.tokens + elapsed_s * policy.per_second)
    got = min(policy.loan, int(tokens))
    latest = max(at, row.updated_at)
    tx.execute(update(rate_buckets).where(chosen).values(tokens=tokens - got, updated_at=latest))
    return got, tokens - got
