"""What holds of every diff, whatever the schemas: nothing changed in the same description, nothing is
raised, and what one direction adds the other removes.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ammeter.engines.compiler.diff import diff_apis
from ammeter.engines.compiler.model import Api, Operation
from tests.engines.compiler.diff.building import answer, api, body, operation, parameter

NAMES = st.sampled_from(["A", "B", "C"])
KEYS = st.sampled_from(["id", "name", "title", "x/y", "default"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])
LITERALS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["a", "b"])


def extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, unique=True, max_size=3),
            "properties": st.dictionaries(KEYS, inner, max_size=3),
            "required": st.lists(KEYS, unique=True, max_size=2),
            "items": inner,
            "prefixItems": parts,
            "additionalProperties": st.booleans() | inner,
            "oneOf": parts,
            "anyOf": parts,
            "allOf": parts,
            "not": inner,
            "enum": st.lists(LITERALS, max_size=3),
            "const": LITERALS,
            "default": LITERALS,
            "maximum": st.integers() | st.floats(),
            "minLength": st.integers(0, 5),
            "multipleOf": st.floats() | st.integers(),
            "pattern": st.sampled_from(["^a", "{b}"]),
            "format": st.sampled_from(["uuid", "int64", "date"]),
            "readOnly": st.booleans(),
            "writeOnly": st.booleans(),
            "deprecated": st.booleans(),
        },
    )


REFERENCES = NAMES.map(lambda name: {"$ref": f"#/schemas/{name}"})
SCHEMAS = st.recursive(
    REFERENCES | st.fixed_dictionaries({}, optional={"type": TYPES}), extended, max_leaves=6
)


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    number = draw(st.integers(0, 6))
    return operation(
        id=draw(st.sampled_from(["a", "b", "c", "d"])),
        path=f"/p{number}/{{{draw(KEYS)}}}",
        name=f"m{draw(st.integers(0, 6))}",
        method=draw(st.sampled_from(["get", "post"])),
        parameters=tuple(
            parameter(name, draw(SCHEMAS), required=draw(st.booleans()))
            for name in draw(st.lists(KEYS, unique=True, max_size=2))
        ),
        body=draw(st.none() | st.builds(body, SCHEMAS)),
        responses=tuple(
            answer(draw(SCHEMAS), status)
            for status in draw(
                st.lists(st.sampled_from(["200", "201", "404", "default"]), unique=True, max_size=3)
            )
        ),
    )


APIS = st.builds(
    lambda ops, schemas: api(*ops, schemas=schemas),
    st.lists(operations(), max_size=4),
    st.dictionaries(NAMES, SCHEMAS, max_size=3),
)
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(APIS)
def test_a_description_does_not_differ_from_itself(one: Api) -> None:
    diff = diff_apis(one, copy.deepcopy(one))
    assert (diff.added, diff.removed, diff.signature_changed, diff.breaking) == ((), (), (), ())


@FEW
@given(APIS, APIS)
def test_any_two_descriptions_can_be_compared_and_always_with_the_same_result(old: Api, new: Api) -> None:
    diff = diff_apis(old, new)
    assert diff == diff_apis(copy.deepcopy(old), copy.deepcopy(new))
    assert set(diff.breaking) == {e for e in (*diff.removed, *diff.signature_changed) if e.is_breaking}


@FEW
@given(APIS, APIS)
def test_what_one_direction_adds_the_other_removes(old: Api, new: Api) -> None:
    there, back = diff_apis(old, new), diff_apis(new, old)
    for added, removed in ((there.added, back.removed), (back.added, there.removed)):
        told = [
            [(e.operation_id, e.method, e.path, e.sdk_name) for e in entries] for entries in (added, removed)
        ]
        assert told[0] == told[1]
