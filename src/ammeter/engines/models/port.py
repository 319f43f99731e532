"""A language model, as the rest of Ammeter sees it: a conversation and tools go in, one turn comes out.

One turn is one request. Who runs the tools, counts the limits and tries again is absent here: that is
the caller's. What goes wrong is a ModelFault, whose kind says whether another try may help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = Any
FaultKind = Literal["unconfigured", "refused", "unavailable", "timeout", "nonsense"]
Stop = Literal["end", "tool_calls", "length", "filtered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    name: str
    description: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    tool: str
    arguments: Mapping[str, Json]
    problem: str | None = None
    """Why the model's arguments could not be read; such a call is answered and never carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelText:
    """What the model said, and the tools it asked for."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    call_id: str
    tool: str
    text: str
    is_error: bool
    structured: Json = None


Message = UserText | ModelText | ToolAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int = 8192
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None: no price is known. Never 0 for a model that costs something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    usage: Usage = field(default_factory=Usage)


class ModelFault(Exception):
    """No turn was to be had. `retryable` where the same request may succeed later."""

    def __init__(self, kind: FaultKind, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable


class Model(Protocol):
    @property
    def id(self) -> str: ...

    async def turn(self, conversation: Conversation) -> Turn: ...


def provider_of(model_id: str) -> str:
    return model_id.partition("/")[0]
