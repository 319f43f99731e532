"""What a diff says: per operation the changes that its scripts can meet, each by a rule of a fixed list.
Values only; usage numbers and storage are added by those who have them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ammeter.engines.compiler.model import Level, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    id: str
    level: Level
    meaning: str
    says: str
    """The sentence, with `{where}`, `{old}` and `{new}` to be filled in."""
    todo: str = ""
    """What the author of a script does about it; every error has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    rule: str
    level: Level
    pointer: str
    """Into the new description where the thing still exists, else into the old one."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    operation_id: str
    method: Method
    path: str
    sdk_name: str
    changes: tuple[Change, ...]

    @property
    def is_breaking(self) -> bool:
        return any(change.level == "error" for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDiff:
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    signature_changed: tuple[Entry, ...]
    breaking: tuple[Entry, ...]
    """Those of `removed` and `signature_changed` that have an error."""


def change_of(rule: Rule, pointer: str, *, where: str = "", old: str = "", new: str = "") -> Change:
    pattern = f"{rule.says}; {rule.todo}." if rule.todo else f"{rule.says}."
    text = pattern.format(where=where, old=old, new=new)
    return Change(rule=rule.id, level=rule.level, pointer=pointer, message=text[:1].upper() + text[1:])
