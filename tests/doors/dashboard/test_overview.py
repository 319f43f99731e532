"""The overview: figures in words, what they are compared with, what to do next, and what stands there while
there is nothing to tell."""

from __future__ import annotations

import re

import pytest

from ammeter.doors.dashboard.insights.asked import range_of
from ammeter.doors.dashboard.insights.lines import folded, spark
from ammeter.doors.dashboard.overview.figures import Figure, figures, headline
from ammeter.doors.dashboard.tables import Query
from ammeter.features.insights.model import Kpi
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.analysed import switched_on, with_refunds
from tests.doors.dashboard.people import person
from tests.household import Household

WEEK = range_of(Query(path="/overview", params={}))
NOTHING = Kpi(value=None, previous=None, n=0)
NONE = Kpi(value=0, previous=0, n=0)


def kpis(**given: Kpi) -> dict[str, Kpi]:
    names = ("script_success_rate", "first_script_success_rate", "search_miss_rate", "avg_frustration")
    counts = ("sessions", "scripts", "searches", "high_frustration_sessions", "upstream_calls")
    return dict.fromkeys(counts, NONE) | dict.fromkeys((*names, "median_script_ms"), NOTHING) | given


def figure(label: str, **given: Kpi) -> Figure:
    return next(each for each in figures(kpis(**given), WEEK) if each.label == label)


@pytest.mark.parametrize(
    ("value", "previous", "change", "kind"),
    [
        (120, 100, "▲ 20 %", "good"),
        (50, 100, "▼ 50 %", "bad"),
        (100, 100, "=", "even"),
        (7, 0, "▲ new", "good"),
        (0, 0, "=", "even"),
    ],
)
def test_a_count_is_compared_by_its_share(value: int, previous: int, change: str, kind: str) -> None:
    made = figure("Sessions", sessions=Kpi(value=value, previous=previous, n=value))
    assert (made.value, made.change, made.change_kind) == (str(value), change, kind)


def test_a_rate_is_compared_in_points_and_says_what_it_is_made_of() -> None:
    missed = figure("Searches that missed", search_miss_rate=Kpi(value=0.44, previous=0.40, n=1250))
    assert (missed.value, missed.unit, missed.change) == ("44", "%", "▲ 4 points")
    assert missed.change_kind == "bad", "more misses are no good"
    assert missed.note == "of 1,250 searches · was 40 %"
    assert missed.href == "/failed-searches"
    well = figure("Scripts that ended well", script_success_rate=Kpi(value=0.81, previous=0.80, n=9))
    assert (well.change, well.change_kind) == ("▲ 1 point", "good")


def test_what_cannot_be_compared_is_not() -> None:
    made = figure("Stated frustration", avg_frustration=Kpi(value=3.25, previous=None, n=4))
    assert (made.value, made.unit, made.change, made.note) == ("3.2", "of 10", "", "of 4 scripts")
    nothing = figure("Median script")
    assert (nothing.value, nothing.unit, nothing.change) == ("–", "", "")


def test_the_headline_says_how_it_goes() -> None:
    told = headline(
        kpis(
            sessions=Kpi(value=59, previous=58, n=59),
            script_success_rate=Kpi(value=0.92, previous=0.78, n=66),
            search_miss_rate=Kpi(value=0.2, previous=0.4, n=117),
        ),
        WEEK,
    )
    assert told == (
        "In the last 7 days agents held 59 sessions, about as before."
        " 92 % of their scripts ended well, more than before."
        " 20 % of their searches found nothing, fewer than before."
    )
    assert headline(kpis(), WEEK) == "No agent came in the last 7 days."


def test_a_long_line_is_drawn_with_few_points_and_keeps_its_sum() -> None:
    assert folded([1, 2, 3, 4, 5, 6, 7], 3) == [6, 15, 7]
    line = spark([1] * 90)
    assert len(line.points.split()) == 30
    assert line.label == "90 sessions in 90 days"
    assert spark([]).label == "0 sessions in 0 days"


def test_the_page_shows_the_figures_of_the_rest_api(tenant: Household) -> None:
    made = with_refunds(tenant)
    told = made.household.call("GET", "/insights/overview", params={"range": "24h"}).json()
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get("/overview?range=24h").text
    shown = dict(
        re.findall(r'<dt>(?:<a [^>]*>)?([^<]+)(?:</a>)?</dt>\s*<dd><span class="figure">([^<]+)', page)
    )
    assert shown["Sessions"] == f"{told['kpis']['sessions']['value']:.0f}" == "8"
    assert shown["Searches"] == f"{told['kpis']['searches']['value']:.0f}" == "11"
    assert shown["Searches that missed"] == f"{told['kpis']['search_miss_rate']['value'] * 100:.0f}"
    assert shown["Strained sessions"] == f"{told['kpis']['high_frustration_sessions']['value']:.0f}"
    for topic in told["top_topics"]:
        assert f'href="/topics/{topic["id"]}?range=24h"' in page
    for cluster in told["top_failed_searches"]:
        assert f'href="/failed-searches/{cluster["id"]}?range=24h"' in page
    assert page.count('role="img"') >= 4
    assert "Add the words that agents use" in page
    assert "3 of 3 stored searches would find the operation, 0 do now" in page
    assert "No eval case has been run yet." in page


def test_before_any_agent_came_the_page_says_what_to_do(tenant: Household) -> None:
    switched_on(tenant)
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get("/overview").text
    assert "No agent has come yet" in page
    assert 'href="/start"' in page
    assert "uplot" not in page, "nothing is drawn, so nothing is loaded"


def test_without_analytics_the_overview_says_who_switches_it_on(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner, person(tenant, Role.viewer) as viewer:
        for somebody, offered in ((owner, True), (viewer, False)):
            answer = somebody.get("/overview")
            assert answer.status_code == 200
            assert "MCP Analytics is off" in answer.text
            assert ('href="/settings/features"' in answer.text) is offered
            assert "Latest runs" in answer.text


def test_a_range_that_nobody_knows_is_the_week(tenant: Household) -> None:
    with_refunds(tenant)
    with person(tenant, Role.viewer) as viewer:
        page = viewer.get('/overview?range="><script>alert(1)</script>').text
    assert "In the last 7 days" in page
    assert "<script>alert" not in page
