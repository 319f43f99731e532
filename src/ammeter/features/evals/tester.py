"""Plays a test: asks the model for a turn, carries out the calls it asks for, until it is done or a limit
says so. A Story in, events out; what happens next is read from the story alone, so any worker can go on.

No call is ever made twice: one that was begun and has no answer becomes `interrupted`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

from ammeter.engines.mcp_client.port import Connection, SourceFault, Tool
from ammeter.engines.models.port import Conversation, Model, ModelFault, ToolCall, ToolSpec, provider_of
from ammeter.features.evals.events import (
    CallBegan,
    CallEnded,
    Event,
    Faulted,
    LimitReached,
    TurnEnded,
)
from ammeter.features.evals.model import Classification
from ammeter.features.evals.policy import refusal
from ammeter.features.evals.story import Story
from ammeter.features.workflows.model import Limits, ToolPolicy

T = TypeVar("T")

MAX_RESULT_CHARS = 200_000
_INTERRUPTED = (
    "Interrupted: the worker that made this call went away. It may have been carried out; it is not repeated."
)
_CALL_S = 60.0
_TURN_S = 180.0

SOURCE_FAULTS: dict[str, Classification] = {
    "unreachable": "source_unreachable",
    "blocked": "source_unreachable",
    "auth": "auth_error",
    "protocol": "source_error",
    "timeout": "source_error",
    "too_large": "source_error",
}


class Cancelled(Exception):
    """A person asked the run to stop."""


class Notebook(Protocol):
    """Where events go: `note` keeps one, `flush` makes all that were kept durable."""

    @property
    def story(self) -> Story: ...

    def note(self, event: Event) -> None: ...

    async def flush(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a test is played with."""

    model: Model
    connection: Connection
    tools: Sequence[Tool]
    system: str
    limits: Limits
    policy: ToolPolicy
    deadline: float
    """On the monotonic clock."""
    cancelled: asyncio.Event

    @property
    def is_builtin(self) -> bool:
        return provider_of(self.model.id) == "builtin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The test cannot go on as it is: a model or a source failed. Trying again is decided elsewhere."""

    classification: Classification
    message: str
    retryable: bool
    duration_ms: int = 0


async def play(notebook: Notebook, setting: Setting) -> Broken | None:
    """Go on until the story is over (None), or something breaks."""
    while not notebook.story.is_over:
        if notebook.story.pending:
            broken = await _next_call(notebook, setting)
        else:
            broken = await _next_turn(notebook, setting)
        if broken is not None:
            return broken
    return None


def close_open_call(notebook: Notebook) -> None:
    """A call that was under way when a worker went away: what became of it is not known."""
    if (began := notebook.story.open_call) is not None:
        notebook.note(_ended(began.call_id, _INTERRUPTED, is_error=True, interrupted=True))


async def _next_turn(notebook: Notebook, setting: Setting) -> Broken | None:
    story, limits = notebook.story, setting.limits
    if reached := _limit_before_turn(story, setting):
        notebook.note(reached)
        return None
    if not setting.is_builtin:
        # What happened so far is seen by others while the model thinks.
        await notebook.flush()
    conversation = Conversation(
        system=setting.system,
        messages=story.messages,
        tools=[
            ToolSpec(name=tool.name, description=tool.description or "", schema=tool.input_schema)
            for tool in setting.tools
        ],
        max_output_tokens=limits.max_output_tokens,
        timeout_s=max(0.1, min(_TURN_S, setting.deadline - time.monotonic())),
    )
    began = time.monotonic()
    try:
        turn = await or_cancel(setting.model.turn(conversation), setting.cancelled)
    except ModelFault as fault:
        if time.monotonic() >= setting.deadline:
            notebook.note(_too_long(limits))
            return None
        spent_ms = _since(began)
        return Broken(
            classification="model_error",
            message=fault.message,
            retryable=fault.retryable,
            duration_ms=spent_ms,
        )
    notebook.note(
        TurnEnded(
            text=_bounded(turn.text),
            calls=[asdict(call) for call in turn.calls],
            stop=turn.stop,
            input_tokens=turn.usage.input_tokens,
            output_tokens=turn.usage.output_tokens,
            usd=turn.usage.usd,
            duration_ms=_since(began),
        )
    )
    if turn.stop == "length" and not turn.calls:
        told = f"A turn was cut off at {limits.max_output_tokens} output tokens."
        notebook.note(LimitReached(limit="maxOutputTokens", message=told))
    return None


def _limit_before_turn(story: Story, setting: Setting) -> LimitReached | None:
    limits = setting.limits
    if time.monotonic() >= setting.deadline:
        return _too_long(limits)
    if not setting.is_builtin and story.turns >= limits.max_turns:
        told = f"The tester took {story.turns} turns and was not done; maxTurns is {limits.max_turns}."
        return LimitReached(limit="maxTurns", message=told)
    if story.usd is not None and story.usd > limits.max_cost_usd:
        told = f"The test cost {story.usd:.4f} US dollars so far; maxCostUsd is {limits.max_cost_usd:g}."
        return LimitReached(limit="maxCostUsd", message=told)
    return None


async def _next_call(notebook: Notebook, setting: Setting) -> Broken | None:
    story, call = notebook.story, notebook.story.pending[0]
    if time.monotonic() >= setting.deadline:
        notebook.note(_too_long(setting.limits))
        return None
    if story.calls >= setting.limits.max_tool_calls:
        most = setting.limits.max_tool_calls
        told = f"The tester made {story.calls} tool calls and asked for more; maxToolCalls is {most}."
        notebook.note(LimitReached(limit="maxToolCalls", message=told))
        return None
    notebook.note(CallBegan(call_id=call.id, tool=call.tool, arguments=dict(call.arguments)))
    if (answer := _not_carried_out(call, setting)) is not None:
        notebook.note(answer)
        return None
    # Before the call, so that whoever takes over knows that it may have been made.
    await notebook.flush()
    return await _carry_out(notebook, setting, call)


async def _carry_out(notebook: Notebook, setting: Setting, call: ToolCall) -> Broken | None:
    began = time.monotonic()
    timeout_s = max(0.1, min(_CALL_S, setting.deadline - began))
    try:
        asked = setting.connection.call_tool(call.tool, call.arguments, timeout_s)
        result = await or_cancel(asked, setting.cancelled)
    except Cancelled:
        text = "Interrupted: the run was cancelled. The call may have been carried out."
        notebook.note(_ended(call.id, text, is_error=True, interrupted=True, began=began))
        raise
    except SourceFault as fault:
        notebook.note(_ended(call.id, fault.message, is_error=True, began=began))
        if fault.kind == "timeout":
            return None
        kind = SOURCE_FAULTS[fault.kind]
        return Broken(classification=kind, message=fault.message, retryable=kind != "auth_error")
    text = result.raw_text or _other_content(result.content, result.structured)
    notebook.note(
        _ended(
            call.id,
            _bounded(text),
            structured=_small(result.structured),
            is_error=result.is_error,
            began=began,
        )
    )
    return None


def _not_carried_out(call: ToolCall, setting: Setting) -> CallEnded | None:
    tool = next((tool for tool in setting.tools if tool.name == call.tool), None)
    if refused := refusal(setting.policy, call.tool, tool.annotations if tool else None):
        return _ended(call.id, refused, is_error=True, denied=True)
    if call.problem is not None:
        return _ended(call.id, f"Not carried out: {call.problem}.", is_error=True)
    if tool is None:
        known = ", ".join(sorted(tool.name for tool in setting.tools)[:50])
        return _ended(call.id, f"There is no tool {call.tool!r}. There are: {known}.", is_error=True)
    return None


def _ended(
    call_id: str,
    text: str,
    *,
    is_error: bool,
    structured: Any = None,
    began: float | None = None,
    denied: bool = False,
    interrupted: bool = False,
) -> CallEnded:
    return CallEnded(
        call_id=call_id,
        text=text,
        structured=structured,
        is_error=is_error,
        duration_ms=0 if began is None else _since(began),
        denied=denied,
        interrupted=interrupted,
    )


async def or_cancel(work: Awaitable[T], cancelled: asyncio.Event) -> T:
    """The result of `work`, or Cancelled as soon as somebody asks for it."""
    task = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Cancelled
    finally:
        asked.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


def fault_event(broken: Broken, *, retry: bool) -> Faulted:
    return Faulted(
        classification=broken.classification,
        message=broken.message,
        retry=retry,
        duration_ms=broken.duration_ms,
    )


def _too_long(limits: Limits) -> LimitReached:
    told = f"The test took longer than {limits.max_duration_seconds} s (maxDurationSeconds)."
    return LimitReached(limit="maxDurationSeconds", message=told)


def _other_content(content: Sequence[Mapping[str, Any]], structured: Any) -> str:
    """For results without text: their structured content, or which kinds of blocks they hold."""
    if structured is not None:
        return json.dumps(structured, ensure_ascii=False)
    return "".join(f"[{block.get('type', 'unknown')} content]" for block in content)


def _bounded(text: str) -> str:
    over = len(text) - MAX_RESULT_CHARS
    return text if over <= 0 else f"{text[:MAX_RESULT_CHARS]}… [{over} more characters were cut off]"


def _small(structured: Any) -> Any:
    """Structured content stays where it is not larger than a text may be; the text tells it in any case."""
    if structured is None or len(json.dumps(structured)) > MAX_RESULT_CHARS:
        return None
    return structured


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
