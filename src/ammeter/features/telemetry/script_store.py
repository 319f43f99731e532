"""SQL for stored scripts that called certain operations of late: whoever would break them asks here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select

from ammeter.base.clock import now
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import telemetry_events
from ammeter.features.bundles.model import RecentScript

_e = telemetry_events.c
_SINCE = timedelta(days=30)
_LOOKED_AT = 20_000
"""Of so many scripts, the newest of the source, the calls are read."""
_MATCHING = 500
_SHOWN = 50
_CODE_CHARS = 4_000


def recent_scripts(
    tx: Tx,
    *,
    org_id: str,
    source_id: str,
    environment: str,
    operation_ids: Sequence[str],
    at: datetime | None = None,
) -> list[RecentScript]:
    """Scripts of the last 30 days that called one of these, equal ones as one, newest first."""
    wanted = frozenset(operation_ids)
    chosen = (
        select(_e.id, _e.calls)
        .where(_e.org_id == org_id, _e.at >= (at or now()) - _SINCE)
        .where(_e.source_id == source_id, _e.environment == environment, _e.kind == "script")
        .order_by(_e.at.desc())
        .limit(_LOOKED_AT)
    )
    called: dict[str, list[str]] = {}
    for event_id, calls in tx.execute(chosen):
        names = list(dict.fromkeys(call["operationId"] for call in calls if call["operationId"] in wanted))
        if names:
            called[event_id] = names
        if len(called) == _MATCHING:
            break
    if not called:
        return []
    rows = tx.execute(
        select(_e.id, _e.session_id, _e.at, _e.intent, _e.code)
        .where(_e.id.in_(list(called)))
        .order_by(_e.at.desc(), _e.id)
    ).all()
    return _grouped([(*row, called[row.id]) for row in rows])


def _grouped(
    rows: Sequence[tuple[str, str, datetime, str | None, str | None, list[str]]],
) -> list[RecentScript]:
    found: dict[str, RecentScript] = {}
    counts: dict[str, int] = {}
    for event_id, session_id, at, intent, code, operations in rows:
        # A script whose text could not be kept is one of its own.
        key = hashlib.sha256(code.encode()).hexdigest() if code else event_id
        counts[key] = counts.get(key, 0) + 1
        found.setdefault(
            key,
            RecentScript(
                event_id=event_id,
                session_id=session_id,
                last_run_at=at,
                intent=intent,
                code=code[:_CODE_CHARS] if code else None,
                operation_ids=tuple(operations),
                runs=1,
            ),
        )
    shown = list(found.items())[:_SHOWN]
    return [script.counted(counts[key]) for key, script in shown]
