"""Facts about schemas as changes of an operation: which rule they fall under where the schema stands, and
the value's path as a script writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ammeter.engines.compiler.diff.graph import Fact
from ammeter.engines.compiler.diff.model import Change, change_of
from ammeter.engines.compiler.diff.registry import PLACED
from ammeter.engines.compiler.diff.schema_rules import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A schema of an operation whose comparison is open."""

    node: int
    whole: Place
    part: Place
    name: str
    """The whole value, for a person."""
    word: str
    """What a part of it is called."""
    prefix: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    """First steps that have another name among the arguments."""
    is_error_body: bool = False


def changes_of(root: Root, facts: Iterable[Fact]) -> Iterator[Change]:
    for fact in facts:
        rule = PLACED[(root.part if fact.path else root.whole, fact.kind)]
        yield change_of(rule, fact.pointer, where=_where(root, fact.path), old=fact.old, new=fact.new)


def _where(root: Root, path: str) -> str:
    if not path:
        return root.name
    first = next(
        (name for name in root.args if path == f".{name}" or path.startswith((f".{name}.", f".{name}["))),
        None,
    )
    if first is not None:
        path = f".{root.args[first]}{path[len(first) + 1 :]}"
    return f"{root.word} `{(root.prefix + path).removeprefix('.')}`"
