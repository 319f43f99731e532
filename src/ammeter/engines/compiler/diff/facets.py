"""The rules on a value by itself: its types, its enum, its bounds, its pattern and format. Each takes the two
shapes and gives facts without a direction; what a fact means to a script is in the table of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

from ammeter.engines.compiler.diff.literals import shown
from ammeter.engines.compiler.diff.schema_rules import BOUND_KINDS
from ammeter.engines.compiler.diff.shape import UPPER, Shape


class Facet(NamedTuple):
    kind: str
    old: str = ""
    new: str = ""


def has_no_type_in_common(old: Shape, new: Shape) -> bool:
    if not old.types or not new.types:
        return False
    numbers = frozenset({"integer", "number"})
    return not (old.types & new.types or (old.types & numbers and new.types & numbers))


def types(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.is_anything != new.is_anything:
        kind = "type-specialized" if old.is_anything else "type-generalized"
        yield Facet(kind, _types_text(old), _types_text(new))
        return
    if old.types is None or new.types is None or old.variants or new.variants:
        return
    wider = all(_includes(new.types, kind) for kind in old.types)
    narrower = all(_includes(old.types, kind) for kind in new.types)
    if wider and narrower:
        return
    is_single = len(old.types) == len(new.types) == 1
    if wider:
        kind = "type-generalized" if is_single else "list-of-types-widened"
    elif narrower:
        kind = "type-specialized" if is_single else "list-of-types-narrowed"
    else:
        kind = "type-changed"
    yield Facet(kind, _types_text(old), _types_text(new))


def nullability(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.nullable is None or new.nullable is None or old.nullable == new.nullable:
        return
    yield Facet("became-nullable" if new.nullable else "became-not-nullable")


def constants(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.is_const and new.is_const and old.values != new.values:
        yield Facet("const-changed", _values_text(old), _values_text(new))
    elif old.is_const and new.values is None:
        yield Facet("const-removed", _values_text(old))
    elif new.is_const and old.values is None:
        yield Facet("const-added", "", _values_text(new))


def enums(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.is_const and (new.is_const or new.values is None):
        return
    if old.values is not None and new.values is not None:
        for key in old.values.keys() - new.values.keys():
            yield Facet("enum-value-removed", shown(old.values[key]), _values_text(new))
        for key in new.values.keys() - old.values.keys():
            yield Facet("enum-value-added", _values_text(old), shown(new.values[key]))
    elif old.values is not None:
        yield Facet("enum-opened", _values_text(old))
    elif new.values is not None and not new.is_const:
        yield Facet("became-enum", "", _values_text(new))


def bounds(old: Shape, new: Shape) -> Iterator[Facet]:
    for word in sorted(old.bounds.keys() | new.bounds.keys()):
        before, after, kind = old.bounds.get(word), new.bounds.get(word), BOUND_KINDS[word]
        if before is None:
            if not _says_nothing(word, after):
                yield Facet(f"{kind}-set", "", shown(after))
        elif after is None:
            if not _says_nothing(word, before):
                yield Facet(f"{kind}-unset", shown(before))
        elif before != after:
            yield Facet(
                f"{kind}-{'increased' if after > before else 'decreased'}", shown(before), shown(after)
            )


def patterns(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.patterns == new.patterns:
        return
    before, after = (" and ".join(f"`{text}`" for text in sorted(shape.patterns)) for shape in (old, new))
    if old.patterns < new.patterns:
        yield Facet("pattern-added", before, after)
    elif new.patterns < old.patterns:
        yield Facet("pattern-removed", before, after)
    else:
        yield Facet("pattern-changed", before, after)


def formats(old: Shape, new: Shape) -> Iterator[Facet]:
    before, after = old.format, new.format
    if before == after:
        return
    kind = "format-added" if before is None else "format-removed" if after is None else "format-changed"
    yield Facet(kind, f"`{before}`", f"`{after}`")


def multiples(old: Shape, new: Shape) -> Iterator[Facet]:
    before, after = old.multiple_of, new.multiple_of
    if before == after:
        return
    is_wider = after is None or (before is not None and _divides(after, before))
    texts = ("any number" if step is None else shown(step) for step in (before, after))
    yield Facet("multiple-of-widened" if is_wider else "multiple-of-narrowed", *texts)


def uniqueness(old: Shape, new: Shape) -> Iterator[Facet]:
    if old.is_unique != new.is_unique:
        yield Facet("unique-items-added" if new.is_unique else "unique-items-removed")


def negations(old: Shape, new: Shape) -> Iterator[Facet]:
    if new.negations - old.negations:
        yield Facet("not-added")
    if old.negations - new.negations:
        yield Facet("not-removed")


FACETS: tuple[Callable[[Shape, Shape], Iterator[Facet]], ...] = (
    nullability,
    constants,
    enums,
    bounds,
    patterns,
    formats,
    multiples,
    uniqueness,
    negations,
)


def _includes(kinds: frozenset[str], kind: str) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _types_text(shape: Shape) -> str:
    if shape.types:
        return " or ".join(sorted(shape.types))
    if shape.variants:
        return f"one of {len(shape.variants)} variants"
    return "null" if shape.types is not None else "any value"


def _values_text(shape: Shape) -> str:
    return ", ".join(shown(value) for value in list((shape.values or {}).values())[:20])


def _says_nothing(word: str, limit: float | None) -> bool:
    return word not in UPPER and word.startswith("min") and word != "minimum" and limit == 0


def _divides(step: float, number: float) -> bool:
    return (Fraction(str(number)) / Fraction(str(step))).denominator == 1
