"""The rules on an operation as a whole: its name, its address, its credentials; and which operations of two
descriptions are the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

from ammeter.engines.compiler.diff.arguments import normalised_path
from ammeter.engines.compiler.diff.literals import key_of
from ammeter.engines.compiler.diff.model import Change, change_of
from ammeter.engines.compiler.diff.registry import RULES
from ammeter.engines.compiler.model import Api, Json, Operation

Matched = tuple[list[tuple[Operation, Operation]], list[Operation], list[Operation]]


def matched_operations(old: tuple[Operation, ...], new: tuple[Operation, ...]) -> Matched:
    """Pairs, those that are gone, those that are new: by method and path, by operationId, by sdk name."""
    olds, news = list(old), list(new)
    pairs: list[tuple[Operation, Operation]] = []
    for key in (_address_and_id, _address, _id, _sdk_name):
        pairs += _pair_by(key, olds, news)
    return pairs, olds, news


def _pair_by(
    key: Callable[[Operation], Hashable], olds: list[Operation], news: list[Operation]
) -> list[tuple[Operation, Operation]]:
    by_key: dict[Hashable, list[Operation]] = {}
    for operation in sorted(news, key=_order):
        by_key.setdefault(key(operation), []).append(operation)
    pairs = []
    for operation in sorted(olds, key=_order):
        if found := by_key.get(key(operation)):
            pairs.append((operation, found.pop(0)))
    done_old, done_new = {id(left) for left, _ in pairs}, {id(right) for _, right in pairs}
    olds[:] = [operation for operation in olds if id(operation) not in done_old]
    news[:] = [operation for operation in news if id(operation) not in done_new]
    return pairs


def added(new: Operation) -> Change:
    return change_of(RULES["endpoint-added"], new.pointer, new=f"`{new.sdk_name}`")


def removed(old: Operation, paths_left: frozenset[str]) -> Change:
    what = "api-removed" if normalised_path(old.path) in paths_left else "api-path-removed"
    rule = RULES[f"{what}-{'with' if old.deprecated else 'without'}-deprecation"]
    return change_of(rule, old.pointer, old=f"`{old.sdk_name}`")


def sdk_name(old: Operation, new: Operation) -> Iterator[Change]:
    if old.sdk_name != new.sdk_name:
        names = {"old": f"`{old.sdk_name}`", "new": f"`{new.sdk_name}`"}
        yield change_of(RULES["sdk-name-changed"], new.pointer, **names)


def address(old: Operation, new: Operation) -> Iterator[Change]:
    if normalised_path(old.path) != normalised_path(new.path):
        names = {"old": f"`{old.path}`", "new": f"`{new.path}`"}
        yield change_of(RULES["path-changed"], new.pointer, **names)
    if old.method != new.method:
        names = {"old": old.method.upper(), "new": new.method.upper()}
        yield change_of(RULES["method-changed"], new.pointer, **names)


def operation_id(old: Operation, new: Operation) -> Iterator[Change]:
    if old.id != new.id:
        rule = RULES["operation-id-changed"]
        yield change_of(rule, new.pointer, old=f"`{old.id}`", new=f"`{new.id}`")


def deprecation(old: Operation, new: Operation) -> Iterator[Change]:
    if old.deprecated != new.deprecated:
        word = "deprecated" if new.deprecated else "reactivated"
        yield change_of(RULES[f"endpoint-{word}"], new.pointer, where=f"`{new.sdk_name}`")


def security(old: Operation, new: Operation, before: Api, after: Api) -> Iterator[Change]:
    """A caller that was let in by one alternative still is where some new one needs no more."""
    olds = _alternatives(old, before.security_schemes)
    news = _alternatives(new, after.security_schemes)
    shut = [names for needs, names in olds.items() if not any(other <= needs for other in news)]
    fresh = [names for needs, names in news.items() if not any(other <= needs for other in olds)]
    where = f"`{new.sdk_name}`"
    told = {"old": " or ".join(sorted(shut)), "new": " or ".join(sorted(news.values()))}
    none = frozenset[str]()
    if none in olds and none not in news:
        rule = "api-security-added"
    elif none in news and none not in olds:
        rule, told = "api-security-removed", {"old": " or ".join(sorted(olds.values()))}
    elif shut and len(shut) == len(olds):
        rule = "api-security-changed"
    else:
        for names in shut:
            yield change_of(RULES["api-security-alternative-removed"], new.pointer, where=where, old=names)
        for names in fresh:
            yield change_of(RULES["api-security-alternative-added"], new.pointer, where=where, new=names)
        return
    yield change_of(RULES[rule], new.pointer, where=where, **told)


def operation_changes(old: Operation, new: Operation, before: Api, after: Api) -> Iterator[Change]:
    for rule in (sdk_name, address, operation_id, deprecation):
        yield from rule(old, new)
    yield from security(old, new, before, after)


def _alternatives(operation: Operation, schemes: Mapping[str, Json]) -> dict[frozenset[str], str]:
    """What each alternative needs, by what the schemes are and not by how they are called."""
    return {
        frozenset(_scheme(name, schemes) for name in names): " and ".join(
            f"`{name}`" for name in sorted(names)
        )
        for names in operation.security or ((),)
    }


def _scheme(name: str, schemes: Mapping[str, Json]) -> str:
    scheme = schemes.get(name)
    if not isinstance(scheme, Mapping):
        return name
    words = ("type", "scheme", "in", "name", "openIdConnectUrl")
    return key_of([*(scheme.get(word) for word in words), sorted(scheme.get("flows") or ())])


def _address_and_id(operation: Operation) -> Hashable:
    return _address(operation), operation.id


def _address(operation: Operation) -> Hashable:
    return operation.method, normalised_path(operation.path)


def _id(operation: Operation) -> Hashable:
    return operation.id


def _sdk_name(operation: Operation) -> Hashable:
    return operation.sdk_name


def _order(operation: Operation) -> tuple[str, str, str, str]:
    return operation.id, operation.sdk_name, operation.method, operation.path
