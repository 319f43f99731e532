"""Topics, failed searches and sessions as pages: what they show, how they page, sort and filter by address,
and who may change what."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.analysed import REFUNDS, TURNOVER, Analysed, analysed, switched_on, with_refunds
from tests.doors.dashboard.people import Person, person
from tests.features.insights.stories import script, search
from tests.household import Household

LISTS = ("/topics", "/failed-searches", "/sessions")
BESIDE = ("/failed-searches/invented-names", "/failed-searches/unused-results", "/failed-searches/demand")


@pytest.fixture
def shop(tenant: Household) -> Analysed:
    return with_refunds(tenant)


def main_of(answer: Any) -> str:
    """What a page says of itself, without tags."""
    assert answer.status_code == 200, answer.text
    text = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def links(answer: Any, start: str) -> list[str]:
    return [
        unescape(one) for one in re.findall(rf'<th scope="row"[^>]*><a href="({start}[^"?]+)', answer.text)
    ]


def test_topics_are_listed_sorted_and_filtered_by_address(shop: Analysed, tenant: Household) -> None:
    shop.told.wants("Check the stock of a book", "check stock of book 12", "look up stock for a book")
    shop.told.session(script("how many copies of the book are in stock", "getBook"))
    shop.refresh()
    refunds, stock = (topic.id for topic in shop.topics())
    with person(tenant, Role.viewer) as viewer:
        assert links(viewer.get("/topics"), "/topics/") == [f"/topics/{refunds}", f"/topics/{stock}"]
        assert links(viewer.get("/topics?sort=sessions"), "/topics/")[0] == f"/topics/{stock}"
        assert links(viewer.get("/topics?sort=frustration"), "/topics/")[0] == f"/topics/{refunds}"
        assert links(viewer.get("/topics?sort=felt"), "/topics/")[0] == f"/topics/{stock}"
        assert links(viewer.get("/topics?q=copies"), "/topics/") == [f"/topics/{stock}"]
        assert "No topic fits" in main_of(viewer.get("/topics?q=nothing-like-it"))
        assert "No topic fits" in main_of(viewer.get("/topics?show=archived"))
        assert 'aria-sort="descending"' in viewer.get("/topics?sort=trend").text


def test_a_topic_is_told_with_its_words_sessions_and_searches(shop: Analysed, tenant: Household) -> None:
    [topic] = shop.topics()
    with person(tenant, Role.viewer) as viewer:
        answer = viewer.get(f"/topics/{topic.id}")
        page = main_of(answer)
        for intent in REFUNDS:
            assert intent in page
        assert "getOrder 5 scripts" in page
        assert len(links(answer, "/sessions/")) == 5
        assert len(links(answer, "/failed-searches/")) == 1
        assert "It grew by itself" in page
        followed = re.findall(r'href="(/sessions\?intent=[^"]+)"', answer.text)
        assert len(followed) == 5
        assert len(links(viewer.get(unescape(followed[0])), "/sessions/")) == 1


def test_a_topic_tells_where_it_came_from(tenant: Household) -> None:
    shop = analysed(tenant)
    shop.told.wants("Check the stock of a book", "check stock of book 12", "look up stock for a book")
    shop.told.wants("how many copies of the book are in stock")
    shop.refresh()
    for hour in range(10):
        at = now() - timedelta(hours=20 - hour)
        shop.told.session(script("check the stock of book 99 now"), key="cron", at=at)
    shop.refresh()
    born = [topic for topic in shop.topics() if topic.lineage]
    assert born, "a topic of programs was taken out of the one of people"
    with person(tenant, Role.viewer) as viewer:
        pages = [main_of(viewer.get(f"/topics/{topic.id}")) for topic in born]
    assert sum("Grew out of" in page for page in pages) == 1
    assert sum("Out of it grew" in page for page in pages) == 1


def test_an_editor_has_their_word_on_a_topic(shop: Analysed, tenant: Household) -> None:
    [topic] = shop.topics()
    path = f"/topics/{topic.id}"
    with person(tenant, Role.editor) as editor:
        done = editor.post(f"{path}/label", label="  Money back ", range="30d")
        assert (done.status_code, done.headers["location"]) == (303, f"{path}?range=30d")
        page = main_of(editor.get(path))
        assert "Money back" in page
        assert f"Proposed: {topic.label}" in page
        for sent in ({"unmet": "yes"}, {}):
            assert editor.post(f"{path}/unmet", **sent).status_code == 303
            assert shop.topics()[0].is_unmet_demand is bool(sent)
        assert "A person says it is not unmet demand." in main_of(editor.get(path))
        assert editor.post(f"{path}/archive", archived="yes").headers["location"] == path
        assert shop.topics() == []
        assert links(editor.get("/topics?show=archived"), "/topics/") == [path]
        assert editor.post(f"{path}/archive").status_code == 303
        assert [one.label for one in shop.topics()] == ["Money back"]
        wrong = editor.post(f"{path}/label", label=" ")
        assert wrong.status_code == 422
        assert 'aria-invalid="true"' in wrong.text
        assert [one.label for one in shop.topics()] == ["Money back"]


def test_a_viewer_is_offered_no_change_and_refused_every_one(shop: Analysed, tenant: Household) -> None:
    [topic] = shop.topics()
    with person(tenant, Role.viewer) as viewer:
        session = links(viewer.get("/sessions"), "/sessions/")[0]
        for path in (f"/topics/{topic.id}", session):
            page = viewer.get(path).text.partition("<main")[2]
            assert "<form" not in page
            assert "draft" not in page.lower()
        for path in (f"/topics/{topic.id}/label", f"/topics/{topic.id}/unmet", f"/topics/{topic.id}/archive"):
            assert viewer.post(path, label="mine", unmet="yes", archived="yes").status_code == 403
        for path in (f"{session}/flag", f"{session}/draft", f"/topics/{topic.id}/draft"):
            assert viewer.post(path, flagged="yes").status_code == 403
        assert viewer.get(f"/topics/{topic.id}/draft").status_code == 403
    assert [one.label for one in shop.topics()] == [topic.label]


def test_a_gap_is_told_with_the_overlay_that_closes_it(shop: Analysed, tenant: Household) -> None:
    [turnover] = [cluster for cluster in shop.clusters() if cluster.gap_kind == "alias"]
    with person(tenant, Role.editor) as editor, person(tenant, Role.viewer) as viewer:
        assert links(editor.get("/failed-searches?gap=alias"), "/failed-searches/") == [
            f"/failed-searches/{turnover.id}"
        ]
        answer = editor.get(f"/failed-searches/{turnover.id}")
        page = main_of(answer)
        for query in TURNOVER:
            assert query in page
        assert "getSalesReport" in page
        assert "3 of 3 stored misses; 0 now" in page
        assert "Also known as: " in page
        assert f'href="/bundles/upload?overlay={turnover.id}"' in answer.text
        assert len(links(answer, "/sessions/")) == 3
        assert "/bundles/upload" not in viewer.get(f"/failed-searches/{turnover.id}").text
        missed = re.findall(r'href="(/sessions\?search_miss=[^"]+)"', answer.text)
        assert len(links(viewer.get(unescape(missed[0])), "/sessions/")) == 1


def test_names_results_and_demand_stand_beside_the_searches(shop: Analysed, tenant: Household) -> None:
    shop.told.session(
        search("books by an author", "listBooks", "getBook"),
        script("List books", "listBooks", invented=["shop.books.byAuthor"], outcome="error"),
    )
    shop.refresh()
    with person(tenant, Role.viewer) as viewer:
        assert "shop.books.byAuthor 1 1" in main_of(viewer.get("/failed-searches/invented-names"))
        assert "getBook 1 1 100 % 1" in main_of(viewer.get("/failed-searches/unused-results"))
        demand = main_of(viewer.get("/failed-searches/demand"))
        assert f"getOrder 5 {shop.topics()[0].label} 5" in demand
        assert "No operation fits" in main_of(viewer.get("/failed-searches/demand?q=zzz"))


def test_every_session_is_on_one_page_of_the_list(tenant: Household) -> None:
    shop = analysed(tenant)
    made = [shop.told.session(script(f"Read order {number}", "getOrder")) for number in range(60)]
    with person(tenant, Role.viewer) as viewer:
        seen, path, pages = list[str](), "/sessions?range=24h", 0
        while path:
            answer = viewer.get(path)
            seen += [one.removeprefix("/sessions/") for one in links(answer, "/sessions/")]
            older = re.search(r'href="([^"]+)" rel="next"', answer.text)
            path, pages = unescape(older[1]) if older else "", pages + 1
        assert (pages, seen) == (3, made[::-1])
        assert len(links(viewer.get("/sessions?after=9999999999999999.x"), "/sessions/")) == 25


def test_views_and_words_choose_sessions(shop: Analysed, tenant: Household) -> None:
    with person(tenant, Role.editor) as editor:

        def found(**asked: str) -> int:
            return len(links(editor.client.get("/sessions", params=asked), "/sessions/"))

        assert (found(), found(view="high_frustration")) == (8, 5)
        assert found(intent="  REFUND order   4411") == 1
        assert found(search_miss="turnover") == 1
        assert found(search_miss="Turnover") == 0
        assert found(intent="refund order 4411", view="flagged") == 0
        first = links(editor.get("/sessions?intent=refund+order+4411"), "/sessions/")[0]
        assert editor.post(f"{first}/flag", flagged="yes").status_code == 303
        assert found(view="flagged") == 1
        assert "By a person" in main_of(editor.get(first))
        assert editor.post(f"{first}/flag").status_code == 303
        assert found(view="flagged") == 0
        assert "No session fits" in main_of(editor.get("/sessions?view=flagged"))


def test_a_session_reads_as_a_conversation(tenant: Household) -> None:
    shop = analysed(tenant)
    session = shop.told.session(
        {"kind": "initialize", "client_name": "Some agent", "client_version": "4.2"},
        search("send it back"),
        search("orders", "listOrders", "getOrder"),
        script(
            "Refund order 4411",
            "getOrder",
            code="const order = await shop.orders.getOrder({ id: 'x' });\nreturn order;",
            context="A customer is angry.",
            frustration=8,
            outcome="error",
            error_class="HttpError",
            error_message="The API answered 500",
            result="The API answered 500: try again",
            logs=[{"level": "warn", "text": "this is slow"}],
            invented=["shop.orders.refund"],
            flags=["secret_stripped"],
            tags={"team": "desk"},
        ),
    )
    with person(tenant, Role.viewer) as viewer:
        answer = viewer.get(f"/sessions/{session}")
    page = main_of(answer)
    order = ["Connected", "Some agent 4.2", "nothing found", "send it back", "used", "orders", "listOrders"]
    order += ["Script", "Refund order 4411", "A customer is angry.", "8 of 10", "team : desk", "const order"]
    order += ["shop.orders.refund", "GET /getOrder", "200 ok", "this is slow", "HttpError", "try again"]
    order += ["What the agent said", "8 of 10", "What it did", "Flags", "Secret stripped"]
    at = -1
    for words in order:
        at = page.find(words, at + 1)
        assert at >= 0, f"{words!r} in {page}"
    assert '<span class="kd">const</span>' in answer.text, "code is coloured"


def test_a_long_session_comes_in_pages(tenant: Household) -> None:
    shop = analysed(tenant)
    session = shop.told.session(*(search(f"query {number}", "getOrder") for number in range(70)))
    with person(tenant, Role.viewer) as viewer:
        pages = [main_of(viewer.get(f"/sessions/{session}?page={number}")) for number in (1, 2, 3)]
    told = [re.findall(r"“ ?query (\d+)", page) for page in pages]
    assert [len(each) for each in told] == [30, 30, 10]
    assert [int(number) for each in told for number in each] == list(range(70))


@pytest.mark.parametrize("origin", ["topic", "session"])
def test_an_editor_makes_an_eval_case_of_what_happened(
    shop: Analysed, tenant: Household, origin: str
) -> None:
    with person(tenant, Role.editor) as editor:
        path = f"/topics/{shop.topics()[0].id}"
        if origin == "session":
            path = links(editor.get("/sessions?intent=refund+order+4411"), "/sessions/")[0]
        form = editor.get(f"{path}/draft")
        page = main_of(form)
        assert "A script calls getOrder" in page
        assert "refund an order" in page
        offered = re.findall(r'name="criterion" type="checkbox" value="([^"]+)"', form.text)
        assert len(offered) >= 3
        refused = editor.post(f"{path}/draft", name="", prompt="", criterion=offered)
        assert refused.status_code == 422
        fields = {"name": "Refunds", "prompt": "Refund order 4411.\r\nSay what came of it."}
        done = editor.post(f"{path}/draft", **fields, criterion=offered[:2])
        assert done.status_code == 303, done.text
        made = done.headers["location"].removeprefix("/cases/")
        assert editor.get(done.headers["location"]).status_code == 200
    case = tenant.call("GET", f"/workflows/{made}").json()
    version = case["currentVersion"]
    assert (case["name"], version["testerPrompt"]) == (
        "Refunds",
        "Refund order 4411.\nSay what came of it.",
    )
    assert [one["criterionText"] in page for one in version["criteria"]] == [True, True]
    assert version["metadata"]["draftedFrom"] == {origin: path.rpartition("/")[2]}


def test_empty_pages_say_what_they_are_for(tenant: Household) -> None:
    switched_on(tenant)
    with person(tenant, Role.viewer) as viewer:
        for path in (*LISTS, *BESIDE):
            answer = viewer.get(path)
            assert 'class="empty"' in answer.text, path
            assert "last 7 days" in main_of(answer), path


def test_without_analytics_each_page_says_how_to_switch_it_on(tenant: Household) -> None:
    one = new_id()
    with person(tenant, Role.owner) as owner, person(tenant, Role.editor) as editor:
        for path in (*LISTS, *BESIDE, f"/topics/{one}", f"/sessions/{one}", f"/topics/{one}/draft"):
            for somebody, offered in ((owner, True), (editor, False)):
                answer = somebody.get(path)
                page = main_of(answer)
                assert "MCP Analytics is off" in page
                assert f"ammeter admin feature enable --org {tenant.org.slug} mcp-analytics" in page
                assert ('href="/settings/features"' in answer.text) is offered
        for path in (f"/topics/{one}/label", f"/sessions/{one}/flag", f"/sessions/{one}/draft"):
            assert editor.post(path, label="x", name="x", prompt="x").status_code == 403


def test_what_is_of_others_or_nobodys_is_not_found(
    shop: Analysed, tenant: Household, neighbour: Household
) -> None:
    switched_on(neighbour)
    [topic], cluster = shop.topics(), shop.clusters()[0]
    with person(tenant, Role.viewer) as mine, person(neighbour, Role.owner) as theirs:
        session = links(mine.get("/sessions"), "/sessions/")[0]
        for path in (f"/topics/{topic.id}", f"/failed-searches/{cluster.id}", session):
            assert mine.get(path).status_code == 200
            assert theirs.get(path).status_code == 404
            assert mine.get(f"{path.rpartition('/')[0]}/nothing").status_code == 404
        _is_refused(theirs, topic.id, session)
    assert [one.label for one in shop.topics()] == [topic.label]


def _is_refused(theirs: Person, topic_id: str, session: str) -> None:
    assert theirs.post(f"/topics/{topic_id}/label", label="theirs").status_code == 404
    assert theirs.post(f"{session}/flag", flagged="yes").status_code == 404
    assert theirs.post(f"{session}/draft", name="x", prompt="y").status_code == 404
