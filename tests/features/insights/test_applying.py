"""A proposal put to the overlay that is kept: nothing goes, nothing comes twice, and it still compiles so."""

from __future__ import annotations

import json
from typing import Any

from ammeter.engines.compiler.overlay import apply_overlay
from ammeter.features.insights.applying import applied

TARGET = "$.paths['/reports/sales'].get"
DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {"/reports/sales": {"get": {"summary": "Sales", "description": "Tells sales."}}},
}


def proposal(**update: str) -> dict[str, Any]:
    return {
        "overlay": "1.0.0",
        "info": {"title": "Words that agents use", "version": "1.0.0"},
        "actions": [{"target": TARGET, "update": update}],
    }


def compiled(overlay: dict[str, Any]) -> dict[str, str]:
    document, findings = apply_overlay(DOCUMENT, overlay)
    assert document is not None, findings
    told: dict[str, str] = document["paths"]["/reports/sales"]["get"]
    return told


TURNOVER = proposal(description="Tells sales.\n\nAlso known as: turnover.")
REVENUE = proposal(description="Tells sales.\n\nAlso known as: revenue.", summary="Sales (revenue)")


def test_where_nothing_is_kept_it_is_the_proposal() -> None:
    assert applied(None, TURNOVER) == TURNOVER


def test_what_is_kept_stays_as_it_is_before_the_proposal() -> None:
    kept = {
        "overlay": "1.1.0",
        "info": {"title": "Ours", "version": "7"},
        "x-owner": "docs",
        "actions": [{"target": "$.info", "update": {"title": "The shop"}}, {"target": "$.x", "remove": True}],
    }
    before = json.dumps(kept)
    made = applied(kept, TURNOVER)
    assert made == {**kept, "actions": [*kept["actions"], *TURNOVER["actions"]]}
    assert json.dumps(kept) == before


def test_the_same_proposal_is_applied_once() -> None:
    once = applied(None, TURNOVER)
    assert applied(once, TURNOVER) == once


def test_words_of_an_earlier_proposal_for_the_same_operation_stay() -> None:
    made = applied(applied(None, TURNOVER), REVENUE)
    assert compiled(made) == {
        "summary": "Sales (revenue)",
        "description": "Tells sales.\n\nAlso known as: turnover.\n\nAlso known as: revenue.",
    }
    again = applied(made, proposal(summary="Sales (income)"))
    assert compiled(again)["summary"] == "Sales (revenue) (income)"


def test_a_proposal_that_was_made_after_the_one_before_is_taken_as_it_is() -> None:
    both = "Tells sales.\n\nAlso known as: turnover.\n\nAlso known as: revenue."
    assert compiled(applied(TURNOVER, proposal(description=both)))["description"] == both


def test_words_that_are_there_are_not_said_twice() -> None:
    kept = applied(applied(None, TURNOVER), REVENUE)
    assert compiled(applied(kept, TURNOVER)) == compiled(kept)
    assert (
        applied({"actions": [7, {"target": TARGET, "update": [1]}]}, TURNOVER)["actions"][2:]
        == (TURNOVER["actions"])
    )
