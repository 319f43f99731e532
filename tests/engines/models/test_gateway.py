"""Models over HTTP: the real client against an endpoint of this machine; turns, faults in words, prices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from ammeter.engines.models.endpoints import Endpoint, Reachable, same_vendor
from ammeter.engines.models.gateway import Models
from ammeter.engines.models.port import (
    Conversation,
    ModelFault,
    ModelText,
    ToolAnswer,
    ToolCall,
    ToolSpec,
    Turn,
    UserText,
)
from ammeter.engines.models.prices import Price, cost_usd
from tests.chat_endpoint import ChatEndpoint, calls, chat_endpoint

TOOL = ToolSpec(
    name="get_note",
    description="Read a note.",
    schema={"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
)
ASKED = Conversation(system="Be brief.", messages=[UserText(text="Read milk.")], tools=[TOOL])


def ask(endpoint: ChatEndpoint, conversation: Conversation = ASKED, **fields: Any) -> Turn:
    told = Endpoint(base_url=endpoint.url, **fields)
    return asyncio.run(take_turn(told, conversation))


async def take_turn(told: Endpoint, conversation: Conversation) -> Turn:
    models = Models(Reachable(vendor_keys={}, endpoints={"local": told}))
    try:
        return await models.get("local/small").turn(conversation)
    finally:
        await models.close()


def test_a_turn_carries_text_calls_and_what_it_cost() -> None:
    said = calls(("get_note", {"title": "milk"}), ("get_note", {"title": "eggs"}), text="Let me look.")
    with chat_endpoint(said) as endpoint:
        turn = ask(endpoint, key="k-123", price=Price(input_per_million=2, output_per_million=8))
    assert turn.text == "Let me look."
    assert [(call.tool, call.arguments) for call in turn.calls] == [
        ("get_note", {"title": "milk"}),
        ("get_note", {"title": "eggs"}),
    ]
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1000, 500)
    assert turn.usage.usd == pytest.approx(0.006)
    [sent] = endpoint.requests
    assert sent["model"] == "small"
    assert sent["tools"][0]["function"]["parameters"]["required"] == ["title"]
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert 8192 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert endpoint.keys == ["Bearer k-123"]


def test_the_conversation_so_far_is_sent_with_its_calls_and_results() -> None:
    asked = ToolCall(id="c1", tool="get_note", arguments={"title": "milk"})
    conversation = Conversation(
        system="",
        messages=[
            UserText(text="Read milk."),
            ModelText(text="", calls=(asked,)),
            ToolAnswer(call_id="c1", tool="get_note", text="no such note", is_error=True),
        ],
        tools=[TOOL],
    )
    with chat_endpoint("There is none.") as endpoint:
        assert ask(endpoint, conversation).text == "There is none."
    sent = endpoint.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"title": "milk"}
    assert (sent[2]["tool_call_id"], "no such note" in sent[2]["content"]) == ("c1", True)


def test_arguments_that_are_no_json_object_are_told_and_not_guessed() -> None:
    with chat_endpoint(calls(("get_note", "{broken"))) as endpoint:
        [call] = ask(endpoint).calls
    assert call.problem is not None
    assert "not a JSON object" in call.problem


def test_without_a_price_the_cost_is_unknown_and_never_nothing() -> None:
    with chat_endpoint("Hi") as endpoint:
        assert ask(endpoint).usage.usd is None
    assert cost_usd("openai/no-such-model", input_tokens=1, output_tokens=1) is None
    known = cost_usd("openai/gpt-4o", input_tokens=1_000_000, output_tokens=0)
    assert known is not None
    assert known > 0


@pytest.mark.parametrize(
    ("response", "kind", "retryable"),
    [
        (JSONResponse({"error": {"message": "bad key sk-secret"}}, 401), "refused", False),
        (JSONResponse({"error": {"message": "no such model"}}, 404), "refused", False),
        (JSONResponse({"error": {"message": "slow down"}}, 429), "unavailable", True),
        (JSONResponse({"error": {"message": "oops"}}, 500), "unavailable", True),
        (JSONResponse({"error": {"message": "bad request"}}, 400), "refused", False),
        (Response("<html>", 200, media_type="text/html"), "nonsense", True),
        (JSONResponse({"choices": []}), "nonsense", True),
    ],
)
def test_faults_are_told_in_words_and_say_whether_to_try_again(
    response: Response, kind: str, retryable: bool
) -> None:
    with chat_endpoint(response) as endpoint, pytest.raises(ModelFault) as fault:
        ask(endpoint)
    assert (fault.value.kind, fault.value.retryable) == (kind, retryable)
    assert "local/small" in fault.value.message
    assert "sk-secret" not in fault.value.message
    assert len(endpoint.requests) == 1, "a further try is the caller's"


def test_a_model_that_is_not_there_or_hangs_is_a_fault() -> None:
    nobody = Endpoint(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelFault) as fault:
        asyncio.run(take_turn(nobody, ASKED))
    assert (fault.value.kind, fault.value.retryable) == ("unavailable", True)
    models = Models(Reachable(vendor_keys={}, endpoints={}))
    for unknown in ("openai/gpt-5", "nobody/x", "builtin/scripted"):
        with pytest.raises(ModelFault, match=r"key for openai|no provider|no language model"):
            models.get(unknown)


def test_constrained_turns_are_json_actions_held_to_the_tools() -> None:
    said = ['{"tool": "get_note", "arguments": {"title": "milk"}}', '{"answer": "two litres"}']
    with chat_endpoint(*said) as endpoint:
        first = ask(endpoint, mode="constrained")
        [call] = first.calls
        heard = ToolAnswer(call_id=call.id, tool=call.tool, text="two litres", is_error=False)
        conversation = Conversation(
            system="Be brief.",
            messages=[*ASKED.messages, ModelText(text="", calls=first.calls), heard],
            tools=[TOOL],
        )
        last = ask(endpoint, conversation, mode="constrained")
    assert (call.tool, call.arguments, last.text, last.calls) == (
        "get_note",
        {"title": "milk"},
        "two litres",
        (),
    )
    sent = endpoint.requests[1]
    assert "tools" not in sent
    alternatives = sent["response_format"]["json_schema"]["schema"]["oneOf"]
    assert alternatives[0]["properties"]["tool"] == {"const": "get_note"}
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert sent["messages"][-1]["content"] == "TOOL RESULT get_note: two litres"


def test_a_constrained_model_that_writes_no_action_is_a_fault() -> None:
    with chat_endpoint("I would rather talk.") as endpoint, pytest.raises(ModelFault) as fault:
        ask(endpoint, mode="constrained")
    assert (fault.value.kind, fault.value.retryable) == ("nonsense", True)


def test_judge_and_tester_of_one_vendor_are_noticed() -> None:
    assert same_vendor("openai/a", "openai/b")
    assert not same_vendor("openai/a", "anthropic/b")
    assert not same_vendor("builtin/scripted", "builtin/scripted")
