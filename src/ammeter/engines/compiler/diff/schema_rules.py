"""The rules on schemas, as a table: what a change is called, how grave it is in a request and in an answer,
and its sentence. A narrowing hurts whoever sends, a widening whoever reads; what an answer merely promises
less of (bounds, values of an enum) is a warning. How a change is found is not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ammeter.engines.compiler.model import Level

Direction = Literal["request", "response"]
Place = Literal[
    "request-parameter",
    "request-parameter-property",
    "request-body",
    "request-property",
    "response-body",
    "response-property",
]
REQUEST_PLACES: tuple[Place, ...] = (
    "request-parameter",
    "request-parameter-property",
    "request-body",
    "request-property",
)
RESPONSE_PLACES: tuple[Place, ...] = ("response-body", "response-property")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    level: Level
    todo: str = ""
    id: str = ""
    """Where the rule has one name of its own instead of `<place>-<kind>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRule:
    kind: str
    meaning: str
    says: str
    request: Side | None
    response: Side | None
    is_of_parts: bool = False
    """Never said of a whole body, only of a parameter or of what is inside."""


def rule(kind: str, meaning: str, says: str, request: Side | None, response: Side | None) -> SchemaRule:
    return SchemaRule(kind=kind, meaning=meaning, says=says, request=request, response=response)


def error(todo: str, rule_id: str = "") -> Side:
    return Side(level="error", todo=todo, id=rule_id)


def warning(rule_id: str = "") -> Side:
    return Side(level="warning", id=rule_id)


def info(rule_id: str = "") -> Side:
    return Side(level="info", id=rule_id)


_FROM_TO = "from {old} to {new}"

_TYPES = (
    rule(
        "type-changed",
        "The value has another type.",
        f"The type of {{where}} changed {_FROM_TO}",
        error("pass {new}"),
        error("read it as {new}"),
    ),
    rule(
        "type-generalized",
        "One type became one that includes it.",
        f"The type of {{where}} was widened {_FROM_TO}",
        info(),
        error("be ready for {new}"),
    ),
    rule(
        "type-specialized",
        "One type became one that it included.",
        f"The type of {{where}} was narrowed {_FROM_TO}",
        error("pass {new} only"),
        info(),
    ),
    rule(
        "list-of-types-widened",
        "A further type is possible.",
        f"The types of {{where}} were widened {_FROM_TO}",
        info(),
        error("be ready for {new}"),
    ),
    rule(
        "list-of-types-narrowed",
        "A type is no longer possible.",
        f"The types of {{where}} were narrowed {_FROM_TO}",
        error("pass {new} only"),
        info(),
    ),
    rule(
        "became-nullable",
        "The value may now be null.",
        "{where} may now be null",
        info(),
        error("check for null before using it"),
    ),
    rule(
        "became-not-nullable",
        "The value may no longer be null.",
        "{where} may no longer be null",
        error("pass a value or leave it off"),
        info(),
    ),
)

_VALUES = (
    rule(
        "enum-value-removed",
        "A value of the enum is gone.",
        "The value {old} was removed from the enum of {where}",
        error("pass one of {new}"),
        info(),
    ),
    rule(
        "enum-value-added",
        "The enum has a further value.",
        "The value {new} was added to the enum of {where}",
        info(),
        warning(),
    ),
    rule(
        "became-enum",
        "Only listed values are left.",
        "{where} became an enum of {new}",
        error("pass one of them"),
        info(),
    ),
    rule(
        "enum-opened",
        "Values outside the old enum are possible.",
        "{where} is no longer limited to {old}",
        info(),
        warning(),
    ),
    rule(
        "const-added",
        "Only one value is left.",
        "{where} became the constant {new}",
        error("pass {new}"),
        info(),
    ),
    rule(
        "const-changed",
        "The only value is another one.",
        f"The constant {{where}} changed {_FROM_TO}",
        error("pass {new}"),
        error("expect {new}"),
    ),
    rule(
        "const-removed",
        "The value is no longer fixed.",
        "{where} is no longer always {old}",
        info(),
        error("be ready for other values"),
    ),
    rule(
        "pattern-added",
        "The text must match a pattern.",
        "{where} must now match the pattern {new}",
        error("pass only text that matches"),
        info(),
    ),
    rule(
        "pattern-changed",
        "The pattern is another one; which of the two allows more is not decided.",
        f"The pattern of {{where}} changed {_FROM_TO}",
        warning(),
        info(),
    ),
    rule("pattern-removed", "The pattern is gone.", "The pattern {old} of {where} is gone", info(), info()),
    rule(
        "format-added",
        "The value must have a format.",
        "{where} must now have the format {new}",
        error("pass it in that format"),
        info(),
    ),
    rule(
        "format-changed",
        "The format is another one.",
        f"The format of {{where}} changed {_FROM_TO}",
        error("pass it as {new}"),
        error("read it as {new}"),
    ),
    rule(
        "format-removed",
        "The format is no longer promised.",
        "{where} no longer has the format {old}",
        info(),
        warning(),
    ),
    rule(
        "multiple-of-narrowed",
        "Fewer numbers are multiples of the new step.",
        "{where} must be a multiple of {new}, before it was {old}",
        error("round to a multiple of {new}"),
        info(),
    ),
    rule(
        "multiple-of-widened",
        "More numbers are multiples of the new step.",
        "{where} may be a multiple of {new}, before it was {old}",
        info(),
        warning(),
    ),
    rule(
        "unique-items-added",
        "The items must differ.",
        "The items of {where} must now be unique",
        error("remove duplicates"),
        info(),
    ),
    rule(
        "unique-items-removed",
        "Items may repeat.",
        "The items of {where} may now repeat",
        info(),
        warning(),
    ),
    rule(
        "not-added",
        "Some values are now excluded.",
        "{where} must not match a schema that it may have matched before",
        error("read the description for what is excluded"),
        info(),
    ),
    rule(
        "not-removed",
        "Values that were excluded are possible.",
        "{where} may match a schema that was excluded before",
        info(),
        warning(),
    ),
)

_VARIANTS = tuple(
    made
    for word in ("one-of", "any-of")
    for made in (
        rule(
            f"{word}-added",
            "The union has a further variant.",
            "The variant {new} was added to {where}",
            info(),
            error("handle {new} too"),
        ),
        rule(
            f"{word}-removed",
            "A variant of the union is gone.",
            "The variant {old} of {where} was removed",
            error("pass another variant"),
            info(),
        ),
    )
)

_STRUCTURE = (
    rule(
        "union-changed",
        "One of several unions of the same value changed; they are not compared further.",
        "One of the unions that {where} is made of changed",
        warning(),
        warning(),
    ),
    rule(
        "prefix-items-removed",
        "A place of the tuple has no schema of its own any more.",
        "The tuple {where} went from {old} to {new} places",
        error("pass {new} items"),
        error("read no further than {new} items"),
    ),
    rule(
        "prefix-items-added",
        "The tuple has a further place.",
        "The tuple {where} went from {old} to {new} places",
        error("pass {new} items"),
        info(),
    ),
    rule(
        "comparison-cut-short",
        "The schemas are so entangled that the comparison stopped.",
        "{where} was not compared further, as its schemas are too entangled",
        warning(),
        warning(),
    ),
)

_NOUNS = {
    "max": "The largest value of {where}",
    "exclusive-max": "The upper limit of {where}",
    "max-length": "The greatest length of {where}",
    "max-items": "The greatest number of items of {where}",
    "max-properties": "The greatest number of properties of {where}",
    "min": "The smallest value of {where}",
    "exclusive-min": "The lower limit of {where}",
    "min-length": "The smallest length of {where}",
    "min-items": "The smallest number of items of {where}",
    "min-properties": "The smallest number of properties of {where}",
}
BOUND_KINDS = {
    "maximum": "max",
    "exclusiveMaximum": "exclusive-max",
    "maxLength": "max-length",
    "maxItems": "max-items",
    "maxProperties": "max-properties",
    "minimum": "min",
    "exclusiveMinimum": "exclusive-min",
    "minLength": "min-length",
    "minItems": "min-items",
    "minProperties": "min-properties",
}


def _bounds() -> Iterator[SchemaRule]:
    for kind, noun in _NOUNS.items():
        tighter, looser = ("decreased", "increased") if "max" in kind else ("increased", "decreased")
        side = "below" if "max" in kind else "above"
        keep = error(f"stay {'' if 'exclusive' in kind else 'at or '}{side} {{new}}")
        yield rule(f"{kind}-{tighter}", "The bound is tighter.", f"{noun} went {_FROM_TO}", keep, info())
        yield rule(
            f"{kind}-set", "There is a bound where there was none.", f"{noun} is now {{new}}", keep, info()
        )
        yield rule(f"{kind}-{looser}", "The bound is looser.", f"{noun} went {_FROM_TO}", info(), warning())
        yield rule(f"{kind}-unset", "The bound is gone.", f"{noun} is no longer {{old}}", info(), warning())


SCHEMA_RULES: tuple[SchemaRule, ...] = (*_TYPES, *_VALUES, *_bounds(), *_VARIANTS, *_STRUCTURE)
