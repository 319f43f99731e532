"""Judges a run again from its stored trace; the newest judgement is the one that counts, older ones stay."""

from __future__ import annotations

from dataclasses import replace

from ammeter.base.clock import now
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Handler, JobFailed, JobRun
from ammeter.engines.models.port import ModelFault
from ammeter.features.evals import marks as marking
from ammeter.features.evals import store
from ammeter.features.evals.finish import judged_columns, verdict_of
from ammeter.features.evals.judge import Spent
from ammeter.features.evals.judge_prompt import PROMPT_DIGEST
from ammeter.features.evals.judging import Bench, mark_all, warnings_of
from ammeter.features.evals.model import Mark, Run
from ammeter.features.evals.run_job import Laboratory, load, plan_of
from ammeter.features.evals.spans import spans_of
from ammeter.features.evals.story import told

KIND = "evals.rejudge"


def rejudge_job(lab: Laboratory) -> Handler:
    async def handler(job: JobRun) -> object:
        loaded = await lab.db.run(load, lab, str(job.job.payload["run_id"]))
        if loaded is None or loaded.run.status == "running":
            raise JobFailed("The run is not there, or has not ended.")
        try:
            judge = lab.judge()
        except ModelFault as fault:
            raise JobFailed(fault.message) from None
        story = told(loaded.version.tester_prompt, (row.event for row in loaded.rows))
        bench = Bench(
            version=loaded.version,
            story=story,
            spans=spans_of(loaded.run, loaded.rows),
            plan=plan_of(loaded),
            judge=judge,
        )
        total = Spent()

        async def on_mark(mark: Mark, spent: Spent, _: int) -> None:
            total.usd = None if total.usd is None or spent.usd is None else total.usd + spent.usd

        marks = await mark_all(bench, known={}, on_mark=on_mark)

        def write() -> None:
            with lab.db.write() as tx:
                job.check_in(tx)
                _write(tx, loaded.run, bench, marks, total)

        await lab.db.run(write)
        return {"run_id": loaded.run.id}

    return handler


def _write(tx: Tx, run: Run, bench: Bench, marks: list[Mark], spent: Spent) -> None:
    before = store.find_evaluation(tx, run.id)
    assert before is not None, "a run that ended has an evaluation"
    verdict = verdict_of(bench.story, marks)
    by_model = bench.judge is not None and any(mark.judged_by == "model" for mark in marks)
    text = " ".join(filter(None, (marking.summary(marks), run.error)))
    store.insert_evaluation(
        tx,
        replace(
            before,
            number=before.number + 1,
            judged_at=now(),
            outcome=verdict.outcome,
            score=verdict.score,
            text=text,
            model=bench.judge.id if bench.judge and by_model else None,
            prompt_digest=PROMPT_DIGEST if by_model else None,
            marks=tuple(marks),
            warnings=tuple(warnings_of(bench, run.model_id)),
        ),
    )
    spent_before = run.judge_usd or 0.0
    judge_usd = None if spent.usd is None else spent_before + spent.usd
    store.update_run(tx, run.id, {**judged_columns(verdict, marks, text), "judge_usd": judge_usd})
