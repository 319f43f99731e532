"""Every way a run can end, as a table: marks and how the tester stopped in, the four words out."""

from __future__ import annotations

from itertools import product

import pytest

from ammeter.features.evals.marks import Stopped, decide, errored, score_of, summary
from ammeter.features.evals.model import JudgedBy, Mark, MarkWord, Verdict


def mark(word: str) -> Mark:
    """`P` and `p`: a required and an optional pass; F fail, N not applicable, E judge error, U unmarked."""
    marks: dict[str, MarkWord | None] = {
        "P": "pass",
        "F": "fail",
        "N": "not_applicable",
        "E": None,
        "U": None,
    }
    judged_by: JudgedBy | None = None if word.upper() == "U" else "model"
    return Mark(
        criterion_id=word,
        criterion_text=word,
        is_required=word.isupper(),
        mark=marks[word.upper()],
        reasoning="",
        judged_by=judged_by,
    )


def ended(words: str, **how: object) -> tuple[str, str, float | None, str]:
    verdict = decide([mark(word) for word in words], **how)  # type: ignore[arg-type]
    return verdict.status, verdict.outcome, verdict.score, verdict.classification


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("P", ("pass", "Passed", 1.0, "none")),
        ("Pp", ("pass", "Passed", 1.0, "none")),
        ("N", ("pass", "Passed", None, "none")),
        ("PNn", ("pass", "Passed", 1.0, "none")),
        ("Pf", ("partial", "PartlyPassed", 2 / 3, "criteria_failed")),
        ("f", ("partial", "PartlyPassed", 0.0, "criteria_failed")),
        ("F", ("fail", "Failed", 0.0, "criteria_failed")),
        ("PF", ("fail", "Failed", 0.5, "criteria_failed")),
        ("Fp", ("fail", "Failed", 1 / 3, "criteria_failed")),
        ("FE", ("fail", "Failed", 0.0, "criteria_failed")),
        ("PE", ("partial", "Incomplete", 1.0, "judge_error")),
        ("Pe", ("partial", "Incomplete", 1.0, "judge_error")),
        ("PU", ("partial", "Incomplete", 1.0, "none")),
        ("U", ("partial", "Incomplete", None, "none")),
        ("UE", ("partial", "Incomplete", None, "judge_error")),
        ("Uf", ("partial", "Incomplete", 0.0, "none")),
    ],
)
def test_marks_decide_how_a_run_that_was_played_ends(
    words: str, expected: tuple[str, str, float | None, str]
) -> None:
    assert ended(words) == expected


@pytest.mark.parametrize(
    ("words", "useful", "expected"),
    [
        ("P", True, ("partial", "Incomplete", 1.0, "limit_reached")),
        ("Pf", True, ("partial", "Incomplete", 2 / 3, "limit_reached")),
        ("N", True, ("partial", "Incomplete", None, "limit_reached")),
        ("F", True, ("fail", "Failed", 0.0, "criteria_failed")),
        ("P", False, ("fail", "Errored", None, "limit_reached")),
    ],
)
def test_a_limit_leaves_a_run_incomplete_or_without_use(
    words: str, useful: bool, expected: tuple[str, str, float | None, str]
) -> None:
    assert ended(words, stopped="limit", useful_work=useful) == expected


def test_a_denied_call_is_named_as_the_cause_of_a_failed_criterion_and_of_nothing_else() -> None:
    assert ended("F", denied_calls=1)[3] == "tool_policy"
    assert ended("Pf", denied_calls=1)[3] == "tool_policy"
    assert ended("P", denied_calls=1) == ("pass", "Passed", 1.0, "none")


def test_what_could_not_be_carried_out_is_errored() -> None:
    verdict = errored("source_unreachable")
    assert verdict == Verdict(
        status="fail", outcome="Errored", score=None, classification="source_unreachable"
    )


def test_the_laws_hold_for_every_combination_of_three_criteria() -> None:
    for words in product("PpFfNnEeUu", repeat=3):
        for stopped in ("done", "limit"):
            verdict = decide([mark(word) for word in words], stopped=_stopped(stopped))
            failed_required = "F" in words
            undecided = bool(set(words) & set("EeUu"))
            assert (verdict.status == "pass") == (verdict.outcome == "Passed")
            assert (verdict.outcome == "Failed") == failed_required
            if undecided or stopped == "limit":
                assert verdict.outcome in ("Incomplete", "Failed")
            if verdict.outcome == "Passed":
                assert not set(words) & set("Ff")
            assert verdict.score is None or 0 <= verdict.score <= 1
            assert (verdict.score is None) == (not set(words) & set("PpFf"))


def test_required_criteria_weigh_twice() -> None:
    assert score_of([mark(word) for word in "PFpf"]) == 0.5
    assert score_of([mark(word) for word in "Pff"]) == 0.5
    assert score_of([]) is None


def test_the_summary_counts_and_names_what_failed() -> None:
    told = summary([mark(word) for word in "PFNE"])
    assert told == "1 of 4 criteria passed, 1 failed, 1 did not apply, 1 could not be decided. Failed: F"


def _stopped(word: str) -> Stopped:
    return "limit" if word == "limit" else "done"
