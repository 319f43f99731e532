"""Every number of the ranking, in one place.

The field weights, `b` and the lexical numbers come from a coordinate search on development queries (half
of an earlier collection over about sixty descriptions) with the lexical score alone; the fusion from a
second search on the same half. They were kept when the engine was written anew. What was chosen since,
and with which queries in view, stands in docs/decisions/0013-search.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWeight:
    weight: float
    b: float
    """How much a long field weakens each of its words: 0 not at all, 1 in full."""


def _field(weight: float, b: float) -> FieldWeight:
    return FieldWeight(weight=weight, b=b)


FIELD_WEIGHTS = {
    "operation_id": _field(1.8, 0.1),
    "sdk_name": _field(1.8, 0.1),
    "path": _field(1.8, 0.0),
    "path_parameter": _field(0.27, 0.5),
    "summary": _field(9.0, 0.3),
    "tag": _field(0.9, 0.0),
    "first_sentence": _field(1.2, 0.6),
    "description": _field(0.18, 0.35),
    "parameter_name": _field(1.0, 0.4),
    "parameter_text": _field(0.45, 0.75),
    "body_name": _field(0.6, 0.4),
    "body_text": _field(0.11, 0.95),
    "response_name": _field(0.45, 0.6),
    "body_type": _field(0.6, 0.5),
    "response_type": _field(0.5, 0.7),
    "enum": _field(0.11, 0.4),
    "verb": _field(1.5, 0.0),
    "whole_operation_id": _field(0.72, 0.0),
    "whole_path_segment": _field(1.5, 0.0),
    "whole_request_name": _field(2.0, 0.1),
    "whole_response_name": _field(1.0, 0.0),
    "whole_type": _field(0.6, 0.3),
}

SATURATION = 1.2
"""BM25's k1: how soon a second mention stops counting."""
STEM = 0.3
"""A word of the same stem; stemming everything costs 1.6 points of recall on names, 4 on fields."""
VERB = 0.7
WHOLE_NAME = 1.35
WHOLE_NAME_BESIDE_A_VERB = 0.4
"""Times `WHOLE_NAME`: "create access token" asks for an operation, "access token" may ask for a field."""
REVERSE_COVERAGE = 0.25
"""How much of an operation's own title the query names."""
UNKNOWN = 0.5
"""What a word that the index does not have adds to the attainable score, of the rarest word's."""

ABBREVIATION_BESIDE = 0.7
ABBREVIATION_INSTEAD = 0.9
SEGMENT = 0.9
PREFIX = 0.6
ONE_SLIP = 0.8
TWO_SLIPS = 0.6

LEXICAL_SHARE = 0.45
"""The rest of the score is the cosine."""
LEXICAL_SHARE_FOR_A_FIELD = 0.95
"""A vector knows nothing of field names: alone it finds 13 % of them among its first five."""
CLAUSE_SHARE = 0.5

# What is certain stands above any sum of the above, and its kinds in this order.
EXACT_NAME = 2.0
PATH_WHOLE = 2.0
PATH_SEGMENT = 0.05
PATH_UNDER_A_BASE = 1.1
PATH_TAIL = 1.5
PATH_TAIL_FILLED = 1.2
PATH_METHOD = 0.5

DEPRECATED = 0.1
"""Of 159 deprecated operations with a living twin, the twin is first for 94 %, for 79 % without this; with
more, deprecated operations that have no twin begin to be lost."""
