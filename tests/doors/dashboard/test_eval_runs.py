"""`/runs`: the history by filters, tags, order and page of the address; one run with its evidence, its trace,
its cost and its baseline; what can be done with it, and by whom."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.features.evals import history, store
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.evaluated import a_case, a_mark, a_run, end, happened, notes, set_run, waiting_run
from tests.doors.dashboard.people import Person, person
from tests.evaluating import add_source
from tests.household import OPERATOR, Household
from tests.own_tools import use_tool

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}</textarea></title>"
MARKS = ("<script>alert", "<img src=x", "{{7*7}}</textarea>")


@pytest.fixture
def case_id(tenant: Household) -> str:
    return a_case(tenant, notes(tenant), "Alpha")


def rows(somebody: Person, query: str = "") -> list[str]:
    page = somebody.get(f"/runs{query}")
    assert page.status_code == 200, page.text
    return re.findall(r'<th scope="row"><a href="/runs/([^"]+)"', page.text)


def test_without_runs_the_page_says_what_to_do(tenant: Household) -> None:
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get("/runs").text
        assert "No runs in the last 7 days" in page
        assert 'href="/cases"' in page
        assert "No run fits" in viewer.get("/runs?status=fail").text


def test_the_history_filters_sorts_and_pages(tenant: Household, case_id: str) -> None:
    first = end(tenant, waiting_run(tenant, case_id), [a_mark("x", "fail")], cost_usd=0.5)
    second = end(tenant, a_run(tenant, case_id, reason="build 7"), [a_mark("x")], cost_usd=0.1)
    third = a_run(tenant, case_id)
    set_run(tenant, first.id, at=now() - timedelta(days=10))
    with person(tenant, Role.viewer) as viewer:
        assert rows(viewer) == [third, second.id]
        assert rows(viewer, "?range=30d&sort=startedAt") == [first.id, second.id, third]
        assert rows(viewer, "?range=30d&sort=-costUsd")[:2] == [first.id, second.id]
        assert rows(viewer, "?range=30d&status=fail") == [first.id]
        assert rows(viewer, "?range=30d&cause=criteria_failed") == [first.id]
        assert rows(viewer, "?q=BUILD+7") == [second.id]
        assert rows(viewer, f"?case={case_id}") == [third, second.id]
        assert rows(viewer, "?range=nonsense&status=nonsense&sort=nonsense&page=-3") == [third, second.id]
        page = viewer.get("/runs").text
        for shown in ("$0.10", "100 %", "Waiting", "Alpha", "Notes"):
            assert shown in page
        assert viewer.get(f"/runs?case={new_id()}").status_code == 404


def test_a_tag_is_a_tag_and_not_a_part_of_a_word(tenant: Household, case_id: str) -> None:
    other = a_case(tenant, notes(tenant), "A decision about pricing")
    mine = a_run(tenant, case_id)
    with person(tenant, Role.viewer) as viewer:
        # Both are started anew by CI; the first runs of the cases are not, though their names hold a "ci".
        assert rows(viewer, "?tag=ci") == [mine]
        assert set(rows(viewer, "?tag=initial")) == {waiting_of(tenant, case_id), waiting_run(tenant, other)}
        assert rows(viewer, "?tag=ci&status=fail") == []
        page = viewer.get("/runs?tag=ci").text
        assert '<a href="/runs?tag=ci" aria-current="page">CI</a>' in page
        assert '<input type="hidden" name="tag" value="ci">' in page


def waiting_of(tenant: Household, case_id: str) -> str:
    """The oldest run of a case."""
    found = tenant.call("GET", f"/runs?workflowId={case_id}&sort=startedAt").json()["rows"]
    return str(found[0]["id"])


def test_many_runs_of_a_tag_turn_their_pages(tenant: Household, case_id: str) -> None:
    with tenant.house.db.write() as tx:
        run = history.get_run(tx, OPERATOR, tenant.org.id, waiting_run(tenant, case_id))
        for number in range(29):
            at = now() - timedelta(minutes=number + 1)
            one = replace(run, id=new_id(), job_id=None, tags=("nightly",), at=at, search_text="nightly")
            store.insert_run(tx, one)
    with person(tenant, Role.viewer) as viewer:
        assert len(rows(viewer, "?tag=nightly")) == 25
        assert len(rows(viewer, "?tag=nightly&page=2")) == 4
        assert 'href="/runs?tag=nightly&amp;page=2"' in viewer.get("/runs?tag=nightly").text
        assert "There is no such page" in viewer.get("/runs?tag=nightly&page=9").text


def test_runs_under_way_are_kept_fresh_and_ended_ones_are_left_alone(tenant: Household, case_id: str) -> None:
    run_id = waiting_run(tenant, case_id)
    with person(tenant, Role.viewer) as viewer:
        assert 'hx-trigger="every 2s"' in viewer.get("/runs").text
        assert 'hx-trigger="every 1s"' in viewer.get(f"/runs/{run_id}").text
        set_run(tenant, run_id, phase="testing", turns=3)
        live = viewer.get(f"/runs/{run_id}/live", **{"hx-request": "true"})
        assert "<html" not in live.text
        assert "Testing" in live.text
        assert "3 turns" in live.text
        assert "hx-redirect" not in live.headers
        end(tenant, run_id, [a_mark("x")])
        assert "hx-trigger" not in viewer.get("/runs").text
        assert "every 1s" not in viewer.get(f"/runs/{run_id}").text
        over = viewer.get(f"/runs/{run_id}/live", **{"hx-request": "true"})
        assert over.headers["hx-redirect"] == f"/runs/{run_id}"
        assert "every 1s" not in over.text


def test_evidence_leads_to_its_place_in_the_trace(tenant: Household, case_id: str) -> None:
    marks = [
        a_mark("The note is read", "pass", ("call-2", '"litres":2')),
        a_mark("It is said", "fail", ("turn-4", "There is milk.")),
        a_mark(
            "Undecided", None, judged_by="model", problem="The judge gave no usable answer.", votes=("x",)
        ),
    ]
    run = end(tenant, waiting_run(tenant, case_id), marks)
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get(f"/runs/{run.id}").text
        for place in ("quote-0-0", "quote-1-0"):
            assert f'href="#{place}"' in page
            assert page.count(f'id="{place}"') == 1
        assert '<mark id="quote-0-0" tabindex="-1">&#34;litres&#34;: 2</mark>' in page
        for shown in ("Arguments", "Result", "get_note", "$0.01", "30 ms", "20 in, 10 out"):
            assert shown in page, shown
        assert "The judge gave no usable answer." in page
        assert page.count("<rect ") == 3


def test_a_run_is_compared_with_its_baseline_or_any_other(tenant: Household, case_id: str) -> None:
    before = end(tenant, waiting_run(tenant, case_id), [a_mark("The note is read")])
    other = end(tenant, a_run(tenant, case_id), [a_mark("The note is read", "fail")])
    run = end(tenant, a_run(tenant, case_id, baselineRunId=before.id), [a_mark("The note is read", "fail")])
    elsewhere = a_case(tenant, notes(tenant), "Beta")
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get(f"/runs/{run.id}").text
        assert "−100 points" in page
        assert f'<a href="/runs/{before.id}">' in page
        assert "No criterion changed its mark" not in page
        chosen = viewer.get(f"/runs/{run.id}?baseline={other.id}").text
        assert "No criterion changed its mark" in chosen
        assert viewer.get(f"/runs/{run.id}?baseline={waiting_run(tenant, elsewhere)}").status_code == 404
        assert viewer.get(f"/runs/{run.id}?baseline={new_id()}").status_code == 404


def test_a_run_is_cancelled_after_a_question(tenant: Household, case_id: str) -> None:
    run_id = waiting_run(tenant, case_id)
    with person(tenant, Role.editor) as editor:
        page = editor.get(f"/runs/{run_id}").text
        assert '<dialog id="cancel"' in page
        assert editor.post(f"/runs/{run_id}/cancel").headers["location"] == f"/runs/{run_id}"
        page = editor.get(f"/runs/{run_id}").text
        assert "The run was cancelled." in page
        assert "Cancelled" in page
        assert '<dialog id="cancel"' not in page
        # There is nothing to judge.
        assert f"/runs/{run_id}/rejudge" not in page
        assert editor.post(f"/runs/{run_id}/rejudge").status_code == 409


def test_a_run_is_judged_again_and_watched(tenant: Household, case_id: str) -> None:
    run = end(tenant, waiting_run(tenant, case_id), [a_mark("x")])
    with person(tenant, Role.editor) as editor:
        led = editor.post(f"/runs/{run.id}/rejudge").headers["location"]
        job_id = led.partition("judging=")[2]
        page = editor.get(led).text
        assert "judged again" in page
        assert f"/runs/{run.id}/live?judging={job_id}" in page
        with tenant.house.db.write() as tx:
            tenant.house.jobs.cancel(tx, job_id)
        assert "every 1s" not in editor.get(led).text
        # A job that is another run's says nothing of this one.
        assert editor.get(f"/runs/{run.id}?judging={new_id()}").status_code == 200


def test_long_results_have_a_page_of_their_own(tenant: Household, case_id: str) -> None:
    run = end(tenant, waiting_run(tenant, case_id), [a_mark("x")], happened("y" * 30_000 + "the end"))
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get(f"/runs/{run.id}").text
        assert "the end" not in page
        assert f'<a href="/runs/{run.id}/spans/call-2">10,007 more characters</a>' in page
        assert "the end" in viewer.get(f"/runs/{run.id}/spans/call-2").text
        assert viewer.get(f"/runs/{run.id}/spans/call-9").status_code == 404


def test_who_may_not_is_offered_nothing_and_strangers_see_nothing(
    tenant: Household, neighbour: Household, case_id: str
) -> None:
    running = waiting_run(tenant, case_id)
    ended = end(tenant, a_run(tenant, case_id), [a_mark("x")]).id
    with person(tenant, Role.viewer) as viewer:
        for run_id in (running, ended):
            page = viewer.get(f"/runs/{run_id}").text
            assert not re.search(r'action="/(runs|cases)/[^"]+/(cancel|rejudge|run)"', page)
    with person(neighbour, Role.owner) as stranger:
        assert rows(stranger) == []
        for path in (ended, f"{ended}/live", f"{ended}/spans/call-2"):
            assert stranger.get(f"/runs/{path}").status_code == 404
        assert stranger.post(f"/runs/{running}/cancel").status_code == 404
        assert tenant.call("GET", f"/runs/{running}").json()["status"] == "running"


def test_texts_of_others_stay_texts(tenant: Household) -> None:
    source = add_source(tenant.house, tenant.org.id, "https://notes.example/mcp")
    name = HOSTILE[:180]
    criteria = [{"criterionText": HOSTILE, "assertion": {"kind": "tool_called", "tool": HOSTILE[:150]}}]
    case_id = a_case(
        tenant, source, name, description=HOSTILE, criteria=criteria, metadata={HOSTILE: HOSTILE}
    )
    suite = tenant.call(
        "POST", "/suites", json={"name": name, "description": HOSTILE, "caseIds": [case_id]}
    ).json()
    suite_run = use_tool(tenant, "run_eval_suite", suite=suite["id"], reason=HOSTILE)
    run_id = suite_run["cases"][0]["runs"][0]["id"]
    mark = a_mark(
        HOSTILE, "fail", ("call-2", HOSTILE), ("call-2", "<img src=x"), reasoning=HOSTILE, problem=HOSTILE
    )
    events: list[Any] = happened(HOSTILE)
    events[0] = replace(events[0], text=HOSTILE, calls=[{**events[0].calls[0], "tool": HOSTILE}])
    events[1] = replace(
        events[1], tool=HOSTILE, arguments={HOSTILE: HOSTILE, "code": f"{HOSTILE}\n{HOSTILE}"}
    )
    end(tenant, run_id, [mark], events)
    set_run(tenant, run_id, error=HOSTILE, reason=HOSTILE, tags=["suite", HOSTILE])
    version = tenant.call("GET", f"/workflows/{case_id}").json()["currentVersion"]["id"]
    with person(tenant, Role.owner) as owner:
        for path in (
            *("/cases", f"/cases/{case_id}", f"/cases/{case_id}/edit"),
            f"/cases/{case_id}/versions/{version}",
            *("/runs", f"/runs?tag={HOSTILE}&q={HOSTILE}", f"/runs/{run_id}", f"/runs/{run_id}/spans/call-2"),
            *("/suites", "/suites/new", f"/suites/{suite['id']}", f"/suites/{suite['id']}/edit"),
            *("/suites/runs", f"/suites/runs/{suite_run['id']}", f"/suites/runs/{suite_run['id']}/live"),
        ):
            page = owner.get(path)
            assert page.status_code == 200, path
            assert "alert(1)" in page.text, f"{path} shows the text"
            for mark_ in MARKS:
                assert mark_ not in page.text, (path, mark_)
        proof = re.search(r'name="proof" value="(\w+)"', owner.get("/settings").text)
        assert proof
        model = HOSTILE.replace(" ", "/")
        sent = {"proof": proof[1], "name": HOSTILE, "prompt": HOSTILE, "source": source.id, "model": model}
        part = owner.client.post("/cases/preflight", data=sent, headers={"hx-request": "true"})
        assert "alert(1)" in part.text
        for mark_ in (*MARKS, "<img/src=x"):
            assert mark_ not in part.text
        for path in ("/cases/new", "/suites/new"):
            refused = owner.post(path, **{k: v for k, v in sent.items() if k != "proof"}, case="x")
            assert refused.status_code == 422
            for mark_ in MARKS:
                assert mark_ not in refused.text, path
