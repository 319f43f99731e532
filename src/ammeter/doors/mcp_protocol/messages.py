"""MCP over HTTP as messages, for both of its eras on one path.

In comes a POST's headers and bytes; out goes a Message to answer, several of them, or a Refusal, which is a
JSON-RPC error with its HTTP status. The older era shakes hands (`initialize`) and may batch; since 2026-07-28
every request tells its version and client in `_meta`, and headers repeat what a proxy wants to know.
Tools, sessions and bundles are not known here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.base.errors import MalformedJson
from ammeter.doors.http.body import parse_json

MODERN = "2026-07-28"
HANDSHAKE = ("2025-03-26", "2025-06-18", "2025-11-25")
SUPPORTED = (MODERN, *reversed(HANDSHAKE))
_BATCHING = "2025-03-26"
_MAX_BATCH = 20

META = "io.modelcontextprotocol/"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

Id = str | int | None


class Refusal(Exception):
    def __init__(
        self, code: int, message: str, *, status: int = 200, data: Any = None, of: Id = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data
        self.id = of

    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    method: str
    params: dict[str, Any]
    version: str
    id: Id = None
    wants_answer: bool = True

    @property
    def is_modern(self) -> bool:
        return self.version == MODERN

    @property
    def meta(self) -> dict[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def read_messages(body: bytes, headers: Mapping[str, str]) -> tuple[list[Message], bool]:
    """What was asked, and whether it came as a batch. What needs no answer is among it, too."""
    try:
        value = parse_json(body)
    except MalformedJson as error:
        raise Refusal(PARSE_ERROR, error.message, status=400) from None
    told = _header(headers, "mcp-protocol-version")
    if isinstance(value, list):
        return _read_batch(value, told), True
    return [_read_one(value, told, headers)], False


def _read_batch(value: list[Any], told: str | None) -> list[Message]:
    if told not in (None, _BATCHING):
        raise Refusal(INVALID_REQUEST, f"MCP {told} has no batches; send one message a request.", status=400)
    if not 1 <= len(value) <= _MAX_BATCH:
        raise Refusal(INVALID_REQUEST, f"A batch holds 1 to {_MAX_BATCH} messages.", status=400)
    messages = [_read_shape(item, _BATCHING) for item in value]
    if any(message.method == "initialize" for message in messages):
        raise Refusal(INVALID_REQUEST, "initialize cannot be part of a batch.", status=400)
    return messages


def _read_one(value: Any, told: str | None, headers: Mapping[str, str]) -> Message:
    version = told or HANDSHAKE[0]
    message = _read_shape(value, version)
    inner = message.meta.get(META + "protocolVersion")
    if told in HANDSHAKE or (told is None and inner is None):
        return message
    if message.method == "initialize" and inner is None and told != MODERN:
        # A client may name a version in the header that is only being negotiated.
        return message
    if not message.wants_answer and inner is None:
        return message
    _check_modern(message, told, inner, headers)
    return message


def _read_shape(value: Any, version: str) -> Message:
    given = value.get("id") if isinstance(value, dict) else None
    known = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        told = 'A message is a JSON object with "jsonrpc": "2.0".'
        raise Refusal(INVALID_REQUEST, told, status=400, of=known)
    if "method" not in value and ("result" in value or "error" in value):
        # An answer to a question that this server never asks.
        return Message(method="", params={}, version=version, wants_answer=False)
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        raise Refusal(INVALID_REQUEST, 'A request names its "method".', status=400, of=known)
    if "id" in value and known is None:
        raise Refusal(INVALID_REQUEST, 'An "id" is a string or an integer.', status=400)
    if not isinstance(params, dict):
        raise Refusal(INVALID_PARAMS, '"params" is an object.', status=400, of=known)
    return Message(method=method, params=params, version=version, id=known, wants_answer="id" in value)


def _check_modern(message: Message, told: str | None, inner: Any, headers: Mapping[str, str]) -> None:
    if told is None:
        raise _mismatch(message, "MCP-Protocol-Version", None, inner)
    if inner is not None and inner != told:
        raise _mismatch(message, "MCP-Protocol-Version", told, inner)
    if told != MODERN:
        raise Refusal(
            UNSUPPORTED_VERSION,
            f"MCP {told[:40]} is not spoken here; {', '.join(SUPPORTED)} are.",
            status=400,
            data={"supported": list(SUPPORTED), "requested": told},
            of=message.id,
        )
    if inner is None or not isinstance(message.meta.get(META + "clientCapabilities"), dict):
        missing = "protocolVersion" if inner is None else "clientCapabilities"
        raise Refusal(INVALID_PARAMS, f"_meta lacks {META}{missing}.", status=400, of=message.id)
    if (method := _header(headers, "mcp-method")) != message.method:
        raise _mismatch(message, "Mcp-Method", method, message.method)
    if message.method == "tools/call":
        name = _header(headers, "mcp-name")
        if _decoded(name) != message.params.get("name"):
            raise _mismatch(message, "Mcp-Name", name, message.params.get("name"))


def _header(headers: Mapping[str, str], name: str) -> str | None:
    value = headers.get(name)
    return None if value is None else value.strip(" \t")


def _decoded(value: str | None) -> str | None:
    """A header's text; what does not fit into one comes as =?base64?…?=."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _mismatch(message: Message, header: str, told: Any, meant: Any) -> Refusal:
    text = f"The header {header} is {_shown(told)}, and the body says {_shown(meant)}."
    return Refusal(HEADER_MISMATCH, text, status=400, of=message.id)


def _shown(value: Any) -> str:
    return "absent" if value is None else repr(value)[:80]
