"""What an API answered, as a script gets it: JSON, text or bytes as the description promises, and a fault
for every status that is no success. Known credential values are taken out on the way.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ammeter.engines.compiler.model import Operation, Response
from ammeter.engines.egress.port import Answer
from ammeter.features.gateway.strip import Stripper

MAX_DEPTH = 200
_MAX_FAULT_BODY = 64 * 1024
_MAX_FAULT_TEXT = 4_000
_MAX_MESSAGE = 500
# Numbers such as 1e400, which are infinite here and nothing in JSON.
_HUGE = re.compile(rb"\d[eE]\+?\d{3}")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT_TYPES = (
    *("text/", "application/xml", "application/yaml", "application/x-yaml", "application/javascript"),
    *("application/graphql", "application/x-www-form-urlencoded", "application/x-ndjson"),
)
_CHARSET = re.compile(r"(?i)charset=\"?([A-Za-z0-9._-]{1,40})")
_FILENAME = re.compile(r"(?i)filename\*?=(?:UTF-8'[^']*')?\"?([^\";]{1,200})")
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[A-Za-z*-]+\s*=\s*(?:\"[^\"]*\"|[^\s\";,]+))*)")
_REL = re.compile(r"(?i);\s*rel\s*=\s*\"?([^\";]*)\"?")
_REQUEST_IDS = (
    *("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-amz-request-id"),
    *("x-trace-id", "cf-ray"),
)
_CODES = ("code", "error_code", "errorCode", "reason", "type", "status")
_MESSAGES = (
    "message",
    "error_description",
    "detail",
    "title",
    "description",
    "msg",
    "error_message",
    "Message",
)


def _finite(text: str) -> float | None:
    value = float(text)
    return value if abs(value) != float("inf") else None


# NaN and its kin are no JSON; an API that sends them means that there is no number.
_PLAIN = json.JSONDecoder(parse_constant=lambda _: None)
_FINITE = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)


class Unreadable(Exception):
    """The answer is not what it says it is, in words."""


def is_success(status: int) -> bool:
    return 200 <= status < 300


def read_body(operation: Operation, answer: Answer, strip: Stripper) -> Any:
    """The body of a success, as the SDK's declarations type it."""
    if not answer.body or operation.method == "head" or answer.status in (204, 205):
        return None
    kind, told = _kind_of(operation, answer.status), answer.content_type
    if kind == "binary":
        return _binary(answer, strip)
    if kind == "text":
        return strip.text(_text(answer))
    if told.endswith(("/json", "+json")):
        return read_json(answer.body, strip)
    if kind == "json" or not told:
        try:
            return read_json(answer.body, strip)
        except Unreadable:
            pass
    if told.startswith(_TEXT_TYPES) or told.endswith("+xml") or (not told and _is_text(answer.body)):
        return strip.text(_text(answer))
    return _binary(answer, strip)


def read_fault(operation: Operation, answer: Answer, strip: Stripper) -> dict[str, Any]:
    """What the script's `ApiError` is made of."""
    body = _fault_body(answer, strip)
    code, message = fault_words(body)
    what = f"{operation.method.upper()} {operation.path} answered {answer.status}"
    if 300 <= answer.status < 400 and not message:
        message = "a redirect that leads nowhere" if answer.status != 304 else "not modified"
    told = f"{what}: {message}" if message else what
    return {
        "message": strip.text(told[:_MAX_MESSAGE]),
        "status": answer.status,
        "code": code,
        "body": body,
        "requestId": request_id(answer.headers, strip),
    }


def read_json(raw: bytes, strip: Stripper) -> Any:
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_too_deep(raw):
        raise Unreadable(f"The API's answer is nested more than {MAX_DEPTH} levels deep.")
    decoder = _FINITE if _HUGE.search(raw) else _PLAIN
    try:
        value = decoder.decode(raw.decode(json.detect_encoding(raw), "surrogatepass"))
    except (ValueError, RecursionError):
        raise Unreadable("The API's answer says that it is JSON and is not.") from None
    return value if strip.is_clean(raw) else strip.json(value)


def next_link(answer: Answer) -> str | None:
    """Where the Link header says that the next page is."""
    for found in _LINK.finditer(answer.headers.get("link", "")):
        rel = _REL.search(found[2])
        if rel is not None and "next" in rel[1].lower().split():
            return found[1]
    return None


def request_id(headers: Mapping[str, str], strip: Stripper) -> str | None:
    found = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
    return strip.text(found[:200]) if found else None


def fault_words(body: Any) -> tuple[str | None, str]:
    """The code and the message in an error's body, by the shapes that APIs use."""
    if isinstance(body, str):
        return None, " ".join(body.split())[:300] if not body.lstrip().startswith("<") else ""
    places = [body]
    if isinstance(body, dict):
        errors = body.get("errors")
        places = [body.get("error"), errors[0] if isinstance(errors, list) and errors else errors, body]
    code, message = None, ""
    for place in places:
        if isinstance(place, str):
            # OAuth's way: the code is the error itself.
            code, message = (code or place, message) if _is_word(place) else (code, message or place)
        if isinstance(place, dict):
            code = code or _first(place, _CODES)
            message = message or _first(place, _MESSAGES) or ""
    return (code[:100] if code else None), message[:300]


def _first(place: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = place.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if name in ("code", "error_code", "errorCode") and isinstance(value, int) and value is not True:
            return str(value)
    return None


def _is_word(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", text) is not None


def _fault_body(answer: Answer, strip: Stripper) -> Any:
    if not answer.body:
        return None
    if len(answer.body) <= _MAX_FAULT_BODY:
        try:
            return read_json(answer.body, strip)
        except Unreadable:
            pass
    if not _is_text(answer.body[:1024]):
        return None
    text = strip.text(_text(answer))
    return text if len(text) <= _MAX_FAULT_TEXT else text[: _MAX_FAULT_TEXT - 1] + "…"


def _kind_of(operation: Operation, status: int) -> str | None:
    response = _described(operation, status) or operation.success
    return response.kind if response is not None and response.kind != "none" else None


def _described(operation: Operation, status: int) -> Response | None:
    by_status = {response.status: response for response in operation.responses}
    for name in (str(status), f"{status // 100}XX", "default"):
        if name in by_status:
            return by_status[name]
    return None


def _binary(answer: Answer, strip: Stripper) -> dict[str, Any]:
    value = {"base64": base64.b64encode(strip.bytes(answer.body)).decode()}
    if answer.content_type:
        value["contentType"] = strip.text(answer.content_type[:200])
    found = _FILENAME.search(answer.headers.get("content-disposition", ""))
    if found is not None:
        name = unquote(found[1].strip()).replace("\\", "/").rpartition("/")[2]
        value["filename"] = strip.text("".join(c for c in name if c.isprintable()))
    return value


def _text(answer: Answer) -> str:
    told = _CHARSET.search(answer.headers.get("content-type", ""))
    try:
        return answer.body.decode(told[1] if told else "utf-8", "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter may be cut in two at the end.
        return error.start >= len(raw) - 3 and b"\0" not in raw
    return b"\0" not in raw


def _is_too_deep(raw: bytes) -> bool:
    """Whether brackets stand in each other more than MAX_DEPTH deep. Innermost pairs are taken out again
    and again: as many times as there are levels, each at the speed of a copy."""
    rest = _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not rest:
            return False
        rest = rest.replace(b"[]", b"").replace(b"{}", b"")
    return bool(rest)
