"""Writes a run's events down as they happen. What is stored is redacted; what the tester goes on with is not,
as long as this worker lives. Each write is fenced: a worker that lost the run writes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ammeter.base.clock import now
from ammeter.base.errors import Unavailable
from ammeter.engines.db.database import Tx
from ammeter.engines.db.together import SharedWrites
from ammeter.engines.jobs.port import JobRun
from ammeter.engines.mcp_client.port import Connection
from ammeter.engines.redact.redactor import Redactor
from ammeter.features.evals import store
from ammeter.features.evals.events import Event, Row
from ammeter.features.evals.model import Phase, Run
from ammeter.features.evals.story import Story, told

_PATIENCE_S = 120.0
_PAUSE_S = 1.0
_DROPPED = "[content dropped: it could not be redacted]"


class RunNotebook:
    """The `Notebook` of one run."""

    def __init__(self, writes: SharedWrites, job: JobRun, run: Run, prompt: str, rows: Sequence[Row]) -> None:
        self._writes = writes
        self._job = job
        self._run_id = run.id
        self._known: frozenset[str] = frozenset()
        self._connections: list[Connection] = []
        self._waiting: list[Row] = []
        self._phase: Phase = run.phase
        self.rows: list[Row] = list(rows)
        """All events so far, as they are stored."""
        self._story = told(prompt, (row.event for row in rows))

    @property
    def story(self) -> Story:
        return self._story

    def keep_secret(self, values: frozenset[str]) -> None:
        self._known |= values

    def keep_secrets_of(self, connection: Connection) -> None:
        """Those that it has now and those that it may yet be given."""
        self._connections.append(connection)

    def clean(self, text: str) -> str:
        return str(_clean(Redactor(self._secrets), text))

    @property
    def _secrets(self) -> frozenset[str]:
        return self._known.union(*(connection.secrets for connection in self._connections))

    def enter(self, phase: Phase) -> None:
        self._phase = phase

    def note(self, event: Event) -> None:
        self._story.apply(event)
        row = Row(seq=len(self.rows) + 1, at=now(), event=redacted(event, self._secrets))
        self.rows.append(row)
        self._waiting.append(row)

    async def flush(self) -> None:
        """Waits for a database that is away: what the source answered would be lost with it, for no call is
        made twice. Should another worker have taken the run over by then, JobLost says so."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return await self._write()
            except Unavailable:
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(_PAUSE_S)

    async def _write(self) -> None:
        waiting, changes = list(self._waiting), {**self.counts(), "phase": self._phase}

        def write(tx: Tx) -> None:
            self._job.check_in(tx)
            store.append_events(tx, self._run_id, waiting)
            store.update_run(tx, self._run_id, changes)

        await self._writes.write(write)
        del self._waiting[: len(waiting)]

    @property
    def waiting(self) -> Sequence[Row]:
        """What is not yet written, for whoever writes it in a transaction of their own."""
        return self._waiting

    def counts(self) -> dict[str, Any]:
        story = self._story
        return {
            "attempt": story.attempt,
            "turns": story.turns,
            "tool_calls": story.calls,
            "cost_usd": story.usd,
            "input_tokens": story.input_tokens,
            "output_tokens": story.output_tokens,
            "judge_usd": story.judge_usd,
        }


def redacted(event: Event, known: frozenset[str]) -> Event:
    """The same event without secrets; without its content where they cannot be taken out."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    try:
        clean = {name: _clean(Redactor(known), value) for name, value in values.items()}
    except Exception:  # noqa: BLE001  whatever goes wrong, nothing unredacted is stored
        clean = {name: _blank(value) for name, value in values.items()}
    made: Event = type(event)(**clean)
    return made


def _clean(redactor: Redactor, value: Any) -> Any:
    if isinstance(value, str | dict | list):
        return _storable(redactor.value(value))
    return value


def _storable(value: Any) -> Any:
    """PostgreSQL's JSON takes no NUL, and no database half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_storable(inner) for inner in value]
    return value


def _blank(value: Any) -> Any:
    if isinstance(value, str):
        return _DROPPED
    return type(value)() if isinstance(value, dict | list) else value
