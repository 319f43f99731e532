"""Request bodies in the media type that the description asks for: arguments in, bytes and a content type
out. Files come as `{ base64, filename?, contentType? }` or as text.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from ammeter.engines.compiler.model import Api, Body, Json
from ammeter.engines.compiler.shapes import object_parts, target
from ammeter.features.gateway.parameters import bad, deep, document, plain

_BYTES = "application/octet-stream"


def write_body(api: Api, body: Body, arguments: Mapping[str, Any]) -> tuple[bytes, str] | None:
    """None where there is nothing to send."""
    value = _value(body, arguments)
    if value is None and not body.required:
        return None
    arg = body.body_arg
    match body.kind:
        case "json":
            return _json(value), body.content_type
        case "form":
            return _form(body, _object(value, arg)).encode(), body.content_type
        case "multipart":
            boundary = secrets.token_hex(16)
            parts = _parts(api, body, _object(value, arg))
            kind = body.content_type.partition(";")[0].strip()
            return _multipart(parts, boundary), f"{kind}; boundary={boundary}"
        case "text":
            return plain(value).encode("utf-8", "replace"), body.content_type
        case "binary":
            content, told, _ = _file(value, arg)
            fixed = "*" not in body.content_type
            return content, body.content_type if fixed else _media_type(told) or _BYTES


def _value(body: Body, arguments: Mapping[str, Any]) -> Any:
    if body.args is None:
        return arguments.get(body.body_arg)
    given = {name: arguments[arg] for name, arg in body.args.items() if arg in arguments}
    return given if given or body.required else None


def _object(value: Any, arg: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad(arg, "an object is expected")
    return value


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair can only be sent escaped.
        return json.dumps(value, separators=(",", ":")).encode()


def _form(body: Body, value: Mapping[str, Any]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, part in value.items():
        how = body.encoding.get(name)
        how = how if isinstance(how, dict) else {}
        pairs += [(key, plain(item)) for key, item in _form_pairs(name, part, how)]
    return "&".join(f"{quote_plus(k, errors='replace')}={quote_plus(v, errors='replace')}" for k, v in pairs)


def _form_pairs(name: str, part: Any, how: Json) -> Iterator[tuple[str, Any]]:
    style, explode = how.get("style"), how.get("explode")
    if part is None:
        return
    if style == "deepObject":
        yield from deep(name, part)
    elif isinstance(part, list) and not any(isinstance(item, dict | list) for item in part):
        if explode is False:
            yield (
                name,
                {"spaceDelimited": " ", "pipeDelimited": "|"}.get(str(style), ",").join(map(plain, part)),
            )
        else:
            yield from ((name, item) for item in part)
    elif isinstance(part, dict) and style == "form" and explode is not False:
        yield from part.items()
    elif isinstance(part, dict | list):
        yield name, document(part)
    else:
        yield name, part


def _parts(api: Api, body: Body, value: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], bytes]]:
    properties, _ = object_parts(body.schema, api.schemas)
    for name, part in value.items():
        schema = target(properties.get(name, {}), api.schemas)
        how = body.encoding.get(name)
        told = str(how.get("contentType", "")) if isinstance(how, dict) else ""
        many = isinstance(part, list) and not told.endswith("json")
        for item in part if many else [part]:
            if item is not None:
                inner = target(schema.get("items", {}), api.schemas) if many else schema
                yield _part(name, item, inner, told)


def _part(name: str, item: Any, schema: Json, told: str) -> tuple[dict[str, str], bytes]:
    given = f'form-data; name="{_quoted(name)}"'
    is_file = schema.get("format") == "binary" or (
        isinstance(item, dict) and set(item) <= _FILE and "base64" in item
    )
    if is_file:
        content, kind, filename = _file(item, name)
        disposition = f'{given}; filename="{_quoted(filename or name)}"'
        return {
            "Content-Disposition": disposition,
            "Content-Type": _media_type(kind, told) or _BYTES,
        }, content
    if isinstance(item, dict | list):
        headers = {"Content-Disposition": given, "Content-Type": _media_type(told) or "application/json"}
        return headers, _json(item)
    headers = {"Content-Disposition": given}
    if _media_type(told):
        headers["Content-Type"] = _media_type(told)
    return headers, plain(item).encode("utf-8", "replace")


_FILE = {"base64", "filename", "contentType"}


def _multipart(parts: Iterator[tuple[dict[str, str], bytes]], boundary: str) -> bytes:
    out = bytearray()
    for headers, content in parts:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        out += f"--{boundary}\r\n{head}\r\n".encode() + content + b"\r\n"
    return bytes(out + f"--{boundary}--\r\n".encode())


def _file(value: Any, arg: str) -> tuple[bytes, str, str]:
    """Its bytes, and the media type and name that came with them."""
    if value is None:
        return b"", "", ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace"), "text/plain; charset=utf-8", ""
    if not isinstance(value, dict) or not isinstance(value.get("base64"), str):
        raise bad(arg, "text or { base64, filename?, contentType? } is expected")
    text = "".join(value["base64"].split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise bad(arg, "its base64 cannot be read") from None
    return content, str(value.get("contentType") or ""), str(value.get("filename") or "")


def _media_type(*candidates: str) -> str:
    """The first that can stand in a header as it is."""
    for told in candidates:
        if told and "*" not in told and "," not in told and told.isascii() and told.isprintable():
            return told
    return ""


def _quoted(text: str) -> str:
    """As browsers write names into a part's head."""
    text = "".join(c for c in text if c.isprintable() or c in "\r\n")
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
