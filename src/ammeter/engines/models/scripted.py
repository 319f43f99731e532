"""`builtin/scripted` and `builtin/replay`: models that need no model. A plan of calls in, one call a turn.

Which step comes next is read off the conversation, so a run that was cut off goes on where it was. The
plan stops at the first step that does not go as written, and its last words say which and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ammeter.engines.models.port import Conversation, Message, ToolAnswer, ToolCall, Turn, Usage

SCRIPTED = "builtin/scripted"
REPLAY = "builtin/replay"
MAX_STEPS = 500
_MAX_VALUES = 50_000
"""A few lines of YAML can mean a billion values."""

_FENCE = re.compile(r"^ {0,3}```[ \t]*(\S*)[^\n]*\n(.*?)^ {0,3}```[ \t]*$", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_-]+|\[\d+\])*)\s*\}\}")
_PART = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]")
_STEP_FIELDS = {"tool", "arguments", "saveAs", "expectError"}
_PLAN_FIELDS = {"steps", "answer"}


class PlanError(ValueError):
    """The prompt holds no plan, or one that cannot be carried out; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    tool: str
    arguments: Mapping[str, Any]
    save_as: str | None = None
    expect_error: bool | None = False
    """None: either will do, as in a replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[Step, ...]
    answer: str | None = None


def parse_plan(prompt: str) -> Plan:
    """The plan in the one fenced yaml or json block of a prompt; PlanError in words."""
    blocks = [body for word, body in _FENCE.findall(prompt) if word.lower() in ("yaml", "yml", "json")]
    if len(blocks) != 1:
        raise PlanError(
            "builtin/scripted needs one fenced ```yaml or ```json block with its steps;"
            f" there are {len(blocks)}. For a prompt in words, name a language model in testerModelId."
        )
    value = _loaded(blocks[0])
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        raise PlanError("The plan is to be an object with a list `steps`.")
    if unknown := sorted(set(map(str, value)) - _PLAN_FIELDS):
        raise PlanError(f"The plan has the unknown field {unknown[0]!r}; it takes steps and answer.")
    if not 1 <= len(value["steps"]) <= MAX_STEPS:
        raise PlanError(f"The plan has {len(value['steps'])} steps; it takes 1 to {MAX_STEPS}.")
    saved: set[str] = set()
    steps = tuple(_step(raw, number, saved) for number, raw in enumerate(value["steps"], 1))
    answer = value.get("answer")
    if answer is not None:
        if not isinstance(answer, str):
            raise PlanError("The plan's answer is to be a text.")
        _check_references(answer, saved, "The plan's answer")
    return Plan(steps=steps, answer=answer)


def _loaded(block: str) -> Any:
    # Imported here: settings come by this file, and need no YAML.
    import yaml

    try:
        # Not with libyaml, though it is quicker: deep nesting overflows its stack and ends the process.
        value = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PlanError(f"The plan is not YAML or JSON: {_first_line(error)}.") from None
    waiting, seen = [value], 0
    while waiting:
        seen += 1
        if seen > _MAX_VALUES:
            raise PlanError(f"The plan holds more than {_MAX_VALUES} values, counting aliases each time.")
        one = waiting.pop()
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return value


def _step(raw: Any, number: int, saved: set[str]) -> Step:
    where = f"Step {number}"
    if not isinstance(raw, dict):
        raise PlanError(f"{where} is to be an object with a tool and its arguments.")
    if unknown := sorted(set(map(str, raw)) - _STEP_FIELDS):
        raise PlanError(
            f"{where} has the unknown field {unknown[0]!r}; it takes {', '.join(sorted(_STEP_FIELDS))}."
        )
    tool, arguments = raw.get("tool"), raw.get("arguments")
    if not isinstance(tool, str) or not tool:
        raise PlanError(f"{where} names no tool.")
    if not isinstance(arguments if arguments is not None else {}, dict):
        raise PlanError(f"{where}: arguments are to be an object.")
    try:
        arguments = json.loads(json.dumps(arguments or {}, default=str, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise PlanError(f"{where}: arguments are not JSON: {_first_line(error)}.") from None
    _check_references(arguments, saved, where)
    expect_error = raw.get("expectError", False)
    if not isinstance(expect_error, bool):
        raise PlanError(f"{where}: expectError is true or false.")
    save_as = raw.get("saveAs")
    if save_as is not None:
        if not isinstance(save_as, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", save_as):
            raise PlanError(f"{where}: saveAs is a name of letters, digits and _.")
        saved.add(save_as)
    return Step(tool=tool, arguments=arguments, save_as=save_as, expect_error=expect_error)


def _check_references(value: Any, saved: set[str], where: str) -> None:
    for text in _texts(value):
        for name, _ in _REFERENCE.findall(text):
            if name not in saved:
                raise PlanError(f"{where} refers to {{{{{name}}}}}, which no step before it saves.")


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return []


def replayed(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Plan:
    """A plan that repeats calls as they were, whatever they answer now."""
    return Plan(
        steps=tuple(Step(tool=tool, arguments=arguments, expect_error=None) for tool, arguments in calls)
    )


class ScriptedModel:
    def __init__(self, plan: Plan, model_id: str = SCRIPTED) -> None:
        self._plan = plan
        self._id = model_id

    @property
    def id(self) -> str:
        return self._id

    async def turn(self, conversation: Conversation) -> Turn:
        answers = [message for message in conversation.messages if isinstance(message, ToolAnswer)]
        if broken := went_wrong(self._plan, answers):
            return _said(broken)
        saved = saved_results(self._plan, answers)
        if len(answers) == len(self._plan.steps):
            try:
                return _said(str(_filled(self._plan.answer, saved)) if self._plan.answer else self._done())
            except LookupError as error:
                return _said(f"The answer refers to {error.args[0]}, which is not there.")
        number, step = len(answers) + 1, self._plan.steps[len(answers)]
        try:
            arguments = _filled(step.arguments, saved)
        except LookupError as error:
            return _said(f"Step {number} ({step.tool}) refers to {error.args[0]}, which is not there.")
        call = ToolCall(id=f"step-{number}", tool=step.tool, arguments=arguments)
        return Turn(text="", calls=(call,), stop="tool_calls", usage=Usage(usd=0.0))

    def _done(self) -> str:
        return f"All {len(self._plan.steps)} steps were carried out."


def plan_problem(plan: Plan, messages: Sequence[Message], final: str) -> str | None:
    """Why a plan was not carried out to its end; None where it was."""
    answers = [message for message in messages if isinstance(message, ToolAnswer)]
    if broken := went_wrong(plan, answers):
        return broken
    return None if len(answers) == len(plan.steps) else (final or "The plan was cut short.")


def went_wrong(plan: Plan, answers: Sequence[ToolAnswer]) -> str | None:
    for number, (step, answer) in enumerate(zip(plan.steps, answers, strict=False), 1):
        if step.expect_error is not None and answer.is_error != step.expect_error:
            wanted = "fail, and it succeeded" if step.expect_error else "succeed, and it failed"
            return f"Step {number} ({step.tool}) was to {wanted}: {answer.text[:500]}"
    return None


def saved_results(plan: Plan, answers: Sequence[ToolAnswer]) -> dict[str, Any]:
    return {
        step.save_as: result_value(answer)
        for step, answer in zip(plan.steps, answers, strict=False)
        if step.save_as
    }


def result_value(answer: ToolAnswer) -> Any:
    """What a result is, for those who look into it: structured content, else JSON in its text, else text."""
    if answer.structured is not None:
        return answer.structured
    try:
        return json.loads(answer.text)
    except ValueError:
        return answer.text


def at_path(value: Any, path: str) -> Any:
    """`.a.b[0].1` into a value; LookupError where it leads nowhere."""
    for name, index in _PART.findall(path):
        key = name or index
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise LookupError(path)
    return value


def _filled(value: Any, saved: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value.strip())
        if whole:
            return _referred(whole, saved)
        return _REFERENCE.sub(lambda found: _as_text(_referred(found, saved)), value)
    if isinstance(value, Mapping):
        return {name: _filled(inner, saved) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, saved) for inner in value]
    return value


def _referred(found: re.Match[str], saved: Mapping[str, Any]) -> Any:
    try:
        return at_path(saved[found[1]], found[2])
    except LookupError:
        raise LookupError(found[0]) from None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _said(text: str) -> Turn:
    return Turn(text=text, usage=Usage(usd=0.0))


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
