"""Descriptions to measure with: read by a plain JSON or YAML parser, never by the compiler, so that what the
compiler makes of them can be held against it; and smaller ones cut out of a large one.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import BaseUrl, Manifest

Node = dict[str, Any]

METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options", "trace"})
BESIDE_METHODS = frozenset({"parameters", "servers", "summary", "description", "$ref"})

LARGEST_BYTES = 100_000_000
# Some descriptions tell no whole address; none is called here.
MANIFEST = Manifest(base_urls=(BaseUrl(url="https://api.example.com"),))

# Control characters, and tabs on lines that are blank otherwise.
_NOT_YAML = re.compile("(?m)[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|^[ \t]*\t[ \t]*$")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.2's booleans, and dates as they are written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, exp) for tag, exp in pairs if not tag.endswith((":bool", ":timestamp"))]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|false)$", re.IGNORECASE), list("tTfF")
)
_Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: loader.construct_scalar(node))


def raw_bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def plain_load(raw: bytes) -> Node:
    text = raw.decode("utf-8-sig")
    if text.lstrip().startswith("{"):
        return dict(json.loads(text))
    document = yaml.load(_NOT_YAML.sub("", text), Loader=_Loader)
    # Through JSON once, so that keys are strings as they are on the wire.
    return dict(json.loads(json.dumps(document, default=str)))


def described(raw: bytes) -> Description:
    return Description(openapi=raw, manifest=MANIFEST, max_bytes=LARGEST_BYTES)


def compiled(raw: bytes) -> Bundle:
    """A description that must give a bundle, as the compiler alone makes it."""
    done = compile_description(described(raw))
    if done.bundle is None:
        raise SystemExit(f"the description gives no bundle: {done.findings[-1].message}")
    return done.bundle


def operations_in(document: Node) -> Iterator[tuple[str, str]]:
    """Path and key of everything under `paths` that is, or wants to be, an operation."""
    paths = document.get("paths")
    for path, given in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-") or not isinstance(given, dict):
            continue
        item = {**_at(document, given.get("$ref")), **given}
        for key, value in item.items():
            if key.lower() in METHODS or (
                isinstance(value, dict) and key not in BESIDE_METHODS and not key.startswith("x-")
            ):
                yield path, key


def subset(document: Node, count: int) -> Node:
    """The first so many operations of every so many, with the components that they refer to."""
    every = list(operations_in(document))
    kept = {every[i * len(every) // count] for i in range(min(count, len(every)))}
    paths: Node = {}
    for path, item in document["paths"].items():
        inner = {
            key: value for key, value in item.items() if key.lower() not in METHODS or (path, key) in kept
        }
        if any(key.lower() in METHODS for key in inner):
            paths[path] = inner
    top = {key: value for key, value in document.items() if not key.startswith("x-") and key != "webhooks"}
    return {**top, "paths": paths, "components": _referred(document, paths)}


def _referred(document: Node, paths: Node) -> Node:
    components = document.get("components") or {}
    kept: Node = {"securitySchemes": components.get("securitySchemes") or {}}
    seen: set[str] = set()
    todo: list[Any] = [paths]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += part
        elif isinstance(part, dict):
            todo += part.values()
            ref = part.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/components/") and ref not in seen:
                seen.add(ref)
                _, _, kind, name, *_ = (_unescaped(step) for step in ref.split("/"))
                if name in components.get(kind, {}):
                    kept.setdefault(kind, {})[name] = components[kind][name]
                    todo.append(components[kind][name])
    return kept


def _at(document: Node, ref: Any) -> Node:
    node: Any = document if isinstance(ref, str) and ref.startswith("#/") else {}
    for step in ref[2:].split("/") if isinstance(ref, str) else ():
        node = node.get(_unescaped(step), {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
