"""Every rule by its id, and the rule for a fact about a schema by where the schema stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ammeter.engines.compiler.diff.field_rules import FIELD_RULES
from ammeter.engines.compiler.diff.model import Rule
from ammeter.engines.compiler.diff.operation_rules import ANSWER_RULES, ARGUMENT_RULES, OPERATION_RULES
from ammeter.engines.compiler.diff.schema_rules import (
    REQUEST_PLACES,
    RESPONSE_PLACES,
    SCHEMA_RULES,
    Place,
)


def _placed() -> Iterator[tuple[tuple[Place, str], Rule]]:
    for rule in (*FIELD_RULES, *SCHEMA_RULES):
        for places, side in ((REQUEST_PLACES, rule.request), (RESPONSE_PLACES, rule.response)):
            for place in places:
                if side is None or (rule.is_of_parts and place.endswith("-body")):
                    continue
                made = Rule(
                    id=side.id or f"{place}-{rule.kind}",
                    level=side.level,
                    meaning=rule.meaning,
                    says=rule.says,
                    todo=side.todo,
                )
                yield (place, rule.kind), made


PLACED: Mapping[tuple[Place, str], Rule] = dict(_placed())
RULES: Mapping[str, Rule] = {
    rule.id: rule for rule in (*OPERATION_RULES, *ARGUMENT_RULES, *ANSWER_RULES, *PLACED.values())
}
