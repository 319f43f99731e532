"""Which schemas are the same in both descriptions, all that they refer to included. They are most of them
in most uploads, and are never compared again. Walks by a list, so depth costs no stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ammeter.engines.compiler.diff.literals import LITERAL, MAPPING, NAMED, is_annotation, key_of, ref_name
from ammeter.engines.compiler.model import Json


def unchanged_names(old: Mapping[str, Json], new: Mapping[str, Json]) -> frozenset[str]:
    users: dict[str, list[str]] = {}
    changed = []
    for name in old.keys() & new.keys():
        refs = same_text(old[name], new[name])
        if refs is None:
            changed.append(name)
        for ref in refs or ():
            users.setdefault(ref, []).append(name)
    changed += [ref for ref in users if ref not in old or ref not in new]
    spoiled = set(changed)
    while changed:
        for user in users.get(changed.pop(), ()):
            if user not in spoiled:
                spoiled.add(user)
                changed.append(user)
    return frozenset((old.keys() & new.keys()) - spoiled)


def same_text(old: Any, new: Any) -> set[str] | None:
    """The names that both refer to; None where the two differ in more than annotations."""
    refs: set[str] = set()
    todo: list[tuple[Any, Any, bool]] = [(old, new, False)]
    while todo:
        left, right, is_names = todo.pop()
        if isinstance(left, MAPPING) and isinstance(right, MAPPING):
            if not is_names and (name := ref_name(left)):
                refs.add(name)
            kept = {key for key in left if is_names or not is_annotation(key)}
            if kept != {key for key in right if is_names or not is_annotation(key)}:
                return None
            for key in kept:
                if not is_names and key in LITERAL:
                    if not _is_same_value(left[key], right[key]):
                        return None
                else:
                    todo.append((left[key], right[key], not is_names and key in NAMED))
        elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
            if len(left) != len(right):
                return None
            todo += [(one, other, False) for one, other in zip(left, right, strict=True)]
        elif type(left) is not type(right) or left != right:
            return None
    return refs


def _is_same_value(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return key_of(left) == key_of(right)
