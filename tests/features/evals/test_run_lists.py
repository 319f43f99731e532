"""Runs by their tags: whole tags, all of them, with every other filter, and in every order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.features.evals import history, list_store, store
from tests.evaluating import add_source, create, plan, step
from tests.household import OPERATOR, Household

TAGS = (("ci",), ("suite", "ci"), ("cinema",), ("CI",), ("nightly é",))


@pytest.fixture
def tagged(lab: Household) -> list[str]:
    """A run with each of the tags, the last the newest; their ids."""
    source = add_source(lab.house, lab.org.id, "https://notes.example/mcp")
    case_id = create(lab, source, plan(step("list_notes")))["workflow"]["id"]
    made = []
    with lab.house.db.write() as tx:
        first = store.last_runs(tx, lab.org.id, [case_id])[case_id]
        for number, tags in enumerate(TAGS):
            at = now() - timedelta(hours=9 - number)
            score = number / 10 if number else None
            run = replace(first, id=new_id(), job_id=None, tags=tags, at=at, score=score, search_text="x")
            store.insert_run(tx, run)
            made.append(run.id)
    return made


def asked(lab: Household, tagged: list[str], *tags: str, **more: Any) -> list[int]:
    query = replace(history.since("24h"), tags=tags, **more)
    with lab.house.db.read() as tx:
        found = history.search_runs(tx, OPERATOR, lab.org.id, query, PageRequest())
    assert found.total == len(found.rows)
    return [tagged.index(run.id) for run in found.rows]


def test_a_run_has_a_tag_whole_or_not_at_all(lab: Household, tagged: list[str]) -> None:
    assert asked(lab, tagged, "ci") == [1, 0]
    assert asked(lab, tagged, "suite", "ci") == [1]
    assert asked(lab, tagged, "CI") == [3]
    assert asked(lab, tagged, "nightly é") == [4]
    assert asked(lab, tagged, "%") == []
    assert asked(lab, tagged, "ci", "cinema") == []


def test_tags_go_with_filters_orders_and_pages(lab: Household, tagged: list[str]) -> None:
    assert asked(lab, tagged, "ci", sort="startedAt") == [0, 1]
    assert asked(lab, tagged, "ci", sort="score") == [1, 0]
    assert asked(lab, tagged, "ci", status="fail") == []
    assert asked(lab, tagged, "ci", search="x") == [1, 0]
    query = replace(history.since("24h"), tags=("ci",))
    with lab.house.db.read() as tx:
        pages = [
            history.search_runs(tx, OPERATOR, lab.org.id, query, PageRequest(page=number, page_size=1))
            for number in (1, 2, 3)
        ]
    assert [[run.id for run in page.rows] for page in pages] == [[tagged[1]], [tagged[0]], []]
    assert [page.total for page in pages] == [2, 2, 2]


def test_of_very_many_runs_the_newest_are_looked_through_and_that_is_told(
    lab: Household, tagged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = replace(history.since("24h"), tags=("ci",))
    with lab.house.db.read() as tx:
        assert not history.is_cut(tx, lab.org.id, query)
        monkeypatch.setattr(list_store, "_SEARCHED", 5)
        assert history.is_cut(tx, lab.org.id, query)
        assert not history.is_cut(tx, lab.org.id, replace(query, tags=()))
    assert asked(lab, tagged, "ci") == [1]
