"""An operation and checked arguments in, the request to send out: method, URL, headers, body.

Credentials are absent: they are attached when all of this is settled, and no argument can take their place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from ammeter.engines.compiler.model import Operation, Parameter
from ammeter.engines.egress.port import Request
from ammeter.features.gateway.bodies import write_body
from ammeter.features.gateway.parameters import in_cookie, in_header, in_path, in_query
from ammeter.features.gateway.served import ServedApi

IDEMPOTENCY_HEADERS = ("idempotency-key", "x-idempotency-key")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LITERAL = "/:@!$&'()*+,;=-._~%"


def build_request(served: ServedApi, operation: Operation, arguments: Mapping[str, Any]) -> Request:
    """BadArgument where a value cannot be sent."""
    given = {p.arg: p for p in operation.parameters if arguments.get(p.arg) is not None}
    headers = _headers(operation, given, arguments)
    written = write_body(served.api, operation.body, arguments) if operation.body is not None else None
    if written is not None:
        headers.append(("Content-Type", written[1]))
    key = _idempotency_key(operation)
    if key is not None and key.arg not in given:
        headers.append((key.name, str(uuid4())))
    return Request(
        method=operation.method.upper(),
        url=served.base_url.rstrip("/") + _path(operation, arguments) + _query(operation, given, arguments),
        headers=tuple(headers),
        body=written[0] if written is not None else None,
        repeatable=operation.is_idempotent or key is not None,
    )


def _path(operation: Operation, arguments: Mapping[str, Any]) -> str:
    parameters = {p.name: p for p in operation.parameters if p.location == "path"}
    # Some descriptions tell operations of one path apart by a fragment; it is never sent.
    template = operation.path.partition("#")[0].partition("?")[0]
    written, at = "", 0
    for found in _PLACEHOLDER.finditer(template):
        written += quote(template[at : found.start()], safe=_LITERAL)
        parameter = parameters.get(found[1])
        if parameter is not None:
            written += in_path(parameter, arguments.get(parameter.arg, ""))
        at = found.end()
    return written + quote(template[at:], safe=_LITERAL)


def _query(operation: Operation, given: Mapping[str, Parameter], arguments: Mapping[str, Any]) -> str:
    literal = operation.path.partition("#")[0].partition("?")[2]
    parts = [quote(literal, safe=_LITERAL)] if literal else []
    for arg, parameter in given.items():
        if parameter.location == "query":
            parts += in_query(parameter, arguments[arg])
    return "?" + "&".join(parts) if parts else ""


def _headers(
    operation: Operation, given: Mapping[str, Parameter], arguments: Mapping[str, Any]
) -> list[tuple[str, str]]:
    headers = [("Accept", _accept(operation))]
    cookies: list[str] = []
    for arg, parameter in given.items():
        if parameter.location == "header":
            headers.append((parameter.name, in_header(parameter, arguments[arg])))
        elif parameter.location == "cookie":
            cookies.append(in_cookie(parameter, arguments[arg]))
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    return headers


def _accept(operation: Operation) -> str:
    success = operation.success
    told = success.content_type if success is not None else None
    if told is None or not told.isascii() or not told.isprintable() or "*" in told:
        return "application/json, */*;q=0.5"
    rest = "" if told.startswith("application/json") else ", application/json;q=0.9"
    return f"{told}{rest}, */*;q=0.5"


def _idempotency_key(operation: Operation) -> Parameter | None:
    if operation.method not in ("post", "patch"):
        return None
    for parameter in operation.parameters:
        if parameter.location == "header" and parameter.name.lower() in IDEMPOTENCY_HEADERS:
            return parameter
    return None
