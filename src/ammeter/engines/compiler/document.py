"""A description as it was sent, text or object, becomes one plain JSON object whose version is known.

Comes in: JSON or YAML bytes or text, or a parsed object. Goes out: a Reading. Never raises for what a
document holds; `document is None` tells that nothing can be built from it. Absent: any look inside
beyond the version, and any other file or address.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.findings import Findings, pointer
from ammeter.engines.compiler.model import Finding
from ammeter.engines.compiler.yaml_text import Refused, parse_yaml

MAX_BYTES = 6 * 1024 * 1024
# The deepest of 315 public descriptions has 31 levels; at a few frames each, 128 fit Python's stack.
MAX_DEPTH = 128
# GitHub's whole description has some 400,000 values; without aliases 6 MB cannot say much more.
MAX_NODES = 1_000_000
# Paths are the longest keys that anyone writes; YAML itself stops at 1,024.
MAX_KEY_CHARS = 2_048

Version = Literal["2.0", "3.0", "3.1"]
_LARGEST = 1.7976931348623157e308
_LARGEST_INTEGER = int(_LARGEST)
_NUMBERED = re.compile(r"(\d+)\.(\d+)(\.\d+)?([-+].*)?")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    document: dict[str, Any] | None
    """None: nothing can be built; an error among the findings says why."""
    findings: tuple[Finding, ...]
    version: Version | None = None
    """Whose rules the document follows; None for a value that is no description, such as an overlay."""


def read_document(source: bytes | str | Mapping[str, Any], *, max_bytes: int = MAX_BYTES) -> Reading:
    """An OpenAPI or Swagger description."""
    reading = read_object(source, max_bytes=max_bytes)
    if reading.document is None:
        return reading
    findings = Findings()
    findings.extend(reading.findings)
    document = dict(reading.document)
    version = _version(document, findings)
    return Reading(document=document if version else None, findings=findings.all(), version=version)


def read_object(source: bytes | str | Mapping[str, Any], *, max_bytes: int = MAX_BYTES) -> Reading:
    """Any JSON object, such as an overlay, under the same limits as a description."""
    findings = Findings()
    try:
        value = _parse(source, findings, max_bytes)
        if not isinstance(value, dict):
            message = f"An object is expected at the top; this is {_kind(value)}."
            raise Refused("not_an_object", "", message)
        return Reading(document=value, findings=findings.all())
    except Refused as refusal:
        findings.error(refusal.code, refusal.where, refusal.message)
        return Reading(document=None, findings=findings.all())


def _parse(source: bytes | str | Mapping[str, Any], findings: Findings, max_bytes: int) -> Any:
    if isinstance(source, Mapping):
        return _Plain(findings, {}).value(source)
    text = _text(source, max_bytes)
    if not text.strip():
        raise Refused("empty", "", "The text is empty. Send an OpenAPI description as JSON or YAML.")
    if text.lstrip()[0] not in "{[":
        value = parse_yaml(text, findings, max_depth=MAX_DEPTH, max_nodes=MAX_NODES)
        return _Plain(findings, {}).value(value)
    try:
        value, repeated = _json(text)
    except (json.JSONDecodeError, RecursionError) as error:
        return _Plain(findings, {}).value(_braced_yaml(text, error, findings))
    return _Plain(findings, repeated).value(value)


def _json(text: str) -> tuple[Any, dict[int, tuple[dict[str, Any], list[str]]]]:
    """The value, and by identity the objects in which a key stood more than once."""
    repeated: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            repeated[id(found)] = (found, sorted({name for name in names if names.count(name) > 1}))
        return found

    return json.loads(text, object_pairs_hook=collect, parse_int=_integer), repeated


def _integer(digits: str) -> int | float:
    # Python refuses to read integers of more than 4,300 digits.
    return int(digits) if len(digits) <= 4_000 else float(digits)


def _braced_yaml(text: str, error: json.JSONDecodeError | RecursionError, findings: Findings) -> Any:
    """YAML may start with a brace too; where that fails as well, JSON is what was meant."""
    if isinstance(error, RecursionError):
        message = f"The document nests deeper than {MAX_DEPTH} levels."
        raise Refused("too_deep", "", message) from None
    try:
        value = parse_yaml(text, findings, max_depth=MAX_DEPTH, max_nodes=MAX_NODES)
    except Refused as refusal:
        if refusal.code != "yaml_syntax":
            raise
        at_end = not text[error.pos :].strip()
        cut = " The text ends in the middle; was it cut off?" if at_end else ""
        message = f"Line {error.lineno}, column {error.colno}: the text is not valid JSON: {error.msg}.{cut}"
        raise Refused("json_syntax", "", message) from None
    message = f"This is not quite JSON (line {error.lineno}: {error.msg}); it was read as YAML."
    findings.info("json_read_as_yaml", "", message)
    return value


def _text(source: bytes | str, max_bytes: int) -> str:
    if isinstance(source, str):
        try:
            size = len(source.encode())
        except UnicodeEncodeError as error:
            message = f"Character {error.start} is half a surrogate pair; the text is not valid Unicode."
            raise Refused("not_text", "", message) from None
    else:
        size = len(source)
    if size > max_bytes:
        message = f"The document has {size:,} bytes; at most {max_bytes:,} are taken."
        raise Refused("too_large", "", message)
    text = source if isinstance(source, str) else _decoded(source)
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise Refused(
            "not_text", "", "The document holds NUL characters: it is binary data, not JSON or YAML."
        )
    return text


def _decoded(source: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if source.startswith(mark)), None)
    if encoding is None:
        # A description starts with ASCII, so a zero byte beside the first character tells its width.
        widths = {b"\0": "utf-16-be", source[1:2]: "utf-8"}
        encoding = widths.get(source[:1], "utf-16-le" if source[1:2] == b"\0" else "utf-8")
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"Byte {error.start:,} is not {encoding.upper()} text. Send JSON or YAML as UTF-8."
        raise Refused("not_text", "", message) from None


class _Plain:
    """Copies a value into plain dicts and lists with string keys and finite numbers."""

    def __init__(self, findings: Findings, repeated: Mapping[int, tuple[dict[str, Any], list[str]]]) -> None:
        self._findings = findings
        self._repeated = repeated
        self._path: list[str | int] = []
        self._nodes = 0

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else self._string(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER else self._bounded(value)
        if kind is float:
            return value if math.isfinite(value) else self._bounded(value)
        if isinstance(value, Mapping | list | tuple):
            return self._container(value)
        message = f"A value of type {kind.__name__} is not JSON; its text is used."
        self._findings.warning("not_json", pointer(*self._path), message)
        return self._string(str(value))

    def _container(self, value: Any) -> Any:
        path = self._path
        self._nodes += 1 + len(value)
        if self._nodes > MAX_NODES:
            message = f"The document has more than {MAX_NODES:,} values."
            raise Refused("too_many_values", pointer(*path), message)
        if len(path) >= MAX_DEPTH:
            message = f"The document nests deeper than {MAX_DEPTH} levels."
            raise Refused("too_deep", pointer(*path), message)
        if isinstance(value, Mapping):
            return self._mapping(value)
        items = []
        path.append(0)
        for index, inner in enumerate(value):
            path[-1] = index
            items.append(self.value(inner))
        path.pop()
        return items

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        path = self._path
        if id(value) in self._repeated:
            for name in self._repeated[id(value)][1]:
                message = f"The key {name[:100]!r} stands here more than once; the last one is used."
                self._findings.error("duplicate_key", pointer(*path, name), message)
        found = {}
        path.append("")
        for key, inner in value.items():
            path[-1] = name = self._key(key)
            # Most values are short texts: no call for each of them.
            is_text = type(inner) is str and inner.isascii()
            found[name] = inner if is_text else self.value(inner)
        path.pop()
        return found

    def _key(self, key: Any) -> str:
        if type(key) is str and len(key) <= MAX_KEY_CHARS and key.isascii():
            return key
        name = key if type(key) is str else json.dumps(key) if isinstance(key, bool | None) else str(key)
        if len(name) > MAX_KEY_CHARS:
            message = f"A key has {len(name):,} characters; at most {MAX_KEY_CHARS:,} are taken."
            raise Refused("key_too_long", pointer(*self._path[:-1]), message)
        return name if name.isascii() else self._string(name)

    def _string(self, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            message = "Half a surrogate pair is not a character; it is replaced by '?'."
            self._findings.warning("lone_surrogate", pointer(*self._path), message)
            return value.encode("utf-8", "replace").decode()
        return value

    def _bounded(self, value: float) -> float | None:
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            self._findings.warning("not_a_number", pointer(*self._path), "NaN is not JSON; null is used.")
            return None
        message = "The number is beyond what a double can hold; the nearest one is used."
        self._findings.warning("number_out_of_range", pointer(*self._path), message)
        return _LARGEST if value > 0 else -_LARGEST


def _version(document: dict[str, Any], findings: Findings) -> Version | None:
    """Which rules the document follows; a number that should be a string is made one in place."""
    word = "openapi" if "openapi" in document else "swagger"
    if word not in document:
        seen = ", ".join(repr(key[:40]) for key in list(document)[:6]) or "nothing"
        guess = next((hint for key in document if (hint := did_you_mean(key, ("openapi", "swagger")))), "")
        message = f"The document names no version: 'openapi' or 'swagger' is expected, found {seen}.{guess}"
        findings.error("version_missing", "", message)
        return None
    given = document[word]
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = document[word] = str(float(given))
        findings.warning("version_not_a_string", f"/{word}", f"The version should be quoted: '{given}'.")
    numbers = _NUMBERED.fullmatch(given.strip()) if isinstance(given, str) else None
    series = f"{numbers[1]}.{numbers[2]}" if numbers else ""
    known: dict[tuple[str, str], Version] = {
        ("swagger", "2.0"): "2.0",
        ("openapi", "3.0"): "3.0",
        ("openapi", "3.1"): "3.1",
        ("openapi", "3.2"): "3.1",
    }
    version = known.get((word, series))
    if version is None:
        shown = repr(given)[:60] if not isinstance(given, dict | list) else _kind(given)
        message = f"'{word}' is {shown}; taken are swagger '2.0' and openapi '3.0.x', '3.1.x' and '3.2.x'."
        findings.error("version_unsupported", f"/{word}", message)
    elif series == "3.2":
        message = f"OpenAPI {given} is read by the rules of 3.1; what 3.2 added is not used."
        findings.info("version_newer", "/openapi", message)
    return version


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")
