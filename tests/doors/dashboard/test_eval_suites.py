"""`/suites`: made, changed, run and archived; a suite run live, its gate with reasons, its baseline."""

from __future__ import annotations

import re
import shlex
from html import unescape
from typing import Any

import pytest

from ammeter.doors.dashboard.evals.suites import gate_words
from ammeter.features.orgs.model import Role
from ammeter.features.suites.model import Gate
from tests.doors.dashboard.evaluated import a_case, a_mark, end, notes
from tests.doors.dashboard.people import Person, person
from tests.household import Household
from tests.own_tools import use_tool


@pytest.fixture
def cases(tenant: Household) -> list[str]:
    source = notes(tenant)
    return [a_case(tenant, source, name) for name in ("Alpha", "Beta")]


def a_suite(tenant: Household, cases: list[str], **fields: Any) -> str:
    body = {"name": "release", "caseIds": cases} | fields
    answer = tenant.call("POST", "/suites", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def started(tenant: Household, suite_id: str, **fields: Any) -> Any:
    return use_tool(tenant, "run_eval_suite", suite=suite_id, **fields)


def play(tenant: Household, suite_run: Any, *words: Any) -> None:
    """End the runs of a suite run, one mark for each case."""
    for case, word in zip(suite_run["cases"], words, strict=True):
        for run in case["runs"]:
            end(tenant, run["id"], [a_mark(f"{case['name']} holds", word)], cost_usd=0.25)


def stored(tenant: Household, suite_id: str) -> Any:
    return tenant.call("GET", f"/suites/{suite_id}").json()


def names(somebody: Person, query: str = "") -> list[str]:
    return re.findall(r'<th scope="row"><a [^>]+>([^<]+)', somebody.get(f"/suites{query}").text)


def test_a_gate_is_said_in_words() -> None:
    assert gate_words(Gate()) == "Every case passes."
    assert gate_words(Gate(min_score=0.8)) == "Every case scores 80% or more."
    assert gate_words(Gate(strict=True, max_cost_usd=5)) == (
        "Every case passes every criterion, for at most $5.00."
    )
    assert gate_words(Gate(require_all=False, min_score=0.5)) == "The mean score is 50% or more."
    assert gate_words(Gate(min_pass_rate=0.75)) == "Every case passes in 75% of its repeats."


def test_empty_pages_say_what_to_do(tenant: Household) -> None:
    with person(tenant, Role.editor) as editor:
        assert 'href="/cases"' in editor.get("/suites").text
        assert 'href="/cases/new"' in editor.get("/suites/new").text
        assert "No suite runs yet" in editor.get("/suites/runs").text
        a_case(tenant, notes(tenant))
        assert "No suites yet" in editor.get("/suites").text


def test_a_suite_is_made_and_changed(tenant: Household, cases: list[str]) -> None:
    with person(tenant, Role.editor) as editor:
        sent = {
            "name": "release",
            "case": cases,
            "repeats": "3",
            "require_all": "yes",
            "min_score": "80 %",
            "min_pass_rate": "66.5",
            "max_cost_usd": "$2.50",
        }
        led = editor.post("/suites/new", **sent).headers["location"]
        suite_id = led.rpartition("/")[2]
        suite = stored(tenant, suite_id)
        assert (suite["name"], suite["repeats"]) == ("release", 3)
        assert [case["id"] for case in suite["cases"]] == cases
        assert suite["gate"] == {
            "minScore": 0.8,
            "requireAll": True,
            "strict": False,
            "minPassRate": 0.665,
            "maxCostUsd": 2.5,
        }
        page = editor.get(led).text
        assert "Every case scores 80% or more" in page
        shown = editor.get(f"/suites/{suite_id}/edit").text
        assert shown.count(" checked>") == 3
        changed = {
            "name": "nightly",
            "case": cases[:1],
            "repeats": "1",
            "require_all": "yes",
            "strict": "yes",
        }
        assert editor.post(f"/suites/{suite_id}/edit", **changed).status_code == 303
        after = stored(tenant, suite_id)
        assert (after["name"], after["gate"]["strict"], after["gate"]["minScore"]) == ("nightly", True, None)


def test_a_name_for_a_shell_is_quoted(tenant: Household, cases: list[str]) -> None:
    name = "x; rm -rf ~ # 'y'"
    suite_id = a_suite(tenant, cases, name=name)
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get(f"/suites/{suite_id}").text
        code = re.sub(r"<[^>]+>", "", page.partition("From CI")[2].partition("</pre>")[0])
        command = unescape(code).strip().splitlines()[-1].strip()
        assert shlex.split(command) == ["ammeter", "gate", "--suite", name]


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": ""}, 'id="e-name"'),
    ({"case": []}, "Choose 1 to 200 cases"),
    ({"case": ["none"]}, "There is no such workflow"),
    ({"repeats": "0"}, 'id="e-repeats"'),
    ({"repeats": "99"}, 'id="e-repeats"'),
    ({"min_score": "120"}, 'id="e-min_score"'),
    ({"max_cost_usd": "0"}, 'id="e-max_cost_usd"'),
    ({"require_all": []}, 'id="e-min_score"'),
)


def test_what_is_wrong_with_a_suite_stands_at_its_field(tenant: Household, cases: list[str]) -> None:
    with person(tenant, Role.editor) as editor:
        for change, told in WRONG:
            sent = {"name": "release", "case": cases, "repeats": "1", "require_all": "yes"} | change
            answer = editor.post("/suites/new", **sent)
            assert answer.status_code == 422, change
            assert told in answer.text, change
        assert names(editor) == []


def test_a_name_that_is_taken_is_told(tenant: Household, cases: list[str]) -> None:
    a_suite(tenant, cases)
    with person(tenant, Role.editor) as editor:
        answer = editor.post("/suites/new", name="release", case=cases, require_all="yes")
        assert answer.status_code == 422
        assert "There is a suite called" in answer.text


def test_the_list_filters_sorts_and_tells_the_last_run(tenant: Household, cases: list[str]) -> None:
    play(tenant, started(tenant, a_suite(tenant, cases, name="Beta")), "pass", "pass")
    a_suite(tenant, cases[:1], name="alpha")
    with person(tenant, Role.viewer) as viewer:
        assert names(viewer) == ["alpha", "Beta"]
        assert names(viewer, "?sort=-cases") == ["Beta", "alpha"]
        assert names(viewer, "?q=bet") == ["Beta"]
        assert names(viewer, "?status=pass") == ["Beta"]
        assert names(viewer, "?status=never") == ["alpha"]
        page = viewer.get("/suites").text
        assert "Ready to ship" in page
        assert not re.search(r'action="/suites/', page.replace('action="/suites" role="search"', ""))


def test_a_suite_run_is_watched_to_its_end(tenant: Household, cases: list[str]) -> None:
    suite_id = a_suite(tenant, cases, gate={"maxCostUsd": 3})
    with person(tenant, Role.editor) as editor:
        led = editor.post(f"/suites/{suite_id}/run", reason="rc 1", baseline="last").headers["location"]
        run_id = led.rpartition("/")[2]
        page = editor.get(led).text
        for shown in ("Under way", "0 of 2", "rc 1", 'hx-trigger="every 1s"', '<dialog id="cancel"', "$3.00"):
            assert shown in page, shown
        assert 'hx-trigger="every 2s"' in editor.get("/suites").text
        suite_run = use_tool(tenant, "get_suite_run", suiteRunId=run_id)
        assert suite_run["trigger"] == "dashboard"
        [first, second] = (case["runs"][0]["id"] for case in suite_run["cases"])
        end(tenant, first, [a_mark("Alpha holds")], cost_usd=0.25)
        live = editor.get(f"{led}/live", **{"hx-request": "true"})
        assert "1 of 2" in live.text
        assert "$0.25" in live.text
        assert "hx-redirect" not in live.headers
        end(tenant, second, [a_mark("Beta holds", "fail")], cost_usd=0.25)
        over = editor.get(f"{led}/live", **{"hx-request": "true"})
        assert over.headers["hx-redirect"] == led
        page = editor.get(led).text
        assert "Not ready to ship" in page
        assert "&#39;Beta&#39; on builtin/scripted did not pass" in page
        assert "$0.50" in page
        assert "every 1s" not in page


def test_a_suite_run_is_compared_with_its_baseline(tenant: Household, cases: list[str]) -> None:
    source = notes(tenant)
    third, fourth = a_case(tenant, source, "Gamma"), a_case(tenant, source, "Delta")
    suite_id = a_suite(tenant, [*cases, third, fourth])
    before = started(tenant, suite_id)
    play(tenant, before, "pass", "fail", "pass", "pass")
    # Delta goes, Epsilon comes, and Gamma is another test than before.
    new = a_case(tenant, source, "Epsilon")
    tenant.call("PATCH", f"/suites/{suite_id}", json={"caseIds": [*cases, third, new]})
    tenant.call("PATCH", f"/workflows/{third}", json={"description": "another"})
    after = started(tenant, suite_id, baselineSuiteRunId="last")
    play(tenant, after, "fail", "pass", "pass", "pass")
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get(f"/suites/runs/{after['id']}").text
        for word in ("regressed", "fixed", "new", "removed", "undecidable"):
            assert f">1 {word}<" in page, word
        assert f'href="/suites/runs/{before["id"]}"' in page
        assert "The workflow was changed since the baseline." in page
        assert "The wholes cannot be compared" in page
        assert "Alpha holds: pass → fail" in page
        only = viewer.get(f"/suites/runs/{after['id']}?change=regressed").text
        assert "Alpha holds: pass → fail" in only
        assert "Beta holds: fail → pass" not in only
        back = viewer.get(f"/suites/runs/{before['id']}?baseline={after['id']}").text
        assert "Alpha holds: fail → pass" in back
        alone = viewer.get(f"/suites/runs/{before['id']}").text
        assert "Choose a suite run to compare with" in alone


def test_a_suite_run_is_cancelled(tenant: Household, cases: list[str]) -> None:
    suite_run = started(tenant, a_suite(tenant, cases))
    with person(tenant, Role.editor) as editor:
        path = f"/suites/runs/{suite_run['id']}"
        assert editor.post(f"{path}/cancel").headers["location"] == path
        page = editor.get(path).text
        assert "The suite run was cancelled." in page
        assert '<dialog id="cancel"' not in page


def test_an_archived_suite_is_run_no_more(tenant: Household, cases: list[str]) -> None:
    suite_id = a_suite(tenant, cases)
    with person(tenant, Role.editor) as editor:
        assert '<dialog id="archive"' in editor.get(f"/suites/{suite_id}").text
        assert editor.post(f"/suites/{suite_id}/archive").headers["location"] == "/suites"
        assert names(editor) == []
        assert f'action="/suites/{suite_id}/run"' not in editor.get(f"/suites/{suite_id}").text
        assert editor.post(f"/suites/{suite_id}/run").status_code == 409
        assert editor.post(f"/suites/{suite_id}/run", repeats="x").status_code == 422


def test_viewers_are_offered_nothing_and_strangers_see_nothing(
    tenant: Household, neighbour: Household, cases: list[str]
) -> None:
    suite_id = a_suite(tenant, cases)
    suite_run = started(tenant, suite_id)
    with person(tenant, Role.viewer) as viewer:
        for path in ("/suites", f"/suites/{suite_id}", "/suites/runs", f"/suites/runs/{suite_run['id']}"):
            page = viewer.get(path)
            assert page.status_code == 200
            assert not re.search(
                r'(action|href)="/suites/(new|[^"]+/(edit|run|archive|cancel))"', page.text
            ), path
    with person(neighbour, Role.owner) as stranger:
        for path in (f"/suites/{suite_id}", f"/suites/{suite_id}/edit", f"/suites/runs/{suite_run['id']}"):
            assert stranger.get(path).status_code == 404
        for path in (f"/suites/{suite_id}/run", f"/suites/runs/{suite_run['id']}/cancel"):
            assert stranger.post(path).status_code == 404
