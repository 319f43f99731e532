"""Suites for tests: cases that pass or fail as a note is there or not, and suite runs played to their end."""

from __future__ import annotations

from typing import Any

from ammeter.features.sources.model import Source
from tests.evaluating import create, plan, step, work_off
from tests.household import Household
from tests.own_tools import use_tool

NO_WAIT = {"maxAttempts": 1, "backoffSeconds": 0}


def case(household: Household, source: Source, title: str, **fields: Any) -> str:
    """A case that holds while there is a note of this title; its id."""
    criterion = {
        "criterionText": f"The note {title} is read",
        "assertion": {"kind": "tool_result_contains", "tool": "get_note", "text": "kept"},
    }
    told = {"name": f"Read {title}", "criteria": [criterion], "retryPolicy": NO_WAIT} | fields
    made = create(household, source, plan(step("get_note", title=title)), **told)
    case_id: str = made["workflow"]["id"]
    return case_id


def suite(household: Household, *case_ids: str, **fields: Any) -> dict[str, Any]:
    body = {"name": "Release", "caseIds": list(case_ids)} | fields
    answer = household.call("POST", "/suites", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def start(household: Household, suite_id: str, **fields: Any) -> dict[str, Any]:
    started: dict[str, Any] = use_tool(household, "run_eval_suite", suite=suite_id, **fields)
    return started


def read(household: Household, suite_run_id: str, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = use_tool(household, "get_suite_run", suiteRunId=suite_run_id, **fields)
    return found


def played(household: Household, suite_id: str, **fields: Any) -> dict[str, Any]:
    """A suite run, read after its end."""
    started = start(household, suite_id, **fields)
    work_off(household)
    return read(household, started["id"])
