"""All comparisons of schemas of one diff. Each pair of referenced schemas is compared once; the pairs make a
graph whose edges are steps of a path, so a cycle is an edge back. A root then gets each fact it can reach
once, by its shortest path.

Roots are opened first, read after: the way to a fact is found backwards from the fact, which costs the
size of the graph per changed schema and not per operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ammeter.engines.compiler.diff.facets import FACETS, Facet, has_no_type_in_common, types
from ammeter.engines.compiler.diff.fields import (
    FIELDS,
    Pair,
    Step,
    Views,
    part_pairs,
    variant_facts,
    variant_pairs,
)
from ammeter.engines.compiler.diff.schema_rules import Direction
from ammeter.engines.compiler.diff.shape import Shape, Term, pointer_of, shape_of, term_of
from ammeter.engines.compiler.diff.unchanged import same_text, unchanged_names
from ammeter.engines.compiler.model import Json

# Cycles of different lengths in one `allOf` multiply to any number of pairs; real ones stay far below.
MAX_NODES = 100_000
MAX_WORK = 5_000_000

_Key = tuple[tuple[str | int, ...], tuple[str | int, ...], Direction]


class Fact(NamedTuple):
    kind: str
    path: str
    pointer: str
    old: str
    new: str


@dataclass(slots=True)
class _Node:
    old: Term
    new: Term
    direction: Direction
    facts: list[Fact] = field(default_factory=list)
    edges: list[tuple[str, int]] = field(default_factory=list)


class SchemaComparison:
    def __init__(
        self, old: Mapping[str, Json], new: Mapping[str, Json], *, max_nodes: int = MAX_NODES
    ) -> None:
        self._max_nodes = max_nodes
        self._old = old
        self._new = new
        self._unchanged = unchanged_names(old, new)
        self._nodes: list[_Node] = []
        self._by_key: dict[_Key, int] = {}
        self._roots: set[int] = set()
        self._reached: dict[int, list[tuple[str, _Node]]] | None = None
        self._shapes: dict[tuple[bool, str, tuple[str | int, ...]], Shape] = {}
        self._is_cut = False
        self._work = 0

    def open(
        self, direction: Direction, old: Any, new: Any, *, old_pointer: str, new_pointer: str
    ) -> int | None:
        """A root to read facts of, later; None where both schemas are the same."""
        if self.is_same(old, new):
            return None
        fresh = len(self._nodes)
        old_term, new_term = term_of(old, old_pointer), term_of(new, new_pointer)
        if _is_inline(old_term) or _is_inline(new_term):
            # Never shared: operations may share the value, but not the pointer to it.
            self._nodes.append(_Node(old_term, new_term, direction))
            root = fresh
        else:
            root = self._node(direction, old_term, new_term)
        self._roots.add(root)
        while fresh < len(self._nodes):
            self._expand(self._nodes[fresh])
            fresh += 1
        return root

    def shapes(self, old: Any, new: Any) -> tuple[Shape, Shape]:
        return shape_of(term_of(old, ""), self._old), shape_of(term_of(new, ""), self._new)

    def is_same(self, old: Any, new: Any) -> bool:
        refs = same_text(old, new)
        return refs is not None and refs <= self._unchanged

    def facts(self, root: int | None) -> Iterator[Fact]:
        if root is None:
            return
        if self._reached is None:
            self._reached = self._reach()
        if self._is_cut:
            yield Fact("comparison-cut-short", "", pointer_of(self._nodes[root].new), "", "")
        for prefix, node in self._reached.get(root, ()):
            for fact in node.facts:
                yield fact._replace(path=prefix + fact.path) if prefix else fact

    def _node(self, direction: Direction, old: Term, new: Term) -> int:
        key = (tuple(atom.key for atom in old), tuple(atom.key for atom in new), direction)
        known = self._by_key.get(key)
        if known is not None:
            return known
        self._by_key[key] = len(self._nodes)
        self._nodes.append(_Node(old, new, direction))
        return len(self._nodes) - 1

    def _expand(self, node: _Node) -> None:
        if len(self._nodes) > self._max_nodes:
            self._is_cut = True
            return
        todo = [Pair("", node.old, node.new)]
        while todo:
            pair = todo.pop()
            for step, old, new in self._compare(node, pair):
                if self._are_same(old, new):
                    continue
                path = pair.step + step
                if _is_inline(old) and _is_inline(new):
                    todo.append(Pair(path, old, new))
                else:
                    node.edges.append((path, self._node(node.direction, old, new)))
        node.edges.sort(key=lambda edge: (len(edge[0]), edge[0]))

    def _are_same(self, old: Term, new: Term) -> bool:
        if len(old) != len(new):
            return False
        return all(self.is_same(one.schema, other.schema) for one, other in zip(old, new, strict=True))

    def _compare(self, node: _Node, pair: Pair) -> list[Pair]:
        """Notes the facts about one value; gives the parts to be compared next."""
        old, new = self._shape(pair.old, is_old=True), self._shape(pair.new, is_old=False)
        pointer = pointer_of(pair.new) or pointer_of(pair.old)

        def note(facts: Iterator[Facet] | Iterator[Step]) -> None:
            for fact in facts:
                step, where = (fact.step, fact.pointer) if isinstance(fact, Step) else ("", pointer)
                node.facts.append(Fact(fact.kind, pair.step + step, where, fact.old, fact.new))

        note(types(old, new))
        if old.is_anything != new.is_anything or has_no_type_in_common(old, new):
            return []
        for facet in FACETS:
            note(facet(old, new))
        view = self._view(node.direction, old, new, pointer)
        unions = bool(old.variants) + bool(new.variants)
        if unions == 1 and not (old.properties and new.properties):
            # A value that became one variant of a union, or the other way round.
            pairs, gone, come = variant_pairs(old, new, pair, self._old, self._new)
            note(variant_facts(view, gone, come))
            return pairs
        for rule in FIELDS:
            note(rule(view))
        if unions == 1:
            note(iter([Facet("union-changed")]))
        if unions != 2:
            return list(part_pairs(view))
        pairs, gone, come = variant_pairs(old, new, pair, self._old, self._new)
        note(variant_facts(view, gone, come))
        return [*part_pairs(view), *pairs]

    def _view(self, direction: Direction, old: Shape, new: Shape, pointer: str) -> Views:
        settled = {
            name
            for name in old.properties.keys() & new.properties.keys()
            if (name in old.required) == (name in new.required)
            and self._are_same(old.properties[name], new.properties[name])
        }
        return Views(
            direction=direction,
            old=old,
            new=new,
            old_parts=self._parts(direction, old, settled, is_old=True),
            new_parts=self._parts(direction, new, settled, is_old=False),
            pointer=pointer,
        )

    def _parts(
        self, direction: Direction, shape: Shape, settled: set[str], *, is_old: bool
    ) -> dict[str, Shape]:
        """The properties that are there in this direction, without those that are the same on both sides."""
        parts = {
            name: self._shape(term, is_old=is_old)
            for name, term in shape.properties.items()
            if name not in settled
        }
        if direction == "request":
            return {name: part for name, part in parts.items() if not part.is_read_only}
        return {name: part for name, part in parts.items() if not part.is_write_only}

    def _shape(self, term: Term, *, is_old: bool) -> Shape:
        key = (is_old, pointer_of(term), tuple([atom.key for atom in term]))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = shape_of(term, self._old if is_old else self._new)
        return shape

    def _reach(self) -> dict[int, list[tuple[str, _Node]]]:
        """By root: every node with facts, and the path there."""
        users: dict[int, set[int]] = {}
        for number, node in enumerate(self._nodes):
            for _, child in node.edges:
                users.setdefault(child, set()).add(number)
        reached: dict[int, list[tuple[str, _Node]]] = {}
        for number, node in enumerate(self._nodes):
            if node.facts:
                for user, path in self._ways_to(number, users).items():
                    if user in self._roots:
                        reached.setdefault(user, []).append((path, node))
        return reached

    def _ways_to(self, target: int, users: Mapping[int, set[int]]) -> dict[int, str]:
        paths = {target: ""}
        layer = {target}
        while layer and not self._is_cut:
            before = {user for number in layer for user in users.get(number, ())} - paths.keys()
            fresh = {}
            for number in before:
                step, child = next(edge for edge in self._nodes[number].edges if edge[1] in layer)
                fresh[number] = step + paths[child]
            paths |= fresh
            layer = before
            self._work += len(before)
            self._is_cut = self._work > MAX_WORK
        return paths


def _is_inline(term: Term) -> bool:
    return len(term) == 1 and isinstance(term[0].key, int)
