"""JSONPath queries (RFC 9535) over a document, within a budget of work.

Comes in: a document made of `Tree` nodes and a query. Goes out: what it selects, each with the container
that holds it. Every value that a query looks at, also within filters, is charged to the budget, so no
query can run for long. Absent: any change of the document.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator
from dataclasses import dataclass
from typing import Any

import jsonpath
from jsonpath.filter import BaseExpression, FilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.match import JSONPathMatch
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import Filter

from ammeter.engines.compiler.iregexp import BadPattern, Pattern

MAX_QUERY_CHARS = 2_000
# Passing over a value costs a small part of making it a node of the answer.
_LOOKED_AT_PER_STEP = 16


class BudgetSpent(Exception):
    """The work asked for is more than anyone needs."""


class BadQuery(Exception):
    """The text is not a JSONPath query."""


class Budget:
    def __init__(self, steps: int) -> None:
        self.left = steps

    def charge(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise BudgetSpent


class TreeObject(dict[str, Any]):
    """A JSON object that charges for being looked through."""

    __slots__ = ("budget",)

    budget: Budget
    __hash__ = None

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        self.budget.charge(1 + len(self) // _LOOKED_AT_PER_STEP)
        return super().items()

    def __eq__(self, other: object) -> bool:
        self.budget.charge(1 + len(self) // _LOOKED_AT_PER_STEP)
        return super().__eq__(other)


class TreeArray(list[Any]):
    """A JSON array that charges for being looked through."""

    __slots__ = ("budget",)

    budget: Budget
    __hash__ = None

    def __iter__(self) -> Iterator[Any]:
        self.budget.charge(1 + len(self) // _LOOKED_AT_PER_STEP)
        return super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            self.budget.charge(1 + len(self) // _LOOKED_AT_PER_STEP)
        return super().__getitem__(key)

    def __eq__(self, other: object) -> bool:
        self.budget.charge(1 + len(self) // _LOOKED_AT_PER_STEP)
        return super().__eq__(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    value: Any
    container: Any
    """The object or array that holds the value; None for the document itself."""
    key: str | int | None


class _Node(JSONPathMatch):
    """A match without its path as text: with long keys those would be the largest cost of all."""

    __slots__ = ("budget",)

    budget: Budget

    def new_child(self, obj: object, key: int | str) -> _Node:
        self.budget.charge(1)
        child = _Node(
            filter_context=self.filter_context(),
            obj=obj,
            parent=self,
            parts=(key,),
            path="",
            root=self.root,
        )
        child.budget = self.budget
        return child


class _Regexp(FilterFunction):
    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 - the base class has it so
    return_type = ExpressionType.LOGICAL

    def __init__(self, budget: Budget, *, search: bool) -> None:
        self._budget = budget
        self._search = search
        self._patterns: dict[str, Pattern] = {}

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if pattern not in self._patterns:
            self._budget.charge(1_000)
            if len(self._patterns) > 50:
                self._patterns.clear()
            self._patterns[pattern] = Pattern(pattern, search=self._search)
        return self._patterns[pattern].matches(value, self._budget.charge)


class _Path(jsonpath.JSONPath):
    """A query that visits descendants in a loop and makes slim nodes; the library's own way costs more
    the deeper a document is."""

    budget: Budget

    def finditer(self, data: Any, *, filter_context: Any = None) -> Any:
        root = _Node(filter_context=filter_context or {}, obj=data, parent=None, path="", parts=(), root=data)
        root.budget = self.budget
        nodes: Any = [root]
        for segment in self.segments:
            # The library takes a string for an array of characters; the RFC does not.
            nodes = (node for node in nodes if isinstance(node.obj, dict | list))
            if isinstance(segment, JSONPathRecursiveDescentSegment):
                nodes = _descended(segment, nodes, self.budget)
            else:
                nodes = segment.resolve(nodes)
        return nodes


def _descended(segment: JSONPathRecursiveDescentSegment, nodes: Any, budget: Budget) -> Iterator[Any]:
    for node in nodes:
        waiting = [node]
        while waiting:
            here = waiting.pop()
            budget.charge(len(segment.selectors))
            for selector in segment.selectors:
                yield from selector.resolve(here)
            waiting += reversed([here.new_child(inner, key) for key, inner in _containers(here.obj)])


def _containers(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return ((key, inner) for key, inner in pairs if isinstance(inner, dict | list))


def _slim(path: jsonpath.JSONPath, budget: Budget) -> _Path:
    """The same query, and the queries within its filters, as ours."""
    for segment in path.segments:
        for selector in segment.selectors:
            if isinstance(selector, Filter):
                _slim_within(selector.expression, budget)
    slim = _Path(env=path.env, segments=path.segments)
    slim.budget = budget
    return slim


def _slim_within(expression: BaseExpression, budget: Budget) -> None:
    if isinstance(expression, FilterQuery):
        expression.path = _slim(expression.path, budget)
        return
    for inner in expression.children():
        _slim_within(inner, budget)


def select(document: TreeObject, query: str, budget: Budget) -> list[Selected]:
    """What the query selects, in order, each node once."""
    if len(query) > MAX_QUERY_CHARS:
        raise BadQuery(f"it has {len(query):,} characters, more than {MAX_QUERY_CHARS:,}")
    environment = jsonpath.JSONPathEnvironment(strict=True)
    environment.function_extensions["match"] = _Regexp(budget, search=False)
    environment.function_extensions["search"] = _Regexp(budget, search=True)
    try:
        compiled = environment.compile(query)
        if not isinstance(compiled, jsonpath.JSONPath):
            raise BadQuery("unions of queries are not part of RFC 9535")
        return _each_once(_slim(compiled, budget).finditer(document), budget)
    except BadPattern as error:
        raise BadQuery(f"a pattern cannot be used: {error}") from None
    except jsonpath.JSONPathError as error:
        raise BadQuery(str(error.message)[:200]) from None
    except RecursionError:
        raise BadQuery("it nests too deep") from None


def _each_once(nodes: Any, budget: Budget) -> list[Selected]:
    found: dict[tuple[int, str | int | None], Selected] = {}
    for node in nodes:
        budget.charge(1)
        container = node.parent.obj if node.parent is not None else None
        key = node.parts[-1] if node.parent is not None else None
        found.setdefault((id(container), key), Selected(value=node.obj, container=container, key=key))
    return list(found.values())
