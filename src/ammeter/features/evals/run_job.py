"""Carries a run out: connect, test, judge, finish. What it needs to go on it reads from the run's events, so
a run whose worker died goes on with another; what was under way then is interrupted and never repeated.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from ammeter.base.clock import now
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.together import SharedWrites
from ammeter.engines.jobs.port import Handler, JobCancelled, JobRun
from ammeter.engines.mcp_client.port import Connection, SourceFault
from ammeter.engines.models.gateway import Models
from ammeter.engines.models.port import Model, ModelFault
from ammeter.engines.models.scripted import (
    REPLAY,
    SCRIPTED,
    Plan,
    PlanError,
    ScriptedModel,
    parse_plan,
    replayed,
)
from ammeter.features.evals import marks as marking
from ammeter.features.evals import store
from ammeter.features.evals.events import CallBegan, Connected, Judged, LimitReached, Resumed, Row, TestEnded
from ammeter.features.evals.finish import finish, verdict_of
from ammeter.features.evals.judge import Spent
from ammeter.features.evals.judge_prompt import PROMPT_DIGEST
from ammeter.features.evals.judging import Bench, asks_judge, mark_all, warnings_of
from ammeter.features.evals.model import Mark, Run, Verdict
from ammeter.features.evals.notebook import RunNotebook
from ammeter.features.evals.spans import spans_of
from ammeter.features.evals.tester import (
    SOURCE_FAULTS,
    Broken,
    Cancelled,
    Setting,
    close_open_call,
    fault_event,
    or_cancel,
    play,
)
from ammeter.features.sources import service as sources
from ammeter.features.sources import skills
from ammeter.features.sources.model import AuthProfile, SkillVersion, Source
from ammeter.features.workflows import store as workflows
from ammeter.features.workflows.model import Version

log = logging.getLogger("ammeter.evals")

KIND = "evals.run"
MAX_WORKERS = 10
"""How many workers may die over one run before it is given up."""

_SYSTEM = (
    "You are an AI agent that has been given the tools of one server. Carry out the user's request with them."
    " Use tool results as they are and never make one up. When you are done, or cannot go on, answer the user"
    " in plain text without calling a tool."
)


class Opener(Protocol):
    """A connection to a source, or to a stored bundle of it; SourceFault where it cannot be had."""

    def __call__(
        self, source: Source, profile: AuthProfile | None, *, bundle_id: str | None = None
    ) -> AbstractAsyncContextManager[Connection]: ...


def _begins(tx: Tx, run: Run) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """What runs are carried out with."""

    db: Database
    models: Models
    judge_model: str
    open: Opener
    why_not_begin: Callable[[Tx, Run], str | None] = _begins
    """Why a run that waited should not begin after all, where that is so."""

    def judge(self) -> Model | None:
        return self.models.get(self.judge_model) if self.judge_model else None


def run_job(lab: Laboratory) -> Handler:
    writes = SharedWrites(lab.db)

    async def handler(job: JobRun) -> object:
        run_id = str(job.job.payload["run_id"])
        loaded = await lab.db.run(load, lab, run_id)
        if loaded is None or loaded.run.status != "running":
            return None
        performance = _Performance(lab, writes, job, loaded)
        try:
            if loaded.refusal is not None:
                await lab.db.run(performance.end_refused, loaded.refusal)
            else:
                await performance.go()
        except Cancelled:
            await lab.db.run(performance.end_cancelled)
            raise JobCancelled from None
        except Exception:
            if job.job.attempts < job.job.max_attempts:
                raise
            log.exception("a run failed for good", extra={"run_id": run_id})
            await lab.db.run(performance.end_internal)
        return {"run_id": run_id}

    return handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    run: Run
    version: Version
    source: Source
    profile: AuthProfile | None
    rows: Sequence[Row]
    skill: SkillVersion | None
    replayed: Sequence[Row]
    refusal: str | None


def load(lab: Laboratory, run_id: str) -> Loaded | None:
    with lab.db.read() as tx:
        run = store.find_run(tx, run_id)
        version = workflows.find_version(tx, run.version_id) if run else None
        if run is None or version is None:
            return None
        source = sources.get_source(tx, run.org_id, run.source_id)
        return Loaded(
            run=run,
            version=version,
            source=source,
            profile=sources.find_auth_profile(tx, source, version.auth_profile_id),
            rows=store.read_events(tx, run_id),
            skill=_skill(tx, source, run),
            replayed=_replayed_rows(tx, run, version),
            refusal=lab.why_not_begin(tx, run) if run.started_at is None else None,
        )


def _skill(tx: Tx, source: Source, run: Run) -> SkillVersion | None:
    """The pinned one, or the latest as it was when the run began."""
    if run.skill_version_id is not None:
        return skills.get_skill_version(tx, source, run.skill_version_id)
    return skills.find_latest_skill_version(tx, source) if run.skill_mode == "latest" else None


def _replayed_rows(tx: Tx, run: Run, version: Version) -> Sequence[Row]:
    if run.model_id != REPLAY:
        return ()
    earlier = store.find_run(tx, str(version.metadata.get("replayRunId", "")), org_id=run.org_id)
    return store.read_events(tx, earlier.id) if earlier else ()


def plan_of(loaded: Loaded) -> Plan | None:
    """What a built-in tester follows; None for a language model. PlanError where it cannot be followed."""
    if loaded.run.model_id == SCRIPTED:
        return parse_plan(loaded.version.tester_prompt)
    if loaded.run.model_id != REPLAY:
        return None
    events = [row.event for row in loaded.replayed]
    calls = [(event.tool, event.arguments) for event in events if isinstance(event, CallBegan)]
    if not calls:
        raise PlanError("The run to repeat is not there, or made no tool calls (metadata.replayRunId).")
    return replayed(calls)


class _Performance:
    """One worker's part in a run."""

    def __init__(self, lab: Laboratory, writes: SharedWrites, job: JobRun, loaded: Loaded) -> None:
        self._lab = lab
        self._writes = writes
        self._job = job
        self._loaded = loaded
        self._run = loaded.run
        self._version = loaded.version
        self._notebook = RunNotebook(writes, job, loaded.run, loaded.version.tester_prompt, loaded.rows)
        self._notebook.keep_secret(frozenset(lab.models.reachable.secrets))
        self._plan: Plan | None = None
        self._model = self._make_model()

    async def go(self) -> None:
        if self._run.cancel_requested or self._job.cancelled.is_set():
            raise Cancelled
        await self._begin()
        story = self._notebook.story
        if not story.tested:
            await self._test()
        marks: list[Mark] = []
        bench = self._bench()
        if story.fault is None:
            if asks_judge(bench):
                await self._notebook.flush()
            marks = await or_cancel(self._judge(bench), self._job.cancelled)
        await self._writes.write(lambda tx: self._end(tx, bench, marks))

    async def _begin(self) -> None:
        if self._run.started_at is None:
            self._run = await self._started(now())
        if self._notebook.rows:
            self._notebook.note(Resumed(attempt=self._job.job.attempts))
            close_open_call(self._notebook)
            await self._notebook.flush()

    async def _started(self, at: datetime) -> Run:
        skill = self._loaded.skill
        begun: dict[str, Any] = {"started_at": at, "at": at, "phase": "connecting"}
        begun["skill_version_id"] = skill.id if skill else None

        def write(tx: Tx) -> None:
            self._job.check_in(tx)
            store.update_run(tx, self._run.id, begun)

        await self._writes.write(write)
        return replace(self._run, **begun)

    async def _test(self) -> None:
        story, policy = self._notebook.story, self._version.retry_policy
        while not story.is_over:
            broken = await self._attempt()
            if broken is None:
                break
            kind = "model_error" if broken.classification == "model_error" else "source_error"
            retry = broken.retryable and story.attempt < policy.max_attempts and kind in policy.retry_on
            self._notebook.note(fault_event(broken, retry=retry))
            if retry:
                await self._notebook.flush()
                pause_s = min(policy.backoff_seconds, max(0.0, self._deadline - time.monotonic()))
                await or_cancel(asyncio.sleep(pause_s), self._job.cancelled)
        self._notebook.note(TestEnded(tester=self._run.model_id))
        self._notebook.enter("judging")

    async def _attempt(self) -> Broken | None:
        model = self._model
        if isinstance(model, Broken):
            return model
        self._notebook.enter("connecting")
        began = time.monotonic()
        try:
            opened = self._lab.open(self._loaded.source, self._loaded.profile, bundle_id=self._run.bundle_id)
            async with opened as connection:
                self._notebook.keep_secrets_of(connection)
                async with asyncio.timeout(max(0.1, self._deadline - began)):
                    facts = await or_cancel(connection.initialize(), self._job.cancelled)
                    tools = await or_cancel(connection.list_tools(), self._job.cancelled)
                self._notebook.note(
                    Connected(
                        server=f"{facts.name} {facts.version}".strip(),
                        protocol=facts.protocol_version,
                        tools=[
                            {"name": t.name, "readOnly": bool((t.annotations or {}).get("readOnlyHint"))}
                            for t in tools
                        ],
                        duration_ms=round((time.monotonic() - began) * 1000),
                    )
                )
                self._notebook.enter("testing")
                skill = self._loaded.skill.text if self._loaded.skill else None
                system = "\n\n".join(filter(None, (_SYSTEM, facts.instructions, skill)))
                setting = Setting(
                    model=model,
                    connection=connection,
                    tools=tools,
                    system=system,
                    limits=self._version.limits,
                    policy=self._version.tool_policy,
                    deadline=self._deadline,
                    cancelled=self._job.cancelled,
                )
                return await play(self._notebook, setting)
        except TimeoutError:
            told = f"The source did not answer within {self._version.limits.max_duration_seconds} s."
            self._notebook.note(LimitReached(limit="maxDurationSeconds", message=told))
            return None
        except SourceFault as fault:
            kind = SOURCE_FAULTS[fault.kind]
            return Broken(
                classification=kind,
                message=fault.message,
                retryable=kind != "auth_error" and fault.kind != "blocked",
                duration_ms=round((time.monotonic() - began) * 1000),
            )

    @property
    def _deadline(self) -> float:
        """The end of the run's time, on the monotonic clock of this process."""
        assert self._run.started_at is not None
        spent_s = (now() - self._run.started_at).total_seconds()
        return time.monotonic() + self._version.limits.max_duration_seconds - spent_s

    def _make_model(self) -> Model | Broken:
        model_id = self._run.model_id
        try:
            self._plan = plan_of(self._loaded)
            return ScriptedModel(self._plan, model_id) if self._plan else self._lab.models.get(model_id)
        except PlanError as error:
            return Broken(classification="model_error", message=str(error), retryable=False)
        except ModelFault as fault:
            return Broken(classification="model_error", message=fault.message, retryable=False)

    def _bench(self) -> Bench:
        judge: Model | None = None
        try:
            judge = self._lab.judge()
        except ModelFault as fault:
            log.warning("the judge model cannot be used: %s", fault.message)
        return Bench(
            version=self._version,
            story=self._notebook.story,
            spans=spans_of(self._run, self._notebook.rows),
            plan=self._plan,
            judge=judge,
        )

    async def _judge(self, bench: Bench) -> list[Mark]:
        known = {key: store.mark_of(body) for key, body in self._notebook.story.judged.items()}

        async def on_mark(mark: Mark, spent: Spent, duration_ms: int) -> None:
            self._notebook.note(
                Judged(
                    mark=asdict(mark),
                    usd=spent.usd,
                    input_tokens=spent.input_tokens,
                    output_tokens=spent.output_tokens,
                    duration_ms=duration_ms,
                )
            )
            if mark.judged_by == "model":
                await self._notebook.flush()

        await mark_all(bench, known=known, on_mark=on_mark)
        # As they are stored: what is judged is what can be read.
        stored = [row.event.mark for row in self._notebook.rows if isinstance(row.event, Judged)]
        return [store.mark_of(body) for body in stored]

    def _end(self, tx: Tx, bench: Bench, marks: Sequence[Mark]) -> None:
        story = self._notebook.story
        error = story.fault.message if story.fault else story.limit.message if story.limit else None
        error = None if error is None else self._notebook.clean(error)
        by_model = any(mark.judged_by == "model" for mark in marks)
        if not self._may_end(tx):
            return
        finish(
            tx,
            self._run,
            verdict_of(story, marks),
            marks=marks,
            judge=(bench.judge.id, PROMPT_DIGEST) if by_model and bench.judge else None,
            warnings=warnings_of(bench, self._run.model_id),
            error=error,
            counts=self._notebook.counts(),
        )

    def end_cancelled(self) -> None:
        self._end_errored(marking.errored("cancelled"), "The run was cancelled.")

    def end_refused(self, why: str) -> None:
        self._end_errored(marking.errored("cancelled"), why)

    def end_internal(self) -> None:
        self._end_errored(
            marking.errored("internal"), "The run failed on our side; the server's log says why."
        )

    def _end_errored(self, verdict: Verdict, error: str) -> None:
        with self._lab.db.write() as tx:
            if self._may_end(tx):
                finish(tx, self._run, verdict, error=error, counts=self._notebook.counts())

    def _may_end(self, tx: Tx) -> bool:
        """Whether the run is still ours to end; what is not yet written of it then is."""
        self._job.check_in(tx)
        run = store.find_run(tx, self._run.id, lock=True)
        if run is None or run.status != "running":
            return False
        store.append_events(tx, self._run.id, self._notebook.waiting)
        return True
