"""Small parts of what an agent is told of a script: rows of calls, logs, cuts, which writes landed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ammeter.engines.sandbox.port import Ended
from ammeter.features.gateway.fit import Cut
from ammeter.features.gateway.host import UpstreamCall

_MAX_LOGS = 200
_NO_SUCH = re.compile(r"The SDK has no ([\w$.]+)")


def call_row(call: UpstreamCall) -> dict[str, Any]:
    row: dict[str, Any] = {
        "operationId": call.operation_id,
        "method": call.method.upper(),
        "path": call.path,
        "status": call.status,
        "durationMs": round(call.duration_ms, 1),
        "outcome": call.outcome,
    }
    if call.retries:
        row["retries"] = call.retries
    if call.error:
        row["error"] = call.error[:500]
    return row


def logs_of(outcome: Ended, room: int) -> list[str]:
    lines: list[str] = []
    for log in outcome.logs[:_MAX_LOGS]:
        text = log.text if log.level in ("log", "info") else f"[{log.level}] {log.text}"
        if len(text) > room:
            lines.append(text[:room] + "…")
            break
        room -= len(text)
        lines.append(text)
    left_out = len(outcome.logs) - len(lines)
    if left_out > 0 or outcome.logs_cut:
        lines.append(f"… {left_out} more lines were left out" if left_out > 0 else "… further lines were cut")
    return lines


def cuts(found: Sequence[Cut]) -> list[str]:
    return [f"{cut.path}: {cut.kept:,} of {cut.of:,} {cut.what} are shown" for cut in found] + [
        "Return fewer fields or items to see all of them."
    ]


def diagnostics(outcome: Ended, calls: Sequence[UpstreamCall]) -> list[str]:
    """What a script that ended well should know nevertheless."""
    found = []
    if in_flight := [call for call in calls if call.outcome in ("in_flight", "unknown")]:
        names = ", ".join(call.sdk_name for call in in_flight[:5])
        found.append(f"{len(in_flight)} calls were not awaited and their outcome is unknown: {names}.")
    return found


def landed(calls: Sequence[UpstreamCall]) -> str:
    """After a script was cut off: what its calls have done so far."""
    if not calls:
        return "No API call had been made."
    writes = [call for call in calls if call.is_write and call.outcome == "ok"]
    open_ones = [call for call in calls if call.outcome in ("in_flight", "unknown")]
    parts = [f"{sum(call.status is not None for call in calls)} of {len(calls)} calls had been answered."]
    if writes:
        parts.append(f"These writes landed: {_names(writes)}.")
    if open_writes := [call for call in open_ones if call.is_write]:
        parts.append(
            f"These writes were in flight and may have landed: {_names(open_writes)}; check before repeating."
        )
    if open_reads := [call for call in open_ones if not call.is_write]:
        parts.append(f"In flight were the reads {_names(open_reads)}.")
    if not writes and not open_writes:
        parts.append("Nothing was written.")
    return " ".join(parts)


def invented_in(message: str, client_name: str) -> tuple[str, ...]:
    """Names that the client itself refused while the script ran."""
    return tuple(f"{client_name}.{name.rstrip('.')}" for name in _NO_SUCH.findall(message)[:10])


def _names(calls: Sequence[UpstreamCall]) -> str:
    listed = ", ".join(f"{call.sdk_name} ({call.method.upper()} {call.path})" for call in calls[:10])
    return listed + (f" and {len(calls) - 10} more" if len(calls) > 10 else "")
