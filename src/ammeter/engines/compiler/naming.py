"""Names in the SDK: `client.<group>.<method>`, each a function of its own operation alone wherever that
gives no clash, so that an edit elsewhere in the description renames nothing.

Group: an extension, else the first tag, else the first noun of the path. Method: an extension, else the
operationId (without its group in front), else verb and nouns of the path. Of several operations that
claim one name, the shortest path keeps it and the others get their path's nouns behind it; order in the
document plays no part, nor do texts or deprecation.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.findings import Findings, shown
from ammeter.engines.compiler.model import Api, Operation

_GROUP_WORDS = ("x-ammeter-group", "x-speakeasy-group", "x-fern-sdk-group-name")
_METHOD_WORDS = ("x-ammeter-name", "x-speakeasy-name-override", "x-fern-sdk-method-name")
_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_AS_IT_IS = re.compile(r"[a-z][a-z0-9]*([A-Z][A-Za-z0-9]*)?")
_NO_WORD = re.compile(r"\W")
_VERSION = re.compile(r"v?\d+([._]\d+)*|api|rest", re.IGNORECASE)
_SEPARATOR = re.compile(r"[/._:]+")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Names that every JavaScript object has, or that change what `await` does with one.
_TAKEN = {
    *("constructor", "prototype", "__proto__", "then", "catch", "finally", "toString", "toJSON", "valueOf"),
    *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
}
_MAX_NAME = 80
_MAX_LONGER = 120
_MAX_TEXT = 500
_MAX_STEPS = 5

Extensions = Mapping[str, Mapping[str, Any]]
"""By pointer of the operation: the operation's own object in the document."""


def with_names(api: Api, extensions: Extensions, findings: Findings) -> Api:
    """The same API, every operation with its group and method name."""
    claimed: dict[tuple[str, ...], list[Operation]] = defaultdict(list)
    for operation in api.operations:
        raw = extensions.get(operation.pointer, {})
        group = _group(operation, raw, findings)
        claimed[(*group, _method(operation, raw, group, findings))].append(operation)
    names: dict[str, tuple[str, ...]] = {}
    used = _Used(claimed)
    for name, operations in sorted(claimed.items()):
        names.update(_told_apart(name, operations, used, findings))
    names = _not_groups(names)
    return replace(
        api,
        operations=tuple(
            replace(o, group=names[o.pointer][:-1], name=names[o.pointer][-1]) for o in api.operations
        ),
    )


def camel(words: Iterable[str]) -> str:
    parts = [word for word in words if word]
    if not parts:
        return ""
    first, *rest = parts
    return (first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in rest))[:_MAX_NAME]


def words_of(text: str) -> list[str]:
    # Compatible forms first: a superscript or a full-width letter is no letter of JavaScript's names.
    plain = unicodedata.normalize("NFKC", text[:_MAX_TEXT])
    return _WORDS.findall(_CAMEL.sub(" ", plain))


def named(text: str) -> str:
    """A name in camel case; one that is so already stays as it was written."""
    text = text.strip()
    name = text if _AS_IT_IS.fullmatch(text) else camel(words_of(text))
    return _identifier(name[:_MAX_NAME])


def _identifier(name: str) -> str:
    """A name that a script can write behind a dot and that means nothing else there; else nothing."""
    name = "".join(c for c in name if f"a{c}".isidentifier())
    name = name if not name or name.isidentifier() else f"_{name}"
    return f"{name}_" if name in _TAKEN else name


def _group(operation: Operation, raw: Mapping[str, Any], findings: Findings) -> tuple[str, ...]:
    for word in _GROUP_WORDS:
        if (given := raw.get(word)) is not None:
            steps = given if isinstance(given, list) else given.split(".") if isinstance(given, str) else []
            group = tuple(name for step in steps if isinstance(step, str) and (name := named(step)))
            if group:
                return group[:_MAX_STEPS]
            _pass_over(word, given, operation, findings)
    for tag in operation.tags[:1]:
        if name := named(tag):
            return (name,)
    return next(((name,) for noun in _nouns(operation.path) if (name := named(noun))), ("api",))


def _method(operation: Operation, raw: Mapping[str, Any], group: tuple[str, ...], findings: Findings) -> str:
    for word in _METHOD_WORDS:
        if (given := raw.get(word)) is not None:
            if isinstance(given, str) and (name := named(given)):
                return name
            _pass_over(word, given, operation, findings)
    given = raw.get("operationId")
    if isinstance(given, str) and (name := named(_own_words(given.strip(), operation, group))):
        return name
    return _identifier(camel([_verb(operation), *_tail(operation.path, group)]))


def _pass_over(word: str, given: Any, operation: Operation, findings: Findings) -> None:
    told = f"{word} {shown(given)} gives no name; it is passed over."
    findings.warning("unusable_name", operation.pointer, told)


def _own_words(given: str, operation: Operation, group: tuple[str, ...]) -> str:
    """An operationId without what only repeats its place: FastAPI puts path and method behind it."""
    place = f"{_NO_WORD.sub('_', operation.path)}_{operation.method}"
    if given.endswith(place) and words_of(given.removesuffix(place)):
        return given.removesuffix(place)
    return _without_group(given, group)


def _without_group(given: str, group: tuple[str, ...]) -> str:
    """`repos/list-for-org` in the group `repos` is `listForOrg`: only where the id itself sets it apart."""
    head, _, tail = _SEPARATOR.sub("/", given).partition("/")
    return tail if words_of(tail) and named(head) == group[-1] else given


def _verb(operation: Operation) -> str:
    to_one = operation.path.rstrip("/").endswith("}")
    return {"get": "get" if to_one else "list", "post": "create", "put": "replace", "patch": "update"}.get(
        operation.method, operation.method
    )


def _nouns(path: str) -> list[str]:
    segments = [_PLACEHOLDER.sub("", segment) for segment in re.split(r"[/?#]", path)]
    return [segment for segment in segments if words_of(segment) and not _VERSION.fullmatch(segment)]


def _tail(path: str, group: tuple[str, ...]) -> list[str]:
    nouns = _nouns(path)
    for size in range(1, min(len(nouns), 3) + 1):
        if named(" ".join(nouns[:size])) == group[-1]:
            nouns = nouns[size:]
            break
    return [word for noun in nouns for word in words_of(noun)]


class _Used:
    """Names that are given away, and a free one for who needs another."""

    def __init__(self, claimed: Iterable[tuple[str, ...]]) -> None:
        self._names = set(claimed)
        self._numbers: Counter[tuple[str, ...]] = Counter()

    def free(self, choices: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        first: tuple[str, ...] | None = None
        for choice in choices:
            if choice not in self._names:
                self._names.add(choice)
                return choice
            first = first or choice
        assert first is not None
        unique = first
        while unique in self._names:
            self._numbers[first] += 1
            unique = (*first[:-1], f"{first[-1]}{self._numbers[first] + 1}")
        self._names.add(unique)
        return unique


def _told_apart(
    name: tuple[str, ...], operations: list[Operation], used: _Used, findings: Findings
) -> dict[str, tuple[str, ...]]:
    """Operations that claim one name: the shortest path keeps it, the others say which they are."""
    first, *others = sorted(operations, key=lambda o: (len(o.path), o.path, o.method))
    names = {first.pointer: name}
    for operation in others:
        nouns = [word for noun in _nouns(operation.path) for word in words_of(noun)]
        by = [word for place in _PLACEHOLDER.findall(operation.path) for word in words_of(place)]
        choices = (nouns, [*nouns, "by", *by], [operation.method, *nouns], [operation.method, *nouns, *by])
        unique = used.free(_longer(name, choice) for choice in choices)
        names[operation.pointer] = unique
        message = f"{'.'.join(name)} is the name of several operations; this one is {'.'.join(unique)}."
        findings.info("name_clash", operation.pointer, message)
    return names


def _longer(name: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    tail = "".join(word[:1].upper() + word[1:].lower() for word in words)
    return (*name[:-1], _identifier((name[-1].rstrip("_") + tail)[:_MAX_LONGER]))


def _not_groups(names: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A method whose name is also a group's beside it gives way."""
    groups = {name[:size] for name in names.values() for size in range(1, len(name))}
    return {
        pointer: (*name[:-1], f"{name[-1]}_") if name in groups else name for pointer, name in names.items()
    }
