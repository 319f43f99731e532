"""The SDK's values as ours: what a server says of itself, its tools, resources, prompts and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types
from mcp.client import Client
from pydantic import BaseModel

from ammeter.engines.mcp_client.port import Prompt, Resource, ServerFacts, Tool, ToolResult


def facts_of(client: Client) -> ServerFacts:
    info = client.server_info
    return ServerFacts(
        name=info.name if info else "",
        version=info.version if info else "",
        protocol_version=client.protocol_version,
        instructions=client.instructions,
        capabilities=_plain(client.server_capabilities),
    )


def tool_of(tool: mcp_types.Tool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title or (tool.annotations.title if tool.annotations else None),
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_plain(tool.annotations) if tool.annotations else None,
    )


def resource_of(resource: mcp_types.Resource) -> Resource:
    return Resource(
        uri=str(resource.uri),
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
    )


def prompt_of(prompt: mcp_types.Prompt) -> Prompt:
    return Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=tuple(_plain(argument) for argument in prompt.arguments or ()),
    )


def result_of(result: mcp_types.CallToolResult) -> ToolResult:
    content = tuple(_plain(block) for block in result.content)
    return ToolResult(
        content=content,
        structured=result.structured_content,
        is_error=bool(result.is_error),
        raw_text="\n".join(str(block["text"]) for block in content if block.get("type") == "text"),
    )


def refusal(code: int, message: str) -> ToolResult:
    """A call that the server answered with an error of the protocol, as the model should read it."""
    text = f"The server refused the call: {message} (error {code})"
    return ToolResult(
        content=({"type": "text", "text": text},), structured=None, is_error=True, raw_text=text
    )


def _plain(value: BaseModel) -> Mapping[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)
