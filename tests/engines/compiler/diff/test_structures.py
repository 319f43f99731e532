"""Schemas that refer, combine and go round: what allows the same is no change, and a change is told by the
path that a script writes.
"""

from __future__ import annotations

from time import process_time
from typing import Any

from ammeter.engines.compiler.diff import diff_apis
from ammeter.engines.compiler.diff.graph import SchemaComparison
from ammeter.engines.compiler.model import Api
from tests.engines.compiler.diff.building import answer, answers_compared, api, changes, operation

STRING = {"type": "string"}
USER = {"$ref": "#/schemas/User"}


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listing(item: Any) -> dict[str, Any]:
    return thing(items={"type": "array", "items": item})


def test_a_change_in_a_named_schema_is_told_by_its_path_and_pointer() -> None:
    price = thing(price={"$ref": "#/schemas/Price"})
    found = answers_compared(
        listing(price), listing(price), Price=(thing(amount=STRING, currency=STRING), thing(currency=STRING))
    )
    assert [change.message for change in found] == [
        "Answer field `items[].price.amount` was removed; stop reading it."
    ]
    assert found[0].pointer == "/components/schemas/Price/properties/amount"


def test_a_schema_used_twice_in_one_answer_is_told_once_by_its_nearest_path() -> None:
    answer_schema = thing(deep=thing(author=USER), owner=USER)
    found = answers_compared(answer_schema, answer_schema, User=(thing(a=STRING), thing()))
    assert ["`owner.a`" in change.message for change in found] == [True]


def test_a_schema_used_by_two_operations_is_told_to_both() -> None:
    operations = [
        operation(id=name, path=f"/{name}", name=name, responses=(answer(USER),)) for name in ("one", "two")
    ]
    diff = diff_apis(
        api(*operations, schemas={"User": thing(a=STRING)}), api(*operations, schemas={"User": thing()})
    )
    assert [entry.sdk_name for entry in diff.breaking] == ["orders.one", "orders.two"]


def test_a_cycle_is_compared_once_from_wherever_it_is_entered() -> None:
    parent, child = {"$ref": "#/schemas/Parent"}, {"$ref": "#/schemas/Child"}
    schemas = {
        "Parent": (thing(child=child, name=STRING), thing(child=child)),
        "Child": (thing(parent=parent, age=STRING), thing(parent=parent)),
    }
    told = {
        name: [change.message.split("`")[1] for change in answers_compared(ref, ref, **schemas)]
        for name, ref in (("parent", parent), ("child", child))
    }
    assert told == {"parent": ["child.age", "name"], "child": ["age", "parent.name"]}


def test_cycles_whose_references_never_meet_come_to_an_end() -> None:
    old = {"A": thing(x=thing(x={"$ref": "#/schemas/A"}))}
    new = {
        "A": thing(x={"$ref": "#/schemas/B"}),
        "B": thing(x=thing(x=thing(x={"$ref": "#/schemas/A"})), y=STRING),
    }
    shared = operation(responses=(answer({"$ref": "#/schemas/A"}),))
    found = changes(diff_apis(api(shared, schemas=old), api(shared, schemas=new)))
    assert {change.rule for change in found} == {"response-optional-property-added"}


def test_an_entangled_conjunction_stops_with_a_warning() -> None:
    def rings(last: Any) -> dict[str, Any]:
        return {
            f"R{size}_{i}": thing(x={"$ref": f"#/schemas/R{size}_{(i + 1) % size}"}, y=last)
            for size in (7, 11, 13)
            for i in range(size)
        }

    whole = {"allOf": [{"$ref": f"#/schemas/R{size}_0"} for size in (7, 11, 13)]}
    comparison = SchemaComparison(rings(STRING), rings({"type": "integer"}), max_nodes=50)
    root = comparison.open("response", whole, whole, old_pointer="", new_pointer="")
    assert "comparison-cut-short" in {fact.kind for fact in comparison.facts(root)}


def test_properties_moved_into_a_base_are_no_change() -> None:
    flat = {**thing(id=STRING, name=STRING), "required": ["id"]}
    split = {"allOf": [{"$ref": "#/schemas/Base"}, thing(name=STRING)]}
    base = {**thing(id=STRING), "required": ["id"]}
    assert answers_compared(flat, split, Base=(base, base)) == []


def test_a_reference_and_what_it_refers_to_are_the_same() -> None:
    assert answers_compared(listing(USER), listing(thing(a=STRING)), User=(thing(a=STRING), {})) == []


def test_a_renamed_schema_is_no_change() -> None:
    other = {"$ref": "#/schemas/Person"}
    schemas = {"User": (thing(a=STRING), {}), "Person": ({}, thing(a=STRING))}
    assert answers_compared(listing(USER), listing(other), **schemas) == []
    assert answers_compared({"oneOf": [USER, STRING]}, {"oneOf": [other, STRING]}, **schemas) == []


def test_null_beside_a_reference_makes_it_nullable() -> None:
    found = answers_compared(
        thing(owner=USER),
        thing(owner={"anyOf": [USER, {"type": "null"}]}),
        User=(thing(a=STRING), thing(a=STRING)),
    )
    assert [change.rule for change in found] == ["response-property-became-nullable"]


def test_constants_in_a_union_are_an_enum() -> None:
    old = {"type": "string", "enum": ["a", "b"]}
    assert answers_compared(old, {"oneOf": [{"const": "a"}, {"const": "b"}]}) == []
    found = answers_compared(old, {"oneOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]})
    assert [change.rule for change in found] == ["response-body-enum-value-added"]


def test_a_value_that_became_a_union_has_new_variants_only() -> None:
    found = answers_compared(thing(id=STRING), thing(id={"oneOf": [STRING, {"type": "integer"}]}))
    assert [change.rule for change in found] == ["response-property-one-of-added"]


def test_a_list_of_types_is_the_union_of_them() -> None:
    both = {"type": ["string", "integer"]}
    assert answers_compared(both, {"anyOf": [STRING, {"type": "integer"}]}) == []


def test_variants_are_compared_with_their_like() -> None:
    dog = {"$ref": "#/schemas/Dog"}
    union = {"oneOf": [USER, dog]}
    schemas = {"User": (thing(a=STRING), thing()), "Dog": (thing(b=STRING), thing(b=STRING))}
    found = answers_compared(union, {"oneOf": [dog, USER]}, **schemas)
    assert [change.rule for change in found] == ["response-optional-property-removed"]


def test_values_of_a_map_are_compared() -> None:
    old, new = (
        {"type": "object", "additionalProperties": thing(a=kind)} for kind in (STRING, {"type": "integer"})
    )
    (change,) = answers_compared(old, new)
    assert (change.rule, "`*.a`" in change.message) == ("response-property-type-changed", True)


def test_nothing_is_said_of_parts_of_a_value_whose_type_changed() -> None:
    found = answers_compared(thing(a=thing(b=STRING)), thing(a=STRING))
    assert [change.rule for change in found] == ["response-property-type-changed"]


def test_a_field_that_is_only_written_is_missing_from_answers() -> None:
    found = answers_compared(thing(a=STRING), thing(a={**STRING, "writeOnly": True}))
    assert [change.rule for change in found] == ["response-optional-property-removed"]


def test_a_thousand_operations_over_shared_schemas_are_compared_quickly() -> None:
    def large(removed: str) -> Api:
        schemas = {
            f"S{n}": thing(
                **{f"f{i}": STRING for i in range(30) if n or f"f{i}" != removed},
                **{f"r{i}": {"$ref": f"#/schemas/S{(n * 3 + i * i + 1) % 400}"} for i in range(6)},
            )
            for n in range(400)
        }
        operations = (
            operation(
                id=f"op{n}",
                path=f"/{n}",
                name=f"op{n}",
                responses=(answer({"$ref": f"#/schemas/S{n % 400}"}),),
            )
            for n in range(1000)
        )
        return api(*operations, schemas=schemas)

    old, new = large(""), large("f3")
    start = process_time()
    diff = diff_apis(old, new)
    assert process_time() - start < 5
    assert len(diff.breaking) == 1000
