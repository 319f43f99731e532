"""Tools for endpoints that cannot call tools: each turn is one JSON object, held to a schema that is made
from the tools of the moment. A conversation in, messages and a schema out; the answer's text in, a Turn out.

Servers such as llama.cpp, vLLM and Ollama turn the schema into a grammar, so that names and arguments are
valid by construction. Nothing here relies on it: what does not fit becomes a call with a `problem`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ammeter.engines.models.port import (
    Conversation,
    ModelFault,
    ModelText,
    ToolAnswer,
    ToolCall,
    Turn,
    Usage,
    UserText,
)

_RULES = (
    "You act by writing one JSON object per turn and nothing else.\n"
    'To call a tool: {"tool": NAME, "arguments": {...}}\n'
    'When you are done: {"answer": "text for the user"}\n'
    "Never invent the result of a tool.\nTools:\n"
)


def action_schema(conversation: Conversation) -> dict[str, Any]:
    """One alternative a tool, and one to end with an answer."""
    tools: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool.name}, "arguments": dict(tool.schema)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in conversation.tools
    ]
    answer = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"oneOf": [*tools, answer]}


def chat_messages(conversation: Conversation) -> list[dict[str, str]]:
    """The conversation as plain chat: calls and results are texts of the two sides."""
    return [{"role": "system", "content": _system(conversation)}, *_said(conversation)]


def read_action(text: str, usage: Usage, *, call_id: str) -> Turn:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("answer"), str):
        return Turn(text=value["answer"], usage=usage)
    if isinstance(value, dict) and isinstance(value.get("tool"), str):
        arguments = value.get("arguments", {})
        problem = None if isinstance(arguments, dict) else "the arguments are not an object"
        call = ToolCall(
            id=call_id, tool=value["tool"], arguments=arguments if problem is None else {}, problem=problem
        )
        return Turn(text="", calls=(call,), stop="tool_calls", usage=usage)
    raise ModelFault("nonsense", f"The model wrote no action: {text[:200]!r}.", retryable=True)


def _system(conversation: Conversation) -> str:
    if not conversation.tools:
        return conversation.system
    tools = "\n".join(
        json.dumps({"tool": t.name, "description": t.description, "arguments": dict(t.schema)})
        for t in conversation.tools
    )
    return f"{conversation.system}\n\n{_RULES}{tools}".strip()


def _said(conversation: Conversation) -> Iterator[dict[str, str]]:
    acts = bool(conversation.tools)
    for message in conversation.messages:
        match message:
            case UserText(text=text):
                yield {"role": "user", "content": text}
            case ModelText(text=text, calls=()):
                yield {"role": "assistant", "content": json.dumps({"answer": text}) if acts else text}
            case ModelText(calls=calls):
                for call in calls:
                    action = {"tool": call.tool, "arguments": dict(call.arguments)}
                    yield {"role": "assistant", "content": json.dumps(action)}
            case ToolAnswer(tool=tool, text=text, is_error=is_error):
                word = "TOOL ERROR" if is_error else "TOOL RESULT"
                yield {"role": "user", "content": f"{word} {tool}: {text}"}
