"""What has happened in a run so far, folded from its events: what the tester said and heard, what is still
to be done, what it cost. Everything that decides the next step is read from here, never from memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ammeter.engines.models.port import Message, ModelText, ToolAnswer, ToolCall, UserText
from ammeter.features.evals.events import (
    CallBegan,
    CallEnded,
    Connected,
    Event,
    Faulted,
    Judged,
    LimitReached,
    Resumed,
    TestEnded,
    TurnEnded,
)


@dataclass(slots=True)
class Story:
    prompt: str
    messages: list[Message] = field(init=False)
    pending: list[ToolCall] = field(default_factory=list)
    """Calls that the tester asked for and that have no answer yet, in order."""
    open_call: CallBegan | None = None
    """Begun and not answered."""
    turns: int = 0
    calls: int = 0
    denied: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    judge_usd: float | None = None
    final: str | None = None
    """What the tester said last, without asking for more."""
    limit: LimitReached | None = None
    fault: Faulted | None = None
    """The fault that ended it."""
    tested: bool = False
    judged: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.messages = [UserText(text=self.prompt)]

    @property
    def attempt(self) -> int:
        return 1 + self.retries

    @property
    def is_over(self) -> bool:
        return self.final is not None or self.limit is not None or self.fault is not None

    @property
    def has_useful_work(self) -> bool:
        return any(isinstance(m, ToolAnswer) and not m.is_error for m in self.messages) or any(
            isinstance(m, ModelText) and m.text for m in self.messages
        )

    def apply(self, event: Event) -> None:
        match event:
            case TurnEnded():
                self._turn(event)
            case CallBegan():
                self.open_call = event
                self.calls += 1
            case CallEnded():
                self._answer(event)
            case Faulted(retry=True):
                self.retries += 1
            case Faulted():
                self.fault = event
            case LimitReached():
                self.limit = event
            case TestEnded():
                self.tested = True
            case Judged():
                self.judged[event.mark["criterion_id"]] = event.mark
                self.judge_usd = _sum(self.judge_usd or 0.0, event.usd)
            case Connected() | Resumed():
                pass

    def _turn(self, event: TurnEnded) -> None:
        calls = tuple(ToolCall(**call) for call in event.calls)
        self.messages.append(ModelText(text=event.text, calls=calls))
        self.pending = list(calls)
        self.turns += 1
        self.input_tokens += event.input_tokens
        self.output_tokens += event.output_tokens
        self.usd = _sum(self.usd, event.usd)
        if not calls:
            self.final = event.text

    def _answer(self, event: CallEnded) -> None:
        call = self.pending.pop(0)
        self.open_call = None
        self.denied += event.denied
        self.messages.append(
            ToolAnswer(
                call_id=call.id,
                tool=call.tool,
                text=event.text,
                is_error=event.is_error,
                structured=event.structured,
            )
        )


def _sum(one: float | None, other: float | None) -> float | None:
    """Once a part has no known price, neither has the whole."""
    return None if one is None or other is None else one + other


def told(prompt: str, events: Iterable[Event]) -> Story:
    story = Story(prompt)
    for event in events:
        story.apply(event)
    return story
