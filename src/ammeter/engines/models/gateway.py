"""From a model id to a model that answers: pydantic-ai speaks to the vendors, one request a turn.

Its agents and its retries are not used: turns, tools, limits and further tries are the caller's, who
writes each of them down. Modules of a vendor are imported when a model of that vendor is first asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ammeter.engines.models import constrained
from ammeter.engines.models.endpoints import Endpoint, Reachable
from ammeter.engines.models.port import (
    Conversation,
    Message,
    Model,
    ModelFault,
    ModelText,
    Stop,
    ToolAnswer,
    ToolCall,
    Turn,
    Usage,
    UserText,
    provider_of,
)
from ammeter.engines.models.prices import Price, cost_usd

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as VendorModel
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

_STOPS: dict[str | None, Stop] = {"length": "length", "content_filter": "filtered", "tool_call": "tool_calls"}


class Models:
    def __init__(self, reachable: Reachable) -> None:
        self.reachable = reachable
        # A client belongs to the event loop that opened its connections.
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, VendorModel]] = WeakKeyDictionary()

    def get(self, model_id: str) -> Model:
        """The model; ModelFault, in words, where this server cannot reach it."""
        problem = self.reachable.problem(model_id)
        if problem is not None or provider_of(model_id) == "builtin":
            told = problem or f"{model_id} is no language model"
            raise ModelFault("unconfigured", f"{told[:1].upper()}{told[1:]}.", retryable=False)
        endpoint = self.reachable.endpoints.get(provider_of(model_id))
        return VendorTurns(model_id, endpoint, self._client)

    async def close(self) -> None:
        """End the connections that were opened from this event loop."""
        for client in self._open.pop(asyncio.get_running_loop(), {}).values():
            await client.__aexit__(None, None, None)

    async def _client(self, model_id: str) -> VendorModel:
        clients = self._open.setdefault(asyncio.get_running_loop(), {})
        if model_id not in clients:
            # Seconds on a busy machine, in which the loop has other work, and leases to keep.
            await asyncio.to_thread(_import_vendor, provider_of(model_id))
        if model_id not in clients:
            clients[model_id] = client = self._make(model_id)
            await client.__aenter__()
        return clients[model_id]

    def _make(self, model_id: str) -> VendorModel:
        provider, _, name = model_id.partition("/")
        endpoint = self.reachable.endpoints.get(provider)
        key = endpoint.key if endpoint else self.reachable.vendor_keys.get(provider, "")
        if endpoint is not None or provider == "openai":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            # The client insists on a key, also where an endpoint asks for none.
            base_url = endpoint.base_url if endpoint else None
            return OpenAIChatModel(name, provider=OpenAIProvider(base_url=base_url, api_key=key or "none"))
        if provider == "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicModel(name, provider=AnthropicProvider(api_key=key))
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(name, provider=GoogleProvider(api_key=key))


class VendorTurns:
    """A `Model`: one request to a vendor or an endpoint for each turn."""

    def __init__(
        self, model_id: str, endpoint: Endpoint | None, client: Callable[[str], Awaitable[VendorModel]]
    ) -> None:
        self._id = model_id
        self._constrained = endpoint is not None and endpoint.mode == "constrained"
        self._price: Price | None = endpoint.price if endpoint else None
        self._client = client

    @property
    def id(self) -> str:
        return self._id

    async def turn(self, conversation: Conversation) -> Turn:
        acts = self._constrained and bool(conversation.tools)
        response = await self._ask(conversation, acts=acts)
        usage = self._usage(response)
        text = "".join(part.content for part in response.parts if part.part_kind == "text")
        if acts:
            return constrained.read_action(text, usage, call_id=f"c{len(conversation.messages)}")
        calls = tuple(_call(part) for part in response.parts if part.part_kind == "tool-call")
        stop: Stop = "tool_calls" if calls else _STOPS.get(response.finish_reason, "end")
        return Turn(text=text, calls=calls, stop=stop, usage=usage)

    async def _ask(self, conversation: Conversation, *, acts: bool) -> ModelResponse:
        client = await self._client(self._id)
        from pydantic_ai.direct import model_request

        messages = _plain(conversation) if acts else _messages(conversation)
        try:
            async with asyncio.timeout(conversation.timeout_s):
                return await model_request(
                    client,
                    messages,
                    model_settings=_settings(conversation, acts=acts),
                    model_request_parameters=_parameters(conversation, acts=acts),
                )
        except TimeoutError:
            message = f"{self._id} gave no answer within {conversation.timeout_s:g} s."
            raise ModelFault("timeout", message, retryable=True) from None
        except Exception as error:
            raise fault_of(error, self._id) from error

    def _usage(self, response: ModelResponse) -> Usage:
        tokens_in, tokens_out = response.usage.input_tokens, response.usage.output_tokens
        usd = cost_usd(self._id, input_tokens=tokens_in, output_tokens=tokens_out, stated=self._price)
        return Usage(input_tokens=tokens_in, output_tokens=tokens_out, usd=usd)


def _import_vendor(provider: str) -> None:
    vendor = provider if provider in ("anthropic", "google") else "openai"
    for module in (f"models.{vendor}", f"providers.{vendor}", "direct"):
        import_module(f"pydantic_ai.{module}")


def fault_of(error: Exception, model_id: str) -> ModelFault:
    """A vendor's error in our words; what is no error of a vendor is passed on as it is."""
    from pydantic_ai import exceptions as told

    match error:
        case told.ModelTimeoutError() | told.ModelRequestTimeout():
            return ModelFault("timeout", f"{model_id} gave no answer in time.", retryable=True)
        case told.ModelAuthenticationError():
            return ModelFault("refused", f"{model_id} refused the server's key.", retryable=False)
        case told.ModelNotFoundError():
            return ModelFault("refused", f"{model_id}: the provider has no such model.", retryable=False)
        case told.ModelQuotaExceededError():
            return ModelFault(
                "refused", f"{model_id}: the quota of the server's key is used up.", retryable=False
            )
        case told.ModelContextWindowExceededError():
            return ModelFault("refused", f"{model_id}: the conversation is too long for it.", retryable=False)
        case told.ModelRateLimitError():
            return ModelFault("unavailable", f"{model_id} is over its rate limit.", retryable=True)
        case told.ModelRequestRejectedError():
            return ModelFault("refused", f"{model_id} refused the request: {_short(error)}", retryable=False)
        case told.ModelAPIError():
            return ModelFault("unavailable", f"{model_id} did not answer: {_short(error)}", retryable=True)
        case told.AgentRunError() | ValueError():
            return ModelFault("nonsense", f"{model_id} answered nonsense: {_short(error)}", retryable=True)
        case _:
            raise error


def _messages(conversation: Conversation) -> list[ModelMessage]:
    from pydantic_ai import messages as m

    out: list[ModelMessage] = []
    parts: list[Any] = []

    def flush() -> None:
        if parts:
            instructions = conversation.system or None
            out.append(m.ModelRequest(parts=list(parts), instructions=instructions))
            parts.clear()

    for message in conversation.messages:
        if isinstance(message, ModelText):
            flush()
            out.append(_response(message))
        else:
            parts.append(_part(message))
    flush()
    return out


def _part(message: Message) -> Any:
    from pydantic_ai import messages as m

    if isinstance(message, UserText):
        return m.UserPromptPart(message.text)
    assert isinstance(message, ToolAnswer)
    return m.ToolReturnPart(
        tool_name=message.tool,
        content=message.text,
        tool_call_id=message.call_id,
        outcome="failed" if message.is_error else "success",
    )


def _response(message: ModelText) -> ModelResponse:
    from pydantic_ai import messages as m

    text = [m.TextPart(message.text)] if message.text else []
    calls = [
        m.ToolCallPart(tool_name=call.tool, args=dict(call.arguments), tool_call_id=call.id)
        for call in message.calls
    ]
    return m.ModelResponse(parts=[*text, *calls])


def _plain(conversation: Conversation) -> list[ModelMessage]:
    from pydantic_ai import messages as m

    system, *said = constrained.chat_messages(conversation)
    out: list[ModelMessage] = []
    for entry in said:
        if entry["role"] == "assistant":
            out.append(m.ModelResponse(parts=[m.TextPart(entry["content"])]))
        else:
            part = m.UserPromptPart(entry["content"])
            out.append(m.ModelRequest(parts=[part], instructions=system["content"]))
    return out


def _settings(conversation: Conversation, *, acts: bool) -> ModelSettings:
    settings: ModelSettings = {
        "max_tokens": conversation.max_output_tokens,
        "timeout": conversation.timeout_s,
        # A further try is the caller's: it is written down and counted.
        "max_retries": 0,
    }
    if acts:
        named = {"name": "action", "schema": constrained.action_schema(conversation)}
        settings["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": named}}
    return settings


def _parameters(conversation: Conversation, *, acts: bool) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    tools = [] if acts else conversation.tools
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=t.name, description=t.description, parameters_json_schema=dict(t.schema))
            for t in tools
        ],
        allow_text_output=True,
    )


def _call(part: Any) -> ToolCall:
    try:
        arguments = json.loads(part.args or "{}") if isinstance(part.args, str | None) else part.args
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(id=part.tool_call_id, tool=part.tool_name, arguments=arguments)
    problem = f"the arguments are not a JSON object: {str(part.args)[:200]}"
    return ToolCall(id=part.tool_call_id, tool=part.tool_name, arguments={}, problem=problem)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
