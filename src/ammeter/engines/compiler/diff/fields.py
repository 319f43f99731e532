"""The rules on what a value is made of: properties, items, tuples, unions. They also give the pairs of parts
that are compared next, each with its step in the path that a script would write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ammeter.engines.compiler.diff.literals import key_of, ref_name, significant
from ammeter.engines.compiler.diff.schema_rules import Direction
from ammeter.engines.compiler.diff.shape import Atom, Shape, Term, narrowed, pointer_of, shape_of
from ammeter.engines.compiler.model import Json


class Step(NamedTuple):
    """A fact about a part of a value: which, and by a step of its own where it is not the value itself."""

    kind: str
    step: str
    pointer: str
    old: str = ""
    new: str = ""


class Pair(NamedTuple):
    step: str
    old: Term
    new: Term


class Views(NamedTuple):
    """The same value in both descriptions, and how to see its parts there."""

    direction: Direction
    old: Shape
    new: Shape
    old_parts: dict[str, Shape]
    new_parts: dict[str, Shape]
    pointer: str


def properties(view: Views) -> Iterator[Step]:
    for name in view.old_parts.keys() - view.new_parts.keys():
        word = "required" if name in view.old.required else "optional"
        if name in view.new.properties and view.direction == "request":
            yield Step("became-read-only", f".{name}", pointer_of(view.new.properties[name]) or view.pointer)
        else:
            pointer = pointer_of(view.old.properties[name]) or view.pointer
            yield Step(f"{word}-property-removed", f".{name}", pointer)
    for name in view.new_parts.keys() - view.old_parts.keys():
        word = "required" if name in view.new.required else "optional"
        pointer = pointer_of(view.new.properties[name]) or view.pointer
        yield Step(f"{word}-property-added", f".{name}", pointer)


def requirements(view: Views) -> Iterator[Step]:
    for name in view.old_parts.keys() & view.new_parts.keys():
        if (name in view.old.required) != (name in view.new.required):
            kind = "became-required" if name in view.new.required else "became-optional"
            yield Step(kind, f".{name}", pointer_of(view.new.properties[name]) or view.pointer)


def property_defaults(view: Views) -> Iterator[Step]:
    if view.direction == "response":
        return
    for name in view.old_parts.keys() & view.new_parts.keys():
        if not (name in view.old.required and name in view.new.required):
            pointer = pointer_of(view.new.properties[name]) or view.pointer
            yield from default_steps(view.old_parts[name], view.new_parts[name], f".{name}", pointer)


def default_steps(old: Shape, new: Shape, step: str, pointer: str) -> Iterator[Step]:
    before, after = old.default, new.default
    if before == after:
        return
    word = "added" if before is None else "removed" if after is None else "changed"
    yield Step(f"default-value-{word}", step, pointer, before or "", after or "")


def property_deprecations(view: Views) -> Iterator[Step]:
    for name in view.old_parts.keys() & view.new_parts.keys():
        before, after = view.old_parts[name].is_deprecated, view.new_parts[name].is_deprecated
        if before != after:
            pointer = pointer_of(view.new.properties[name]) or view.pointer
            yield Step("deprecated" if after else "reactivated", f".{name}", pointer)


def further_properties(view: Views) -> Iterator[Step]:
    if view.old.is_closed != view.new.is_closed:
        word = "forbidden" if view.new.is_closed else "allowed"
        yield Step(f"additional-properties-{word}", "", view.pointer)


def tuples(view: Views) -> Iterator[Step]:
    before, after = len(view.old.prefix), len(view.new.prefix)
    if before != after:
        word = "added" if after > before else "removed"
        yield Step(f"prefix-items-{word}", "", view.pointer, str(before), str(after))


def other_unions(view: Views) -> Iterator[Step]:
    if view.old.other_unions != view.new.other_unions:
        yield Step("union-changed", "", view.pointer)


FIELDS = (
    properties,
    requirements,
    property_defaults,
    property_deprecations,
    further_properties,
    tuples,
    other_unions,
)


def part_pairs(view: Views) -> Iterator[Pair]:
    for name in sorted(view.old_parts.keys() & view.new_parts.keys()):
        yield Pair(f".{name}", view.old.properties[name], view.new.properties[name])
    if may_be(view.old, "array") and may_be(view.new, "array"):
        yield Pair("[]", view.old.items, view.new.items)
    is_open = not view.old.is_closed and not view.new.is_closed
    if is_open and may_be(view.old, "object") and may_be(view.new, "object"):
        yield Pair(".*", view.old.additional, view.new.additional)
    for i, (old, new) in enumerate(zip(view.old.prefix, view.new.prefix, strict=False)):
        yield Pair(f"[{i}]", old, new)


def may_be(shape: Shape, kind: str) -> bool:
    return shape.types is None or kind in shape.types


def variant_pairs(
    old: Shape, new: Shape, whole: Pair, old_schemas: Mapping[str, Json], new_schemas: Mapping[str, Json]
) -> tuple[list[Pair], list[Term], list[Term]]:
    """The variants that belong together, those only in the old union, those only in the new one."""
    olds, news = _variants(old, whole.old, new), _variants(new, whole.new, old)
    pairs: list[Pair] = []
    for mark in (_key, _text, _title, _kind):
        for left in list(olds):
            told = mark(left, old_schemas)
            right = next((term for term in news if told and mark(term, new_schemas) == told), None)
            # Two names are two variants, however alike; an unnamed one may have got another form.
            if right is not None and not (mark is _kind and _is_named(left) and _is_named(right)):
                pairs.append(Pair("", left, right))
                olds.remove(left)
                news.remove(right)
    return pairs, olds, news


def variant_facts(view: Views, gone: list[Term], come: list[Term]) -> Iterator[Step]:
    word = "any-of" if (view.new if view.new.variants else view.old).union_word == "anyOf" else "one-of"
    for term in gone:
        yield Step(f"{word}-removed", "", pointer_of(term) or view.pointer, variant_name(term))
    for term in come:
        yield Step(f"{word}-added", "", pointer_of(term) or view.pointer, "", variant_name(term))


def variant_name(term: Term) -> str:
    for atom in reversed(term):
        if isinstance(atom.key, str):
            return f"`{atom.key.removeprefix('type ')}`"
    for atom in term:
        for word in ("title", "type"):
            if isinstance(name := atom.schema.get(word), str):
                return f"`{name}`"
    return "`object`" if any("properties" in atom.schema for atom in term) else "of another form"


def _variants(shape: Shape, term: Term, other: Shape) -> list[Term]:
    if shape.variants:
        return list(shape.variants)
    # A list of types is a union as well, once it meets one.
    if other.variants and shape.types and len(shape.types) > 1:
        return [narrowed(term, kind) for kind in sorted(shape.types)]
    return [term]


def _is_named(term: Term) -> bool:
    return len(term) == 1 and isinstance(term[0].key, str)


def _key(term: Term, _: Mapping[str, Json]) -> str:
    return str(term[0].key) if _is_named(term) else ""


def _text(term: Term, schemas: Mapping[str, Json]) -> str:
    return key_of([significant(_resolved(atom, schemas)) for atom in term])


def _title(term: Term, schemas: Mapping[str, Json]) -> str:
    title = _resolved(term[0], schemas).get("title") if len(term) == 1 else None
    return title if isinstance(title, str) else ""


def _kind(term: Term, schemas: Mapping[str, Json]) -> str:
    shape = shape_of(term, schemas)
    return " or ".join(sorted(shape.types)) if shape.types else ""


def _resolved(atom: Atom, schemas: Mapping[str, Json]) -> Json:
    name = ref_name(atom.schema)
    return schemas.get(name, {}) if name else atom.schema
