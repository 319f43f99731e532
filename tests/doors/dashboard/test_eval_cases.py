"""`/cases`: the list and its filters, writing a case beside its preflight, versions, runs, archive."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.doors.dashboard.evaluated import PROMPT, a_case, a_mark, end, notes, waiting_run
from tests.doors.dashboard.people import Person, person
from tests.household import Household

HTMX = {"hx-request": "true"}


@pytest.fixture
def source(tenant: Household) -> Source:
    return notes(tenant, categories=("documents",))


def fields(source: Source, **more: Any) -> dict[str, Any]:
    given = {
        "name": "Notes are read",
        "source": source.id,
        "prompt": PROMPT,
        "model": "builtin/scripted",
        "skill": "none",
        "criterion_id": "",
        "criterion": "The note is read",
        "required": "yes",
        "check": "tool_called",
        "tool": "get_note",
        "path": "",
        "value": '{"title": "milk"}',
        "times": "1",
    }
    return given | more


def read(tenant: Household, case_id: str) -> Any:
    return tenant.call("GET", f"/workflows/{case_id}").json()


def made(answer: Any) -> str:
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"].rpartition("/")[2])


def preflight(editor: Person, **sent: Any) -> str:
    proof = re.search(r'name="proof" value="(\w+)"', editor.get("/settings").text)
    assert proof
    answer = editor.client.post("/cases/preflight", data={"proof": proof[1]} | sent, headers=HTMX)
    assert answer.status_code == 200, answer.text
    assert "<html" not in answer.text
    return str(answer.text)


def test_without_sources_and_without_cases_the_page_says_what_to_do(tenant: Household) -> None:
    with person(tenant, Role.editor) as editor:
        assert 'href="/sources/new"' in editor.get("/cases").text
        assert 'href="/sources/new"' in editor.get("/cases/new").text
        notes(tenant)
        assert "No eval cases yet" in editor.get("/cases").text
        assert 'href="/cases/new"' in editor.get("/cases").text


def test_the_list_tells_source_categories_last_outcome_and_schedule(
    tenant: Household, source: Source
) -> None:
    good = a_case(tenant, source, "Alpha", schedule={"cron": "0 6 * * 1"})
    a_case(tenant, source, "Beta", schedule={"everyMinutes": 30, "enabled": False})
    end(tenant, waiting_run(tenant, good), [a_mark("it works")])
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get("/cases").text
        for shown in ("Alpha", "Beta", "Notes", "documents", "Passed", "100 %", "0 6 * * 1", "every 30 min"):
            assert shown in page, shown
        assert "paused" in page
        assert "Waiting" in page
        assert names(viewer, "?outcome=Passed") == ["Alpha"]
        assert names(viewer, "?category=documents&q=bet") == ["Beta"]
        assert names(viewer, "?category=search") == []
        assert names(viewer, "?sort=-name") == ["Beta", "Alpha"]
        assert names(viewer, "?sort=nonsense&page=0") == ["Alpha", "Beta"]


def names(viewer: Person, query: str) -> list[str]:
    page = viewer.get(f"/cases{query}").text
    return re.findall(r'<th scope="row"><a [^>]+>([^<]+)', page)


def test_the_list_turns_its_pages(tenant: Household, source: Source) -> None:
    for number in range(27):
        a_case(tenant, source, f"Case {number:02}")
    with person(tenant, Role.viewer) as viewer:
        assert len(names(viewer, "")) == 25
        assert names(viewer, "?page=2") == ["Case 25", "Case 26"]
        assert 'href="/cases?page=2"' in viewer.get("/cases").text


def test_a_case_is_written_and_what_was_typed_is_what_is_stored(tenant: Household, source: Source) -> None:
    with person(tenant, Role.editor) as editor:
        assert "Preflight" in editor.get("/cases/new").text
        sent = fields(
            source,
            description="milk",
            schedule="cron",
            cron="0 6 * * 1-5",
            timezone="Europe/Berlin",
            deny="delete_*\nsend_*",
            read_only="yes",
            max_turns="7",
            max_cost_usd="0.5",
            max_attempts="1",
            metadata='{"team": "shop"}',
        )
        case = read(tenant, made(editor.post("/cases/new", **sent)))
        version = case["currentVersion"]
        assert (case["name"], case["description"]) == ("Notes are read", "milk")
        assert case["schedule"]["cron"] == "0 6 * * 1-5"
        assert case["schedule"]["timezone"] == "Europe/Berlin"
        assert version["testerPrompt"] == PROMPT.strip()
        assert version["toolPolicy"] == {"allow": None, "deny": ["delete_*", "send_*"], "readOnly": True}
        assert version["limits"]["maxTurns"] == 7
        assert version["limits"]["maxCostUsd"] == 0.5
        assert version["retryPolicy"] == {"maxAttempts": 1, "backoffSeconds": 5, "retryOn": []}
        assert version["metadata"] == {"team": "shop"}
        [criterion] = version["criteria"]
        assert criterion["assertion"] == {
            "kind": "tool_called",
            "tool": "get_note",
            "arguments": {"title": "milk"},
            "times": 1,
        }
        # Nobody asked for a run.
        assert case["lastRun"] is None
        with_run = read(tenant, made(editor.post("/cases/new", **fields(source, run_now="yes"))))
        assert with_run["lastRun"]["status"] == "running"


CHECKS: tuple[tuple[str, dict[str, str], dict[str, Any]], ...] = (
    ("tool_not_called", {"tool": "x", "value": ""}, {"tool": "x"}),
    ("tool_result_contains", {"tool": "", "value": "two\r\nlines"}, {"text": "two\nlines"}),
    ("final_answer_contains", {"tool": "left over", "value": "milk"}, {"text": "milk"}),
    ("final_answer_matches", {"tool": "", "value": "m.*k"}, {"pattern": "m.*k"}),
    ("max_tool_calls", {"tool": "", "value": "3"}, {"value": 3}),
    (
        "json_path_equals",
        {"tool": "get_*", "path": "$.a", "value": "two litres"},
        {"tool": "get_*", "path": "$.a", "value": "two litres"},
    ),
    (
        "json_path_equals",
        {"tool": "get_*", "path": "$.a", "value": "[1, null]"},
        {"tool": "get_*", "path": "$.a", "value": [1, None]},
    ),
)


def test_every_check_can_be_written_and_edited(tenant: Household, source: Source) -> None:
    with person(tenant, Role.editor) as editor:
        for check, given, stored in CHECKS:
            sent = fields(source, check=check, times="", path="") | given
            case_id = made(editor.post("/cases/new", **sent))
            before = read(tenant, case_id)["currentVersion"]["criteria"]
            assert before[0]["assertion"] == {"kind": check} | stored
            # What the editor shows, sent back untouched, is the same case.
            shown = form_in(editor.get(f"/cases/{case_id}/edit").text)
            assert made(editor.post(f"/cases/{case_id}/edit", **shown)) == case_id
            after = read(tenant, case_id)["currentVersion"]
            assert after["criteria"] == before
            assert after["number"] == 2


def form_in(page: str) -> dict[str, list[str]]:
    """The fields of the editor as a browser would send them."""
    page = re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)
    form = re.search(r'<form method="post" action="/cases/[^"]*edit".*?</form>', page, re.DOTALL)
    assert form
    sent: dict[str, list[str]] = {}
    found = re.finditer(
        r"<input ([^>]*)>|<textarea ([^>]*)>\n?(.*?)</textarea>|<select ([^>]*)>(.*?)</select>",
        form[0],
        re.DOTALL,
    )
    for plain, area, text, select, options in (match.groups() for match in found):
        named = re.search(r'\bname="(\w+)"', plain or area or select)
        if named is None or named[1] == "proof":
            continue
        value = text
        if plain is not None:
            if 'type="checkbox"' in plain and "checked" not in plain:
                continue
            value = re.search(r'\bvalue="([^"]*)"', plain)[1]  # type: ignore[index]
        elif select is not None:
            chosen = re.search(r'<option value="([^"]*)" selected', options)
            first = re.search(r'<option value="([^"]*)"', options)
            value = (chosen or first)[1]  # type: ignore[index]
        sent.setdefault(named[1], []).append(unescape(value))
    return sent


def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(tenant: Household, source: Source) -> None:
    with person(tenant, Role.editor) as editor:
        cases = {
            "name": ("name", " "),
            "max_turns": ("max_turns", "many"),
            "cron": ("cron", "never"),
            "metadata": ("metadata", "[]"),
        }
        for field, (name, value) in cases.items():
            sent = fields(source, schedule="cron", timezone="UTC", cron="0 6 * * *") | {name: value}
            answer = editor.post("/cases/new", **sent)
            assert answer.status_code == 422, field
            assert f'id="e-{field}"' in answer.text, field
            assert "The note is read" in answer.text
        answer = editor.post("/cases/new", **fields(source, value="not json"))
        assert answer.status_code == 422
        assert "Write a JSON object" in answer.text
        answer = editor.post("/cases/new", **fields(source, model="nobody/knows"))
        assert answer.status_code == 422
        assert "nobody" in answer.text
        answer = editor.post("/cases/new", **fields(source) | {"source": "none"})
        assert "There is no such MCP source" in answer.text
        assert names(editor, "") == []


def test_the_preflight_tells_while_one_types(tenant: Household, source: Source) -> None:
    with person(tenant, Role.editor) as editor:
        assert "Nothing speaks against it" in preflight(editor, **fields(source, name=""))
        assert "get_note" in preflight(editor, **fields(source))
        secret = preflight(editor, **fields(source, prompt=f"{PROMPT}\npassword: hunter2hunter2"))
        assert "this holds a credential" in secret
        assert "hunter2" not in secret
        words = preflight(editor, **fields(source, prompt="Delete all customers.", model="openai/gpt-5"))
        assert "ask the tester to destroy data" in words
        assert "Model 1" in words
        broken = preflight(editor, **fields(source, times="often"))
        assert "Criterion 1" in broken
        planned = fields(source, schedule="cron", cron="0 6 * * 1", timezone="Asia/Tokyo")
        # Six in Tokyo is nine in the evening of the day before, in UTC.
        assert preflight(editor, **planned).count("T21:00:00") == 3
        assert "is not a known time zone" in preflight(editor, **planned | {"timezone": "Mars/Base"})


def test_each_save_is_a_version_and_runs_keep_theirs(tenant: Household, source: Source) -> None:
    with person(tenant, Role.editor) as editor:
        case_id = a_case(tenant, source, criteria=[{"criterionText": "It is read"}])
        end(tenant, waiting_run(tenant, case_id), [a_mark("It is read")])
        first = read(tenant, case_id)["currentVersion"]
        sent = form_in(editor.get(f"/cases/{case_id}/edit").text) | {"prompt": [f"{PROMPT}\nGently."]}
        answer = editor.post(f"/cases/{case_id}/edit", **sent)
        assert made(answer) == case_id
        page = editor.get(f"/cases/{case_id}").text
        assert "Version 2" in page
        assert "changed: prompt" in page
        assert "Gently." in page
        old = editor.get(f"/cases/{case_id}/versions/{first['id']}").text
        assert "Version 1" in old
        assert "Gently." not in old
        other = a_case(tenant, source, "Other")
        assert editor.get(f"/cases/{other}/versions/{first['id']}").status_code == 404


def test_a_run_is_started_and_led_to(tenant: Household, source: Source) -> None:
    case_id = a_case(tenant, source, "Alpha")
    before = end(tenant, waiting_run(tenant, case_id), [a_mark("it works")])
    with person(tenant, Role.editor) as editor:
        answer = editor.post(f"/cases/{case_id}/run", reason="to see", baseline=before.id)
        assert answer.headers["location"].startswith("/runs/")
        run = tenant.call("GET", answer.headers["location"]).json()
        assert (run["trigger"], run["tags"], run["reason"]) == ("dashboard", ["dashboard"], "to see")
        assert run["baselineRunId"] == before.id
        again = editor.post(f"/cases/{case_id}/run", reason="again", baseline=before.id)
        assert again.headers["location"] == answer.headers["location"]
        assert editor.post(f"/cases/{case_id}/run", model="openai/none").status_code == 422


def test_an_archived_case_stays_readable_and_is_played_no_more(tenant: Household, source: Source) -> None:
    case_id = a_case(tenant, source, "Alpha")
    with person(tenant, Role.editor) as editor:
        page = editor.get(f"/cases/{case_id}").text
        assert "<dialog" in page
        assert editor.post(f"/cases/{case_id}/archive").headers["location"] == "/cases"
        assert names(editor, "") == []
        page = editor.get(f"/cases/{case_id}").text
        assert "archived" in page
        assert f'action="/cases/{case_id}/run"' not in page
        assert editor.post(f"/cases/{case_id}/run").status_code == 409


def test_viewers_are_offered_nothing_that_changes(
    tenant: Household, neighbour: Household, source: Source
) -> None:
    case_id = a_case(tenant, source, "Alpha")
    with person(tenant, Role.viewer) as viewer:
        for path in ("/cases", f"/cases/{case_id}"):
            page = viewer.get(path).text
            assert not re.search(r'(action|href|hx-post)="/cases/(new|[^"/]+/(edit|run|archive))"', page)
    with person(neighbour, Role.owner) as stranger:
        for path in (f"/cases/{case_id}", f"/cases/{case_id}/edit"):
            assert stranger.get(path).status_code == 404
        assert stranger.post(f"/cases/{case_id}/run").status_code == 404
        assert stranger.post(f"/cases/{case_id}/archive").status_code == 404
