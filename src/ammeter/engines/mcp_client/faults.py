"""Whatever the SDK raises, as one SourceFault in words; secrets that went along are blanked."""

from __future__ import annotations

import re
from collections.abc import Iterator

import anyio
import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from ammeter.base.logs import blank_secrets
from ammeter.engines.mcp_client.http import Seen, judged_status
from ammeter.engines.mcp_client.port import SourceFault, Target

# What the SDK makes up, as if the server had said it, where an answer was no message of the protocol. The
# codes do not tell the two apart.
_MADE_UP = re.compile(
    r"Server returned an error response$|Not Found$|Session terminated$|Connection closed$|SSE stream"
    r"|Failed to parse JSON|Redirect to |Unexpected content type|server answered|Request '.*' timed out$"
)
_GARBAGE = "The server answers, but not as an MCP server does; check that the base URL is its MCP endpoint."


def is_servers_own(error: MCPError) -> bool:
    """Whether the server itself sent this error, as an answer of the protocol."""
    return _MADE_UP.match(error.message) is None


def translated(error: BaseException, seen: Seen, target: Target) -> SourceFault:
    causes = list(_leaves(error))
    known = [cause for cause in causes if isinstance(cause, SourceFault)]
    own = [cause for cause in causes if isinstance(cause, MCPError) and is_servers_own(cause)]
    if known:
        fault = known[0]
    elif seen.fault is not None and (seen.fault.kind != "protocol" or not own):
        fault = seen.fault
    elif own:
        fault = SourceFault(
            "protocol", f"The server answers with error {own[0].code}: {own[0].message[:300]}"
        )
    else:
        fault = next((_one(cause) for cause in causes), SourceFault("protocol", _GARBAGE))
    return _blanked(fault, target)


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
