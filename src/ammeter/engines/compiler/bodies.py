"""Request bodies and answers of one operation: which media type is spoken, and how a script gives it.

A body that is an object gives its properties to the argument object, so that a script writes one flat
object; any other body is one argument named `body`. Of several media types the first in the order
JSON, form, multipart, text, binary is taken, and the others are named in a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ammeter.engines.compiler.findings import Findings, pointer
from ammeter.engines.compiler.model import Body, BodyKind, Json, Response, ResponseKind
from ammeter.engines.compiler.parameters import free_key, safe_key
from ammeter.engines.compiler.refs import Refs
from ammeter.engines.compiler.schemas import Schemas
from ammeter.engines.compiler.shapes import kinds, parts

_ORDER: tuple[BodyKind, ...] = ("json", "form", "multipart", "text", "binary")
_LINES_OF_JSON = ("ndjson", "jsonl", "jsonlines", "json-seq", "stream+json")
# Words of a choice that only says which fields go together: the fields themselves stand beside it.
_TOGETHER = {"required", "type", "title", "description"}


def read_body(
    raw: dict[str, Any], where: str, taken: set[str], refs: Refs, schemas: Schemas, findings: Findings
) -> Body | Literal["unreadable"] | None:
    if raw.get("requestBody") is None:
        return None
    here = f"{where}/requestBody"
    followed = refs.follow(raw["requestBody"], here)
    if followed is None:
        return "unreadable"
    given, _ = followed
    content = given.get("content")
    if not isinstance(content, dict) or not content:
        findings.warning("body_without_content", here, "The body has no media type; it is dropped.")
        return None
    content_type = _preferred(content)
    media = content[content_type] if isinstance(content[content_type], dict) else {}
    kind = body_kind(content_type)
    schema = schemas.read(media.get("schema"), here + pointer("content", content_type, "schema"))
    others = tuple(str(other) for other in content if other != content_type)
    if others:
        findings.info(
            "other_media_types",
            here,
            f"The body is sent as {content_type}; it could also be {', '.join(others)}.",
        )
    encoding = media.get("encoding")
    names = flat_properties(schema, schemas) if kind in ("json", "form", "multipart") else None
    return Body(
        content_type=_concrete(content_type, kind),
        kind=kind,
        required=given.get("required") is True,
        schema=schema,
        args=None if names is None else _args(names, taken, where, findings),
        body_arg="body" if "body" not in taken else free_key("request_body", taken),
        encoding=encoding if isinstance(encoding, dict) else {},
        description=str(given.get("description") or "").strip(),
        other_content_types=others,
    )


def body_kind(content_type: str) -> BodyKind:
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith(_LINES_OF_JSON):
        return "text"
    if kind in ("*/*", "application/*", "") or kind.endswith(("/json", "+json")) or "json" in kind:
        return "json"
    if kind == "application/x-www-form-urlencoded":
        return "form"
    if kind.startswith("multipart/"):
        return "multipart"
    if kind.startswith("text/") or kind.endswith(
        ("/xml", "+xml", "/yaml", "+yaml", "/graphql", "/javascript")
    ):
        return "text"
    return "binary"


def flat_properties(schema: Json, schemas: Schemas) -> list[str] | None:
    """The properties of a schema that is plainly one object; None where it is a choice or no object."""
    names: dict[str, None] = {}
    for part in parts(schema, schemas.find):
        if any(_is_choice(part.get(word, ())) for word in ("anyOf", "oneOf")):
            return None
        if [kind for kind in kinds(part) if kind != "null"] not in ([], ["object"]):
            return None
        if part.get("additionalProperties") not in (None, False):
            return None
        names.update(dict.fromkeys(part.get("properties", ())))
    return list(names) or None


def _is_choice(alternatives: Sequence[Json]) -> bool:
    return any(alternative.keys() - _TOGETHER for alternative in alternatives)


def _preferred(content: Mapping[str, Any]) -> str:
    return min(content, key=lambda content_type: _ORDER.index(body_kind(content_type)))


def _args(names: list[str], taken: set[str], where: str, findings: Findings) -> Mapping[str, str]:
    done: dict[str, str] = {}
    used = set(taken)
    for name in names:
        arg = safe_key(name, where, findings)
        if arg in used:
            arg = f"body_{arg}"
        arg = free_key(arg, used)
        used.add(arg)
        done[name] = arg
    return done


def read_responses(
    raw: dict[str, Any], where: str, refs: Refs, schemas: Schemas, findings: Findings
) -> tuple[Response, ...]:
    given = raw.get("responses")
    if not isinstance(given, dict) or not given:
        findings.warning(
            "no_responses", where, "The operation describes no answers; any answer is passed on."
        )
        return ()
    found: list[Response] = []
    for status, part in given.items():
        if str(status).startswith("x-"):
            continue
        here = f"{where}/responses" + pointer(status)
        followed = refs.follow(part, here)
        if followed is not None:
            found.append(_response(str(status), followed[0], here, schemas))
    return tuple(sorted(found, key=lambda response: response.status))


def _response(status: str, raw: dict[str, Any], where: str, schemas: Schemas) -> Response:
    status = status.upper() if status != "default" else status
    content = raw.get("content")
    description = str(raw.get("description") or "").strip()
    given = raw.get("headers")
    headers = tuple(sorted(str(name).lower() for name in given)) if isinstance(given, dict) else ()
    if not isinstance(content, dict) or not content:
        return Response(
            status=status,
            kind="none",
            content_type=None,
            schema=None,
            description=description,
            headers=headers,
        )
    content_type = _preferred(content)
    media = content[content_type] if isinstance(content[content_type], dict) else {}
    kind: ResponseKind = _RESPONSE_KINDS[body_kind(content_type)]
    schema = schemas.read(media.get("schema"), where + pointer("content", content_type, "schema"))
    return Response(
        status=status,
        kind=kind,
        content_type=content_type,
        schema=schema,
        description=description,
        headers=headers,
    )


_RESPONSE_KINDS: dict[BodyKind, ResponseKind] = {
    "json": "json",
    "form": "text",
    "multipart": "binary",
    "text": "text",
    "binary": "binary",
}


def _concrete(content_type: str, kind: BodyKind) -> str:
    return "application/json" if kind == "json" and "*" in content_type else content_type
