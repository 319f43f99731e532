"""The rules on the properties of objects, as a table in the form of `schema_rules`; most have one name of
their own in requests and one in answers, whatever they are a property of.
"""

from __future__ import annotations

from dataclasses import replace

from ammeter.engines.compiler.diff.schema_rules import SchemaRule, error, info, rule, warning

_PART_RULES: tuple[SchemaRule, ...] = (
    rule(
        "required-property-added",
        "An object has a further field that is always there.",
        "{where} was added and is required",
        error("pass it", "new-required-request-property"),
        info("response-required-property-added"),
    ),
    rule(
        "optional-property-added",
        "An object has a further field that may be left off.",
        "{where} was added",
        info("new-optional-request-property"),
        info("response-optional-property-added"),
    ),
    rule(
        "required-property-removed",
        "A field that was always there is gone.",
        "{where} was removed",
        error("leave it off", "request-property-removed"),
        error("stop reading it", "response-required-property-removed"),
    ),
    rule(
        "optional-property-removed",
        "A field that may have been left off is gone.",
        "{where} was removed",
        error("leave it off", "request-property-removed"),
        error("stop reading it", "response-optional-property-removed"),
    ),
    rule(
        "became-required",
        "A field that may have been left off is always there.",
        "{where} became required",
        error("always pass it", "request-property-became-required"),
        info("response-property-became-required"),
    ),
    rule(
        "became-optional",
        "A field that was always there may be left off.",
        "{where} became optional",
        info("request-property-became-optional"),
        error("be ready for it to be missing", "response-property-became-optional"),
    ),
    rule(
        "became-read-only",
        "A field may be read, but no longer written.",
        "{where} became read-only, so what is passed may be ignored",
        warning("request-property-became-read-only"),
        None,
    ),
    rule(
        "default-value-changed",
        "What holds when the argument is left off is another value.",
        "The default of {where} changed from {old} to {new}",
        error("pass {old} where the old default was meant"),
        None,
    ),
    rule(
        "default-value-added",
        "What holds when the argument is left off is now stated.",
        "The default of {where} is now {new}, where none was stated",
        warning(),
        None,
    ),
    rule(
        "default-value-removed",
        "What holds when the argument is left off is no longer stated.",
        "The default {old} of {where} is no longer stated",
        warning(),
        None,
    ),
    rule(
        "deprecated",
        "The value is on its way out.",
        "{where} is now deprecated",
        warning(),
        warning(),
    ),
    rule(
        "reactivated",
        "The value is no longer deprecated.",
        "{where} is no longer deprecated",
        info(),
        info(),
    ),
)

_OBJECT_RULES: tuple[SchemaRule, ...] = (
    rule(
        "additional-properties-forbidden",
        "Only named fields are left.",
        "{where} no longer takes fields other than the named ones",
        error("pass named fields only"),
        info(),
    ),
    rule(
        "additional-properties-allowed",
        "Fields other than the named ones are possible.",
        "{where} may now have fields other than the named ones",
        info(),
        info(),
    ),
)

FIELD_RULES = (*(replace(made, is_of_parts=True) for made in _PART_RULES), *_OBJECT_RULES)
