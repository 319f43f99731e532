"""YAML text becomes plain values: dict with string keys, list, str, int, float, bool, None.

Scalars are read by the YAML 1.2 core schema: no dates, no sexagesimal numbers, no yes and no. Aliases
are copied by value within a budget of nodes. Tags beyond the core schema are refused, so no text can
make an object. What cannot be read at all raises `Refused`; what can be, but not as written, is a finding.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import yaml

from ammeter.engines.compiler.findings import Findings, pointer

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML without libyaml: some twenty times slower, the same events
    from yaml import BaseLoader as _Parser  # type: ignore[assignment]

_CORE = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("-+.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_MAX_DIGITS = 4000
# Two slips of real descriptions that YAML forbids and that carry no meaning.
_CONTROL = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TABBED_BLANK = re.compile(r"(?m)^[ \t]*\t[ \t]*$")
_SEEN_LIMIT = 20_000
_PENDING = object()


class Refused(Exception):
    """The text gives no value; carries the finding that says why."""

    def __init__(self, code: str, where: str, message: str) -> None:
        super().__init__(message)
        self.code, self.where, self.message = code, where, message


def parse_yaml(text: str, findings: Findings, *, max_depth: int, max_nodes: int) -> Any:
    try:
        return _Reader(text, Findings(), max_depth, max_nodes).told_to(findings)
    except yaml.YAMLError as error:
        repaired = _TABBED_BLANK.sub("", _CONTROL.sub("\ufffd", text))
        if repaired == text:
            raise Refused("yaml_syntax", "", _told(error, text)) from None
    try:
        value = _Reader(repaired, Findings(), max_depth, max_nodes).told_to(findings)
    except yaml.YAMLError as error:
        raise Refused("yaml_syntax", "", _told(error, text)) from None
    message = "Control characters, or tabs on blank lines, are not valid in YAML; they were replaced."
    findings.warning("text_repaired", "", message)
    return value


def core_scalar(text: str) -> Any:
    """What a plain scalar stands for in the core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MAX_DIGITS else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text) and len(text) <= _MAX_DIGITS:
        return int(text, 0)
    if infinite := _INFINITE.fullmatch(text):
        return float(infinite[1] + "inf")
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text


class _Reader:
    def __init__(self, text: str, findings: Findings, max_depth: int, max_nodes: int) -> None:
        self._next = _Parser(text).get_event
        self._findings = findings
        self._max_depth, self._max_nodes = max_depth, max_nodes
        self._nodes = 0
        self._path: list[str | int] = []
        self._anchors: dict[str, Any] = {}
        self._scalars: dict[str, Any] = {}

    def told_to(self, findings: Findings) -> Any:
        """The value; what was found is told only of a text that could be read to its end."""
        value = self._stream()
        findings.extend(self._findings.all())
        return value

    def _stream(self) -> Any:
        self._next()
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            raise Refused("empty", "", "The text holds no document, only blanks or comments.")
        value = self._node(self._next())
        self._next()
        while isinstance(self._next(), yaml.DocumentStartEvent):
            event = self._next()
            if not (isinstance(event, yaml.ScalarEvent) and event.value == ""):
                message = "The text holds several YAML documents; send one of them."
                raise Refused("several_documents", "", message)
            self._next()
        return value

    def _node(self, event: Any) -> Any:
        self._nodes += 1
        if self._nodes > self._max_nodes:
            self._too_many()
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = value
            return value
        if kind is yaml.AliasEvent:
            return self._copy(self._anchored(event), len(self._path))
        if len(self._path) >= self._max_depth:
            message = f"The document nests deeper than {self._max_depth} levels."
            raise Refused("too_deep", pointer(*self._path), message)
        mapping = kind is yaml.MappingStartEvent
        self._check_tag(event, "map" if mapping else "seq")
        if event.anchor:
            self._anchors[event.anchor] = _PENDING
        value = self._mapping() if mapping else self._sequence()
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _sequence(self) -> list[Any]:
        items: list[Any] = []
        path = self._path
        path.append(0)
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            path[-1] = len(items)
            items.append(self._node(event))
        path.pop()
        return items

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: list[tuple[Any, str]] = []
        path = self._path
        path.append("")
        while type(event := self._next()) is not yaml.MappingEndEvent:
            key = self._key(event)
            path[-1] = "" if key is None else key
            is_merge = key == "<<" and type(event) is yaml.ScalarEvent and event.implicit[0]
            value = self._node(self._next())
            if key is None:
                message = "A key here is not a string; its entry is left out. Quote it if it is text."
                self._findings.error("yaml_key", pointer(*path[:-1]), message)
            elif is_merge:
                merged.append((value, pointer(*path)))
            else:
                if key in found:
                    message = f"The key {key[:100]!r} stands here more than once; the last one is used."
                    self._findings.error("duplicate_key", pointer(*path), message)
                found[key] = value
        path.pop()
        for value, where in merged:
            self._merge(found, value, where)
        return found

    def _merge(self, found: dict[str, Any], value: Any, where: str) -> None:
        sources = value if isinstance(value, list) else [value]
        for source in sources:
            if not isinstance(source, dict):
                message = "A merge key '<<' takes a mapping or a list of mappings; this one is left out."
                self._findings.error("yaml_merge", where, message)
                continue
            for key, inner in source.items():
                found.setdefault(key, inner)

    def _key(self, event: Any) -> str | None:
        """The key as it was written, so that `200:` is "200"; None for a list or an object as key."""
        if type(event) is yaml.ScalarEvent:
            self._check_tag(event, "")
            if event.anchor:
                self._anchors[event.anchor] = event.value
            return str(event.value)
        if type(event) is yaml.AliasEvent:
            value = self._anchored(event)
            return value if isinstance(value, str) else None
        self._node(event)
        return None

    def _scalar(self, event: Any) -> Any:
        tag, text = event.tag, event.value
        if tag is None:
            if not event.implicit[0]:
                return text
            if text in self._scalars:
                return self._scalars[text]
            value = core_scalar(text)
            if len(self._scalars) < _SEEN_LIMIT:
                self._scalars[text] = value
            return value
        self._check_tag(event, "")
        if tag in ("!", _CORE + "str", _CORE + "timestamp", _CORE + "binary"):
            return text
        value = core_scalar(text)
        if tag == _CORE + "float" and type(value) is int:
            return float(value)
        return value

    def _check_tag(self, event: Any, collection: str) -> None:
        tag = event.tag
        if tag is None or tag == "!" or (collection and tag == _CORE + collection):
            return
        if not collection and tag.removeprefix(_CORE) in _SCALAR_TAGS and tag.startswith(_CORE):
            return
        shown = tag.replace(_CORE, "!!", 1)[:100]
        message = f"The YAML tag {shown!r} is not taken; write the value plainly, without a tag."
        raise Refused("yaml_tag", pointer(*self._path), message)

    def _anchored(self, event: Any) -> Any:
        value = self._anchors.get(event.anchor, None)
        if value is _PENDING:
            message = f"The alias '*{event.anchor[:100]}' stands within what it repeats."
            raise Refused("yaml_alias", pointer(*self._path), message)
        if event.anchor not in self._anchors:
            message = f"The alias '*{event.anchor[:100]}' has no anchor before it."
            raise Refused("yaml_alias", pointer(*self._path), message)
        return value

    def _copy(self, value: Any, depth: int) -> Any:
        if not isinstance(value, dict | list):
            return value
        self._nodes += len(value)
        if self._nodes > self._max_nodes:
            self._too_many()
        if depth >= self._max_depth:
            message = f"With its aliases the document nests deeper than {self._max_depth} levels."
            raise Refused("too_deep", pointer(*self._path), message)
        if isinstance(value, dict):
            return {key: self._copy(inner, depth + 1) for key, inner in value.items()}
        return [self._copy(inner, depth + 1) for inner in value]

    def _too_many(self) -> NoReturn:
        message = (
            f"With its aliases the document has more than {self._max_nodes:,} values. "
            "Use fewer aliases, or $ref."
        )
        raise Refused("too_many_values", pointer(*self._path), message)


_SCALAR_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "binary", "merge"})


def _told(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read")
    place = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    if "cannot start any token" in problem and mark is not None:
        line = text.split("\n", mark.line + 1)[mark.line]
        character = line[mark.column : mark.column + 1]
        problem = (
            "a tab indents; only spaces may" if character == "\t" else f"{character!r} must be quoted here"
        )
    if "control characters" in problem or "special characters" in problem:
        problem = "a control character stands in the text; it may be binary data"
    return f"{place}the text is not valid YAML: {problem[:300]}."
