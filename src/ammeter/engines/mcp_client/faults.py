"""Whatever the SDK raises, as one SourceFault in words; secrets that went along are blanked."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from ammeter.base.logs import blank_secrets
from ammeter.engines.mcp_client.http import Seen, judged_status
from ammeter.engines.mcp_client.port import SourceFault, Target

# What the SDK makes up where an answer was no message of the protocol.
_MADE_UP = ("Server returned an error response", "Not Found", "Session terminated")
_GARBAGE = "The server answers, but not as an MCP server does; check that the base URL is its MCP endpoint."


def is_servers_own(error: MCPError) -> bool:
    """Whether the server itself sent this error, as an answer of the protocol."""
    made_up = error.message in _MADE_UP or error.code in (CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT)
    return not made_up and not error.message.startswith(
        ("Redirect to ", "Unexpected content type", "server answered")
    )


def translated(error: BaseException, seen: Seen, target: Target) -> SourceFault:
    causes = list(_leaves(error))
    for cause in causes:
        if isinstance(cause, SourceFault):
            return _blanked(cause, target)
    for cause in causes:
        if isinstance(cause, MCPError) and is_servers_own(cause):
            return _blanked(
                SourceFault("protocol", f"The server answers with error {cause.code}: {cause.message[:300]}"),
                target,
            )
    if seen.fault is not None:
        return _blanked(seen.fault, target)
    return _blanked(next((_one(cause) for cause in causes), SourceFault("protocol", _GARBAGE)), target)


def _one(error: BaseException) -> SourceFault:
    match error:
        case httpx2.HTTPStatusError():
            response = error.response
            return judged_status(response.status_code, response.request.url.path) or SourceFault(
                "protocol", f"The server answers {response.status_code}."
            )
        case httpx2.SSEError():
            return SourceFault("too_large", f"The server's stream of events cannot be read: {error}.")
        case MCPError() if error.code == CONNECTION_CLOSED:
            words = "SSE stream failed"
            if error.message.startswith(words):
                return SourceFault("too_large", f"The server's stream of events cannot be read: {error}.")
            return SourceFault("unreachable", "The server closed the connection before it answered.")
        case TimeoutError() | httpx2.TimeoutException():
            return SourceFault("timeout", "The server did not answer in time.")
        case MCPError() if error.code == REQUEST_TIMEOUT:
            return SourceFault("timeout", "The server did not answer in time.")
        case httpx2.TransportError() | anyio.ClosedResourceError() | anyio.BrokenResourceError() | OSError():
            return SourceFault("unreachable", "The connection to the server broke.")
        case ValidationError():
            where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"][:6])
            return SourceFault(
                "protocol", f"The server's answer is not as MCP has it (at {where or 'its root'})."
            )
        case _:
            return SourceFault("protocol", _GARBAGE)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _blanked(fault: SourceFault, target: Target) -> SourceFault:
    text = fault.message
    for value in sorted(target.secrets, key=len, reverse=True):
        text = text.replace(value, "***")
    return SourceFault(fault.kind, blank_secrets(text))
