from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.compiler.described import ANSWER, read

TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        "list",
        "then",
        "__proto__",
        "constructor",
        "用户",
        "²",
        "ﬁ",
        "9",
        "a.b",
        "repos/list",
        "ListAll",
        "🙂",
        "ǅ",
        "ı",
    ]
)
RAW = st.fixed_dictionaries(
    {"responses": st.just(ANSWER)},
    optional={
        "operationId": TEXTS,
        "tags": st.lists(TEXTS, max_size=2),
        "x-ammeter-group": TEXTS,
        "x-speakeasy-group": TEXTS,
        "x-fern-sdk-group-name": st.lists(TEXTS, max_size=7),
        "x-speakeasy-name-override": TEXTS,
    },
)
PATHS = st.dictionaries(
    st.text("/ab{}-_.é9", max_size=10).map(lambda text: "/" + text),
    st.dictionaries(st.sampled_from(["get", "post", "put"]), RAW, min_size=1),
    min_size=1,
    max_size=8,
)


def names(paths: Any) -> dict[str, str]:
    return {operation.pointer: operation.sdk_name for operation in read(paths)[0].operations}


def name_of(path: str, method: str = "get", **raw: Any) -> str:
    return names({path: {method: {"responses": ANSWER, **raw}}}).popitem()[1]


@settings(max_examples=80, deadline=None)
@given(paths=PATHS, seed=st.integers(0, 9))
def test_names_are_unique_valid_and_do_not_hang_on_order_or_texts(paths: Any, seed: int) -> None:
    first = names(paths)
    assert len(set(first.values())) == len(first)
    for name in first.values():
        steps = name.split(".")
        assert len(steps) >= 2
        assert all(step.isidentifier() for step in steps)
        assert not {"__proto__", "constructor", "then", "toString", "toJSON"} & set(steps)
    groups = {name.rpartition(".")[0] for name in first.values()}
    assert not groups & set(first.values())
    items = list(paths.items())
    random.Random(seed).shuffle(items)
    edited = {
        path: {
            m: {**raw, "description": "new", "summary": "new", "deprecated": True}
            for m, raw in reversed(item.items())
        }
        for path, item in items
    }
    assert names(edited) == first


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (
            {"x-speakeasy-group": "admin.users", "x-speakeasy-name-override": "listAPIs"},
            "admin.users.listAPIs",
        ),
        (
            {"x-fern-sdk-group-name": ["admin", "teams"], "x-fern-sdk-method-name": "list_all"},
            "admin.teams.listAll",
        ),
        ({"x-fern-sdk-group-name": "admin"}, "admin.listThings"),
        (
            {
                "x-ammeter-group": "ours",
                "x-speakeasy-group": "theirs",
                "x-ammeter-name": "a",
                "x-fern-sdk-method-name": "b",
            },
            "ours.a",
        ),
        ({"x-ammeter-group": 5, "x-ammeter-name": ["x"], "tags": ["t"], "operationId": "o"}, "t.o"),
        ({"tags": ["Pet Store", "other"], "operationId": "getUserByID"}, "petStore.getUserByID"),
        ({"tags": ["pets"], "operationId": "pets.list-all"}, "pets.listAll"),
        ({"tags": ["pets"], "operationId": "PetsController_findAll"}, "pets.petsControllerFindAll"),
        ({"tags": [""], "operationId": "!!!"}, "things.list"),
        ({"tags": ["then"], "operationId": "__proto__"}, "then_.proto"),
        ({"tags": ["constructor"], "operationId": "delete"}, "constructor_.delete"),
        ({"tags": ["2fa"], "operationId": "3d"}, "_2fa._3d"),
        ({"tags": ["用户"], "operationId": "größe"}, "用户.größe"),
        ({"tags": ["x²"], "operationId": "ﬁnd"}, "x2.find"),
        ({"operationId": "read_item_things_get"}, "things.readItem"),
    ],
)
def test_a_name_comes_from_extensions_then_tags_and_operation_ids_then_the_path(raw: Any, name: str) -> None:
    assert name_of("/things", **raw) == name


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/v1/pets", "pets.list"),
        ("get", "/api/v2.1/pets/{id}", "pets.get"),
        ("post", "/pets", "pets.create"),
        ("put", "/pets/{id}", "pets.replace"),
        ("patch", "/pets/{id}", "pets.update"),
        ("delete", "/pets/{id}", "pets.delete"),
        ("get", "/pets/{id}/toys", "pets.listToys"),
        ("get", "/", "api.list"),
    ],
)
def test_without_an_id_the_verb_and_the_nouns_of_the_path_make_the_name(
    method: str, path: str, name: str
) -> None:
    assert name_of(path, method) == name


def test_of_several_operations_with_one_name_the_shortest_path_keeps_it() -> None:
    raw = {"operationId": "list", "tags": ["x"], "responses": ANSWER}
    paths = {path: {"get": raw} for path in ("/teams/{id}/members", "/members", "/teams")}
    assert sorted(names(paths).values()) == ["x.list", "x.listMembers", "x.listTeamsMembers"]


def test_names_that_two_clashes_would_both_take_are_given_once() -> None:
    def raw(name: str) -> Any:
        return {"get": {"operationId": name, "tags": ["x"], "responses": ANSWER}}

    paths = {
        "/a": raw("list"),
        "/a/b/c": raw("list"),
        "/b": raw("listA"),
        "/b/c": raw("listA"),
        "/c/b": raw("listAB"),
    }
    assert len(set(names(paths).values())) == 5


def test_deprecating_an_operation_renames_nothing() -> None:
    def paths(**more: Any) -> Any:
        return {
            "/a": {"get": {"operationId": "o", "responses": ANSWER, "tags": ["x"], **more}},
            "/ab": {"get": {"operationId": "o", "responses": ANSWER, "tags": ["x"]}},
        }

    assert names(paths()) == names(paths(deprecated=True))


def test_ten_thousand_claims_to_one_name_are_all_told_apart_quickly() -> None:
    paths = {
        f"/{'-' * (i % 100)}/{'_' * (i // 100)}": {"get": {"operationId": "o", "tags": ["t"]}}
        for i in range(10_000)
    }
    assert len(set(names(paths).values())) == 10_000
