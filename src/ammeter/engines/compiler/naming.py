"""Names in the SDK: `client.<group>.<method>`, each a function of its own operation alone wherever that
gives no clash, so that an edit elsewhere in the description renames nothing.

Group: an extension, else the first tag, else the first noun of the path. Method: an extension, else the
operationId (without its group in front), else verb and nouns of the path. Of several operations that
claim one name, each gets its path's nouns behind it; order in the document plays no part.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api, Operation

_GROUP_WORDS = ("x-ammeter-group", "x-speakeasy-group", "x-fern-sdk-group-name")
_METHOD_WORDS = ("x-ammeter-name", "x-speakeasy-name-override", "x-fern-sdk-method-name")
_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VERSION = re.compile(r"v?\d+([._]\d+)*|api|rest", re.IGNORECASE)
_SEPARATOR = re.compile(r"[/._:]+")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Names that every JavaScript object has, or that change what `await` does with one.
_TAKEN = {
    *("constructor", "prototype", "__proto__", "then", "catch", "finally", "toString", "toJSON", "valueOf"),
    *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
}
_MAX_NAME = 80

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
    for name, operations in sorted(claimed.items()):
        if len(operations) == 1:
            names[operations[0].pointer] = name
        else:
            names.update(_told_apart(name, operations, set(claimed), findings))
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
    return _WORDS.findall(_CAMEL.sub(" ", text))


def _identifier(name: str) -> str:
    name = f"_{name}" if name[:1].isdigit() else name
    return f"{name}_" if name in _TAKEN else name


def _group(operation: Operation, raw: Mapping[str, Any], findings: Findings) -> tuple[str, ...]:
    for word in _GROUP_WORDS:
        if (given := raw.get(word)) is not None:
            steps = given if isinstance(given, list) else str(given).split(".")
            group = tuple(_identifier(name) for step in steps if (name := camel(words_of(str(step)))))
            if group:
                return group
            findings.warning(
                "unusable_name", operation.pointer, f"{word} {given!r} gives no name; it is passed over."
            )
    for tag in operation.tags[:1]:
        if name := camel(words_of(tag)):
            return (_identifier(name),)
    nouns = _nouns(operation.path)
    return (_identifier(camel(words_of(nouns[0]))) if nouns else "api",)


def _method(operation: Operation, raw: Mapping[str, Any], group: tuple[str, ...], findings: Findings) -> str:
    for word in _METHOD_WORDS:
        if (given := raw.get(word)) is not None:
            if name := camel(words_of(str(given))):
                return _identifier(name)
            findings.warning(
                "unusable_name", operation.pointer, f"{word} {given!r} gives no name; it is passed over."
            )
    given = raw.get("operationId")
    if isinstance(given, str) and words_of(given):
        return _identifier(camel(_without_group(given, group)))
    return _identifier(camel([_verb(operation), *_tail(operation.path, group)]))


def _without_group(given: str, group: tuple[str, ...]) -> list[str]:
    """`repos/list-for-org` in the group `repos` is `listForOrg`: only where the id itself sets it apart."""
    head, _, tail = _SEPARATOR.sub("/", given).partition("/")
    rest = words_of(tail)
    return rest if rest and camel(words_of(head)) == group[-1] else words_of(given)


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
    if nouns and camel(words_of(nouns[0])) == group[-1]:
        nouns = nouns[1:]
    return [word for noun in nouns for word in words_of(noun)]


def _told_apart(
    name: tuple[str, ...], operations: list[Operation], taken: set[tuple[str, ...]], findings: Findings
) -> dict[str, tuple[str, ...]]:
    """Operations that claim one name: the shortest path keeps it, the others say which they are."""
    ordered = sorted(operations, key=lambda o: (o.deprecated, len(o.path), o.path, o.method))
    names = {ordered[0].pointer: name}
    used = set(taken)
    for operation in ordered[1:]:
        nouns = [word for noun in _nouns(operation.path) for word in words_of(noun)]
        by = [word for place in _PLACEHOLDER.findall(operation.path) for word in words_of(place)]
        choices = (nouns, [*nouns, "by", *by], [operation.method, *nouns], words_of(operation.id))
        longer = next((n for c in choices if (n := _longer(name, c)) not in used), _longer(name, nouns))
        number = 2
        unique = longer
        while unique in used:
            unique, number = (*longer[:-1], f"{longer[-1]}{number}"), number + 1
        used.add(unique)
        names[operation.pointer] = unique
        message = f"{'.'.join(name)} is the name of several operations; this one is {'.'.join(unique)}."
        findings.info("name_clash", operation.pointer, message)
    return names


def _longer(name: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    return (*name[:-1], _identifier(camel([*words_of(name[-1]), *words])))


def _not_groups(names: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A method whose name is also a group's beside it gives way."""
    groups = {name[:size] for name in names.values() for size in range(1, len(name))}
    return {
        pointer: (*name[:-1], f"{name[-1]}_") if name in groups else name for pointer, name in names.items()
    }
