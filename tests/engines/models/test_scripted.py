"""Plans in prompts: what is read, what is refused and why, and how a plan is played."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from ammeter.engines.models.port import Conversation, Message, ModelText, ToolAnswer, Turn, UserText
from ammeter.engines.models.scripted import (
    PlanError,
    ScriptedModel,
    parse_plan,
    plan_problem,
    replayed,
)


def fenced(body: str, word: str = "yaml") -> str:
    return f"Some words.\n\n```{word}\n{body}\n```\n\nMore words with `code`.\n"


def alias_bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines)


TWO_STEPS = fenced(
    """
steps:
  - tool: create
    arguments: {name: lamp, tags: [a, b]}
    saveAs: made
  - tool: read
    arguments: {id: "{{made.id}}", note: "of {{made.owner.name}} at {{made.tags[1]}}"}
answer: "{{made.id}} is there"
"""
)


def play(prompt: str, *results: str | tuple[str, bool] | dict[str, Any]) -> list[Turn]:
    """The turns that come of a plan when its calls are answered so."""
    model, turns = ScriptedModel(parse_plan(prompt)), []
    messages: list[Message] = [UserText(text=prompt)]
    for result in (*results, None):
        turn = asyncio.run(model.turn(Conversation(system="", messages=messages)))
        turns.append(turn)
        if result is None or not turn.calls:
            break
        text, failed = result if isinstance(result, tuple) else (result, False)
        structured = text if isinstance(text, dict) else None
        messages += [
            ModelText(text=turn.text, calls=turn.calls),
            ToolAnswer(
                call_id=turn.calls[0].id,
                tool=turn.calls[0].tool,
                text=json.dumps(text) if structured else str(text),
                is_error=failed,
                structured=structured,
            ),
        ]
    return turns


def test_steps_are_played_in_order_and_refer_to_earlier_results() -> None:
    made = {"id": 7, "owner": {"name": "Ann"}, "tags": ["x", "y"]}
    first, second, last = play(TWO_STEPS, made, "fine")
    assert (first.calls[0].tool, first.calls[0].arguments) == ("create", {"name": "lamp", "tags": ["a", "b"]})
    # A reference that is the whole value keeps its type; within a text it is text.
    assert second.calls[0].arguments == {"id": 7, "note": "of Ann at y"}
    assert (last.calls, last.text) == ((), "7 is there")


def test_results_that_are_json_in_text_can_be_referred_to() -> None:
    turns = play(TWO_STEPS, '{"id": "n1", "owner": {"name": "Bo"}, "tags": [0, 1]}', "fine")
    assert turns[1].calls[0].arguments == {"id": "n1", "note": "of Bo at 1"}


def test_a_step_that_fails_unexpectedly_ends_the_plan() -> None:
    turns = play(TWO_STEPS, ("no room", True))
    assert turns[-1].text == "Step 1 (create) was to succeed, and it failed: no room"


def test_a_step_that_was_to_fail_and_succeeds_ends_the_plan() -> None:
    prompt = fenced('{"steps": [{"tool": "read", "arguments": {}, "expectError": true}]}', "json")
    assert play(prompt, "here")[-1].text == "Step 1 (read) was to fail, and it succeeded: here"
    assert play(prompt, ("gone", True))[-1].text == "All 1 steps were carried out."


def test_a_reference_that_leads_nowhere_ends_the_plan() -> None:
    turns = play(TWO_STEPS, {"id": 7})
    assert turns[-1].text == "Step 2 (read) refers to {{made.owner.name}}, which is not there."
    told = plan_problem(parse_plan(TWO_STEPS), _heard({"id": 7}), turns[-1].text)
    assert told == turns[-1].text


def test_a_replay_takes_answers_as_they_come() -> None:
    plan = replayed([("a", {"x": 1}), ("b", {})])
    answers: list[Message] = [
        ToolAnswer(call_id="1", tool="a", text="", is_error=True),
        ToolAnswer(call_id="2", tool="b", text="", is_error=False),
    ]
    assert plan_problem(plan, answers, "") is None


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("no block at all", "there are 0"),
        (fenced("steps: []") + fenced("steps: []"), "there are 2"),
        (fenced("steps: [", "yaml"), "not YAML or JSON"),
        (fenced("- a"), "an object with a list `steps`"),
        (fenced("steps: {}"), "an object with a list `steps`"),
        (fenced("steps: []"), "1 to 500"),
        (fenced("steps: [{tool: a}]\nextra: 1"), "unknown field 'extra'"),
        (fenced("steps: [1]"), "Step 1 is to be an object"),
        (fenced("steps: [{arguments: {}}]"), "Step 1 names no tool"),
        (fenced("steps: [{tool: a, argments: {}}]"), "unknown field 'argments'"),
        (fenced("steps: [{tool: a, arguments: [1]}]"), "arguments are to be an object"),
        (fenced("steps: [{tool: a, expectError: maybe}]"), "expectError is true or false"),
        (fenced("steps: [{tool: a, saveAs: 1a}]"), "saveAs is a name"),
        (fenced('steps: [{tool: a, arguments: {x: "{{b.c}}"}}]'), "refers to {{b}}"),
        (fenced("steps: [{tool: a, arguments: {x: .nan}}]"), "not JSON"),
        (fenced(alias_bomb() + "\nsteps: [{tool: a, arguments: {x: *i}}]"), "more than 50000 values"),
        (fenced("steps: &s [{tool: a, arguments: {x: *s}}]"), "more than 50000 values"),
        (fenced("steps: " + "[" * 15_000 + "]" * 15_000), "not YAML or JSON"),
        (fenced('steps: [{tool: a}]\nanswer: "{{b}}"'), "The plan's answer refers to {{b}}"),
    ],
)
def test_a_prompt_without_a_usable_plan_is_told_what_is_wrong(prompt: str, told: str) -> None:
    with pytest.raises(PlanError, match=re.escape(told)):
        parse_plan(prompt)


def test_other_fences_are_free_text() -> None:
    prompt = fenced("print(1)", "python") + fenced("steps: [{tool: a}]") + fenced("x", "")
    assert [step.tool for step in parse_plan(prompt).steps] == ["a"]


def _heard(structured: dict[str, Any]) -> list[Message]:
    return [ToolAnswer(call_id="1", tool="create", text="", is_error=False, structured=structured)]
