"""Judges one criterion with a model: spans in, a mark with verified evidence out, or an honest don't-know.

One criterion a call. An answer that cannot be used is asked for once more. A fail is confirmed by two more
votes, for single fails are right little more than half of the time; the mark that two of three give stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ammeter.engines.models.port import Conversation, Message, Model, ModelFault, ModelText, Turn, UserText
from ammeter.features.evals import judge_prompt
from ammeter.features.evals.judge_answer import BadAnswer, Opinion, read_notes, read_opinion
from ammeter.features.evals.model import Evidence, Mark
from ammeter.features.evals.spans import Span
from ammeter.features.workflows.model import Criterion

_MAX_OUTPUT_TOKENS = 4_096
_TIMEOUT_S = 120.0
_EXTRA_VOTES = 2


@dataclass(slots=True)
class Spent:
    """What the judge has cost so far."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def add(self, turn: Turn) -> None:
        self.input_tokens += turn.usage.input_tokens
        self.output_tokens += turn.usage.output_tokens
        self.usd = None if self.usd is None or turn.usage.usd is None else self.usd + turn.usage.usd


async def judge_criterion(
    model: Model,
    criterion: Criterion,
    *,
    request: str,
    spans: Sequence[Span],
    spent: Spent,
    window_chars: int = judge_prompt.WINDOW_CHARS,
) -> Mark:
    try:
        asked = await _question(model, criterion, request, spans, spent, window_chars)
        first = await _opinion(model, asked, spans, spent)
        if first is None:
            return _undecided(
                criterion, "The judge gave no answer with evidence that stands in the trace, twice."
            )
        if first.mark != "fail":
            return _mark(criterion, first, (first.mark,))
        more = [await _opinion(model, asked, spans, spent) for _ in range(_EXTRA_VOTES)]
    except ModelFault as fault:
        return _undecided(criterion, f"The judge could not be asked: {fault.message}")
    return _settled(criterion, [first, *more])


def _settled(criterion: Criterion, opinions: Sequence[Opinion | None]) -> Mark:
    votes = tuple(opinion.mark if opinion else "unusable" for opinion in opinions)
    counts = Counter(opinion.mark for opinion in opinions if opinion)
    mark, count = counts.most_common(1)[0]
    if count < 2:
        return _undecided(criterion, f"The judge's votes do not agree: {', '.join(votes)}.", votes)
    chosen = next(opinion for opinion in opinions if opinion and opinion.mark == mark)
    return _mark(criterion, chosen, votes)


async def _question(
    model: Model, criterion: Criterion, request: str, spans: Sequence[Span], spent: Spent, window_chars: int
) -> str:
    pieces = judge_prompt.pieces_of(spans, most_chars=window_chars)
    windows = judge_prompt.windows(pieces, most_chars=window_chars)
    if len(windows) == 1:
        return judge_prompt.question(criterion.criterion_text, request, pieces)
    notes: list[Evidence] = []
    for number, window in enumerate(windows, 1):
        text = judge_prompt.notes_question(criterion.criterion_text, window, number, len(windows))
        notes += await _notes(model, text, spans, spent)
    shown = [span for span in spans if span.kind in ("model_turn", "tool_call")]
    kept = list(dict.fromkeys(notes))
    return judge_prompt.question_from_notes(criterion.criterion_text, request, shown, kept, len(windows))


async def _notes(model: Model, text: str, spans: Sequence[Span], spent: Spent) -> tuple[Evidence, ...]:
    """What a window holds; ModelFault where the judge cannot say it in a form that can be checked."""
    messages: list[Message] = [UserText(text=text)]
    for _ in range(2):
        answer = await _ask(model, judge_prompt.NOTES_SYSTEM, messages, spent)
        try:
            return read_notes(answer, spans)
        except BadAnswer as problem:
            messages += [ModelText(text=answer), UserText(text=judge_prompt.AGAIN.format(problem=problem))]
    raise ModelFault("nonsense", "it could not copy from a part of the transcript, twice.", retryable=False)


async def _opinion(model: Model, text: str, spans: Sequence[Span], spent: Spent) -> Opinion | None:
    messages: list[Message] = [UserText(text=text)]
    for _ in range(2):
        answer = await _ask(model, judge_prompt.SYSTEM, messages, spent)
        try:
            return read_opinion(answer, spans)
        except BadAnswer as problem:
            messages += [ModelText(text=answer), UserText(text=judge_prompt.AGAIN.format(problem=problem))]
    return None


async def _ask(model: Model, system: str, messages: Sequence[Message], spent: Spent) -> str:
    conversation = Conversation(
        system=system,
        messages=list(messages),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        timeout_s=_TIMEOUT_S,
    )
    turn = await model.turn(conversation)
    spent.add(turn)
    return turn.text


def _mark(criterion: Criterion, opinion: Opinion, votes: tuple[str, ...]) -> Mark:
    return Mark(
        criterion_id=criterion.id,
        criterion_text=criterion.criterion_text,
        is_required=criterion.is_required,
        mark=opinion.mark,
        reasoning=opinion.reasoning,
        evidence=opinion.evidence,
        judged_by="model",
        votes=votes,
    )


def _undecided(criterion: Criterion, problem: str, votes: tuple[str, ...] = ()) -> Mark:
    return Mark(
        criterion_id=criterion.id,
        criterion_text=criterion.criterion_text,
        is_required=criterion.is_required,
        mark=None,
        reasoning="",
        judged_by="model",
        problem=problem,
        votes=votes,
    )
