from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.engines.compiler.model import Finding
from ammeter.engines.compiler.overlay import MAX_ACTIONS, apply_overlay

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "A", "version": "1"},
    "tags": [{"name": "a"}],
    "paths": {
        "/a": {"get": {"operationId": "listA", "tags": ["x", "y", "x"], "deprecated": True}},
        "/b": {"get": {"operationId": "listB", "tags": ["x"]}, "post": {"operationId": "makeB", "tags": []}},
    },
}


def overlay(*actions: Any, version: Any = "1.1.0", **more: Any) -> dict[str, Any]:
    return {"overlay": version, "info": {"title": "O", "version": "1"}, "actions": list(actions), **more}


def applied(*actions: Any, version: str = "1.1.0") -> dict[str, Any]:
    before = copy.deepcopy(DOCUMENT)
    sent = overlay(*actions, version=version)
    sent_before = copy.deepcopy(sent)
    made, findings = apply_overlay(DOCUMENT, sent)
    assert before == DOCUMENT
    assert sent == sent_before
    assert findings == ()
    assert made is not None
    assert type(made["paths"]) is dict
    return made


def faults(sent: Any) -> list[tuple[str, str]]:
    made, findings = apply_overlay(DOCUMENT, sent)
    assert made is None
    return [(f.code, f.pointer) for f in findings if f.level == "error"]


def warnings_of(*actions: Any, version: str = "1.1.0") -> list[Finding]:
    made, findings = apply_overlay(DOCUMENT, overlay(*actions, version=version))
    assert made is not None
    assert {f.level for f in findings} == {"warning"}
    return list(findings)


def test_an_update_merges_objects_appends_to_arrays_and_replaces_values() -> None:
    made = applied(
        {"target": "$.info", "update": {"title": "B", "contact": {"name": "c"}}},
        {"target": "$.tags", "update": {"name": "b"}},
        {"target": "$.tags", "update": [{"name": "c"}, {"name": "d"}]},
        {"target": "$.paths['/a'].get.operationId", "update": "allA"},
    )
    assert made["info"] == {"title": "B", "version": "1", "contact": {"name": "c"}}
    assert [tag["name"] for tag in made["tags"]] == ["a", "b", "c", "d"]
    assert made["paths"]["/a"]["get"]["operationId"] == "allA"


def test_a_merge_goes_deep_and_joins_arrays() -> None:
    made = applied(
        {"target": "$", "update": {"paths": {"/a": {"get": {"tags": ["z"], "x-n": {"m": 1}}}}, "x-r": 1}}
    )
    assert made["paths"]["/a"]["get"]["tags"] == ["x", "y", "x", "z"]
    assert made["paths"]["/a"]["get"]["x-n"] == {"m": 1}
    assert made["paths"]["/b"] == DOCUMENT["paths"]["/b"]
    assert made["x-r"] == 1


def test_removing_several_items_of_one_array_takes_the_right_ones() -> None:
    made = applied({"target": "$.paths['/a'].get.tags[?@ == 'x']", "remove": True})
    assert made["paths"]["/a"]["get"]["tags"] == ["y"]
    made = applied({"target": "$.paths['/a'].get.tags[0,0,-1]", "remove": True})
    assert made["paths"]["/a"]["get"]["tags"] == ["y"]


def test_removing_a_node_and_one_within_it_is_harmless() -> None:
    made = applied({"target": "$..[?@.operationId == 'listA' || @.operationId == 'listB']", "remove": True})
    assert made["paths"] == {"/a": {}, "/b": {"post": {"operationId": "makeB", "tags": []}}}
    assert applied({"target": "$.paths..*", "remove": True})["paths"] == {}


def test_filters_and_functions_of_the_rfc_select() -> None:
    made = applied(
        {"target": "$.paths.*[?@.deprecated == true]", "update": {"x-old": True}},
        {"target": "$.paths[?search(@.get.operationId, '^list[B-Z]')]", "update": {"x-found": 1}},
        {"target": "$.paths.*[?@.tags && count(@.tags[*]) == 0]", "update": {"x-untagged": True}},
    )
    assert made["paths"]["/a"]["get"]["x-old"] is True
    assert made["paths"]["/b"]["x-found"] == 1
    assert "x-found" not in made["paths"]["/a"]
    assert made["paths"]["/b"]["post"]["x-untagged"] is True


def test_actions_see_what_those_before_them_did() -> None:
    made = applied(
        {"target": "$.paths['/a']", "remove": True},
        {"target": "$.paths", "update": {"/a": {"put": {"operationId": "new"}}}},
        {"target": "$.paths['/a'].put", "update": {"x-n": 1}},
    )
    assert made["paths"]["/a"] == {"put": {"operationId": "new", "x-n": 1}}


def test_a_copy_takes_one_node_as_it_is_at_that_time() -> None:
    made = applied(
        {"target": "$.paths", "update": {"/c": {}}},
        {"target": "$.paths['/c']", "copy": "$.paths['/b']"},
        {"target": "$.paths['/c'].get", "update": {"operationId": "listC"}},
    )
    assert made["paths"]["/c"]["get"]["operationId"] == "listC"
    assert made["paths"]["/b"]["get"]["operationId"] == "listB"


def test_a_copy_of_none_or_several_nodes_breaks_the_overlay() -> None:
    for source in ("$.nothing", "$.paths.*"):
        assert faults(overlay({"target": "$.info", "copy": source})) == [("overlay_copy", "/actions/0/copy")]


def test_an_action_that_matches_nothing_is_told_with_its_pointer() -> None:
    found = warnings_of({"target": "$.info", "update": {}}, {"target": "$.paths['/z']", "remove": True})
    assert [(f.code, f.pointer) for f in found] == [("overlay_no_match", "/actions/1/target")]
    # Characters of a string are no nodes, though the library takes them for some.
    assert warnings_of({"target": "$.info.title[0:1]", "remove": True})[0].code == "overlay_no_match"


def test_actions_without_effect_are_told() -> None:
    assert warnings_of({"target": "$.info"})[0].code == "overlay_action_unused"
    assert (
        warnings_of({"target": "$.info.title", "remove": True, "update": "x"})[0].code
        == "overlay_action_unused"
    )


def test_version_1_0_is_understood_and_later_features_are_named() -> None:
    assert applied({"target": "$.info", "update": {"x-a": 1}}, version="1.0.0")["info"]["x-a"] == 1
    assert (
        warnings_of({"target": "$.info.title", "update": "B"}, version="1.0.0")[0].code == "overlay_version"
    )
    assert faults(overlay({"target": "$.tags", "copy": "$.info"}, version="1.0.0")) == [
        ("overlay_version", "/actions/0/copy")
    ]


@pytest.mark.parametrize(
    "query", ["", "info", "$.", "$[", "$..", "$ ", "$.a | $.b", "$[?@.a ==]", "$[?nope(@)]", "$.a" * 2000]
)
def test_an_invalid_query_breaks_the_overlay(query: str) -> None:
    assert faults(overlay({"target": query, "remove": True})) == [("overlay_jsonpath", "/actions/0/target")]


def test_an_invalid_pattern_in_a_query_is_told() -> None:
    _, findings = apply_overlay(
        DOCUMENT, overlay({"target": "$.paths.*[?match(@.operationId, '(')]", "remove": True})
    )
    assert findings[0].code == "overlay_jsonpath"
    assert "pattern" in findings[0].message


@pytest.mark.parametrize(
    ("target", "update"),
    [
        ("$.info", "text"),
        ("$.info", ["a"]),
        ("$.info.title", {"a": 1}),
        ("$", {"paths": 1}),
        ("$", {"tags": {"a": 1}}),
    ],
)
def test_a_value_of_another_kind_breaks_the_overlay(target: str, update: Any) -> None:
    assert faults(overlay({"target": target, "update": update})) == [
        ("overlay_incompatible", "/actions/0/update")
    ]


def test_targets_of_several_kinds_and_the_root_cannot_be_changed_like_that() -> None:
    mixed = {"target": "$.paths['/a'].get.*", "update": "x"}
    assert faults(overlay(mixed)) == [("overlay_mixed_targets", "/actions/0/update")]
    assert faults(overlay({"target": "$", "remove": True})) == [("overlay_remove_root", "/actions/0/target")]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, ("overlay_malformed", "")),
        ([], ("overlay_malformed", "")),
        ("text", ("overlay_malformed", "")),
        ({"info": {}, "actions": [{"target": "$", "update": {}}]}, ("overlay_version", "/overlay")),
        (overlay({"target": "$", "update": {}}, version="2.0.0"), ("overlay_version", "/overlay")),
        (overlay({"target": "$", "update": {}}, version=None), ("overlay_version", "/overlay")),
        (overlay(), ("overlay_malformed", "/actions")),
        ({**overlay(), "actions": {}}, ("overlay_malformed", "/actions")),
        (overlay(1), ("overlay_malformed", "/actions/0")),
        (overlay({"update": {}}), ("overlay_malformed", "/actions/0")),
        (overlay({"target": 1, "update": {}}), ("overlay_malformed", "/actions/0/target")),
        (overlay({"target": "$", "remove": "yes"}), ("overlay_malformed", "/actions/0/remove")),
        (overlay({"target": "$", "copy": 1}), ("overlay_malformed", "/actions/0/copy")),
        (overlay({"target": "$", "copy": "$", "update": {}}), ("overlay_malformed", "/actions/0")),
        (overlay({"target": "$", "updates": {}}), ("overlay_unknown_field", "/actions/0")),
        (overlay({"target": "$", "update": {}}, action=[]), ("overlay_unknown_field", "")),
        (overlay({"target": "$", "update": {}}, extends=1), ("overlay_malformed", "/extends")),
        ({**overlay({"target": "$", "update": {}}), "info": 1}, ("overlay_malformed", "/info")),
    ],
)
def test_a_malformed_overlay_gives_no_document(sent: Any, expected: tuple[str, str]) -> None:
    assert expected in faults(sent)


def test_a_misspelt_field_is_answered_with_the_one_meant() -> None:
    _, findings = apply_overlay(DOCUMENT, overlay({"target": "$", "updates": {}}))
    assert any('Did you mean "update"?' in finding.message for finding in findings)


def test_extensions_and_a_version_that_is_a_number_are_taken() -> None:
    made, findings = apply_overlay(
        DOCUMENT, {**overlay({"target": "$.info", "update": {}, "x-a": 1}), "overlay": 1.0, "x-b": 1}
    )
    assert made == DOCUMENT
    assert [f.code for f in findings] == ["version_not_a_string"]


@pytest.mark.parametrize(
    "action",
    [
        {"target": "$..[?count($..*) > 3]", "remove": True},
        {"target": "$..*..*..*..*..*..zz", "remove": True},
        {"target": "$.big..[?search(@, '(a|a)*(.*x.*){30}b')]", "remove": True},
        {"target": "$.big.*", "update": {"x": "y" * 100_000}},
    ],
)
def test_an_overlay_that_asks_for_too_much_work_is_stopped(action: dict[str, Any]) -> None:
    big = {f"k{i}": {"a": {"b": {"c": {"d": {"e": [1, 2]}}}}} for i in range(8_000)}
    started = time.process_time()
    made, findings = apply_overlay({"big": big}, overlay(action), max_steps=150_000)
    assert time.process_time() - started < 5
    assert made is None or [f.code for f in findings] == ["overlay_no_match"]


def test_copies_that_double_and_deepen_the_document_are_stopped() -> None:
    doubling = [{"target": "$.tags", "copy": "$.tags"}] * 60
    assert faults(overlay(*doubling))[-1][0] == "overlay_too_costly"
    nesting = [{"target": "$", "update": {"x": {}}}, *[{"target": "$.x", "copy": "$"}] * 40]
    assert faults(overlay(*nesting))[-1][0] in ("too_deep", "overlay_too_costly")
    assert faults(overlay(*[{"target": "$", "update": {}}] * (MAX_ACTIONS + 1))) == [
        ("overlay_too_costly", "/actions")
    ]


def test_a_deep_overlay_is_refused() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    assert faults(overlay({"target": "$", "update": deep})) == [("too_deep", "")]


names = st.sampled_from(
    ["a", "b", "info", "*", "..", "[0]", "[?@.a]", "[?@.a==1]", "['a']", "[1:3]", "[", "$", "@", ".", " "]
)
queries = st.lists(names, max_size=5).map(lambda parts: "$" + "".join(parts)) | st.text(max_size=20)


@settings(deadline=None, max_examples=120)
@given(
    queries,
    st.none() | st.integers() | st.text() | st.lists(st.integers()) | st.just({"a": [1]}),
    st.booleans(),
)
def test_no_query_and_no_update_raises(query: str, update: Any, remove: bool) -> None:
    made, findings = apply_overlay(
        {"a": {"a": 1, "b": [1, {"a": 2}]}, "info": "text"},
        overlay({"target": query, "update": update, "remove": remove}),
    )
    assert made is not None or any(f.level == "error" for f in findings)
