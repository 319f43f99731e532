"""Cards straight from an OpenAPI or Swagger document, as far as the search reads them, for the search
benchmark alone. No overlay, no names of an SDK, no examples: the compiler's own cards take its place.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import yaml

from ammeter.engines.compiler.model import Card, Method

METHODS = tuple(m for m in get_args(Method) if m in ("get", "put", "post", "delete", "patch"))
BODY_DEPTH, RESPONSE_DEPTH = 3, 2
BODY_LIMIT, RESPONSE_LIMIT = 400, 200
UNTOLD_HEADERS = frozenset({"authorization", "accept", "content-type", "x-api-key"})

Node = dict[str, Any]

_NOT_YAML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.2's booleans, and dates as they are written."""


_KEPT = {
    first: [(tag, exp) for tag, exp in pairs if not tag.endswith((":bool", ":timestamp"))]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.yaml_implicit_resolvers = _KEPT
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|false)$", re.IGNORECASE), list("tTfF")
)
_Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: loader.construct_scalar(node))


def read_document(path: Path) -> Node:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8")
    if text.lstrip().startswith("{"):
        return dict(json.loads(text))
    document = yaml.load(_NOT_YAML.sub("", text), Loader=_Loader)
    # Through JSON once, so that keys are strings as they are on the wire.
    return dict(json.loads(json.dumps(document, default=str)))


def cards_of(document: Node) -> list[Card]:
    read = _Document(document)
    cards = []
    for path, given in (document.get("paths") or {}).items():
        item = read.deref(given)
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                shared = item.get("parameters") or []
                cards.append(_card(read, method, path, operation, shared))
    return cards


def operation_key(card: Card) -> str:
    """As the query sets name an operation."""
    return f"{card.method.upper()} {card.path}"


def _card(read: _Document, method: Any, path: str, operation: Node, shared: list[Any]) -> Card:
    parameters: list[tuple[str, str]] = []
    body: dict[str, str] = {}
    body_types: dict[str, None] = {}
    enums: list[str] = []
    for given in [*shared, *(operation.get("parameters") or [])]:
        parameter = read.deref(given)
        name, place = parameter.get("name"), parameter.get("in")
        if not name:
            continue
        if place == "body":
            read.fields(parameter.get("schema") or {}, BODY_DEPTH, body, body_types, BODY_LIMIT)
        elif place == "formData":
            body[name] = _text(parameter.get("description"))
        elif place not in ("header", "cookie") or name.lower() not in UNTOLD_HEADERS:
            parameters.append((name, _text(parameter.get("description"))))
            choices = read.deref(parameter.get("schema") or parameter).get("enum") or []
            enums += [e for e in choices[:20] if isinstance(e, str)]
    content = read.deref(operation.get("requestBody") or {}).get("content") or {}
    for media in content.values():
        read.fields((media or {}).get("schema") or {}, BODY_DEPTH, body, body_types, BODY_LIMIT)
    answer: dict[str, str] = {}
    answer_types: dict[str, None] = {}
    for schema in read.answers(operation):
        read.fields(schema, RESPONSE_DEPTH, answer, answer_types, RESPONSE_LIMIT)
    tags = tuple(t for t in operation.get("tags") or [] if isinstance(t, str))
    operation_id = operation.get("operationId") or _made_id(method, path)
    return Card(
        operation_id=operation_id,
        sdk_name=f"{_camel(tags[0]) if tags else 'api'}.{_camel(operation_id)}",
        method=method,
        path=path,
        signature="",
        summary=_text(operation.get("summary")),
        example=None,
        deprecated=bool(operation.get("deprecated")),
        tags=tags,
        description=_text(operation.get("description")),
        parameter_texts=tuple(parameters),
        body_fields=tuple(body.items()),
        body_types=tuple(body_types),
        response_fields=tuple(answer),
        response_types=tuple(answer_types),
        enums=tuple(enums),
    )


class _Document:
    def __init__(self, document: Node) -> None:
        self.document = document

    def deref(self, node: Any) -> Node:
        for _ in range(10):
            if not isinstance(node, dict) or "$ref" not in node:
                break
            node = self._at(str(node["$ref"]))
        return node if isinstance(node, dict) else {}

    def _at(self, pointer: str) -> Any:
        node: Any = self.document if pointer.startswith("#/") else {}
        for step in pointer[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            node = node.get(key, {}) if isinstance(node, dict) else {}
        return node

    def answers(self, operation: Node) -> Iterator[Any]:
        responses = operation.get("responses") or {}
        good = [r for status, r in responses.items() if str(status).startswith("2")]
        for given in good or [r for status, r in responses.items() if status == "default"]:
            response = self.deref(given)
            yield response.get("schema") or {}
            for media in (response.get("content") or {}).values():
                yield (media or {}).get("schema") or {}

    def fields(
        self,
        schema: Any,
        depth: int,
        found: dict[str, str],
        types: dict[str, None],
        limit: int,
        above: tuple[str, ...] = (),
    ) -> None:
        if len(found) >= limit or not isinstance(schema, dict):
            return
        if "$ref" in schema:
            ref = str(schema["$ref"])
            if ref in above:
                return
            above = (*above, ref)
            types.setdefault(ref.rpartition("/")[2])
            schema = self.deref(schema)
        inner = [s for key in ("allOf", "oneOf", "anyOf") for s in schema.get(key) or []]
        inner += [schema.get("items"), schema.get("additionalProperties")]
        properties = schema.get("properties")
        for part in inner[:-1]:
            self.fields(part, depth, found, types, limit, above)
        for name, value in (properties if isinstance(properties, dict) else {}).items():
            if name not in found:
                found[name] = _text(self.deref(value).get("description"))
            if depth > 1:
                self.fields(value, depth - 1, found, types, limit, above)
        self.fields(inner[-1], depth, found, types, limit, above)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _made_id(method: str, path: str) -> str:
    return f"{method}_{re.sub(r'[^A-Za-z0-9]+', '_', path).strip('_')}"


def _camel(text: str) -> str:
    first, *rest = [str(word) for word in re.findall(r"[A-Za-z0-9]+", text)] or ["x"]
    return first[:1].lower() + first[1:] + "".join(word[:1].upper() + word[1:] for word in rest)
