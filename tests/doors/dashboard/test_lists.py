"""Lists by address: archived cases and suites, versions, the audit log and sessions in their orders."""

from __future__ import annotations

import re
from html import unescape

from ammeter.base.clock import now
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.analysed import analysed
from tests.doors.dashboard.evaluated import a_case, notes
from tests.doors.dashboard.people import Person, person
from tests.doors.dashboard.test_insights import links, main_of
from tests.features.insights.stories import script, search
from tests.household import Household


def test_archived_cases_have_a_list_of_their_own(tenant: Household) -> None:
    source = notes(tenant)
    kept, gone = a_case(tenant, source, "Kept"), a_case(tenant, source, "Gone")
    with person(tenant, Role.editor) as editor:
        assert "?show=archived" not in editor.get("/cases").text
        assert "Nothing is archived" in main_of(editor.get("/cases?show=archived"))
        assert editor.post(f"/cases/{gone}/archive").status_code == 303
        assert links(editor.get("/cases"), "/cases/") == [f"/cases/{kept}"]
        archive = editor.get("/cases?show=archived")
        assert links(archive, "/cases/") == [f"/cases/{gone}"]
        assert '<a href="/cases?show=archived" aria-current="page">Archived</a>' in archive.text
        assert '<input type="hidden" name="show" value="archived">' in archive.text
        assert "No eval case fits" in main_of(editor.get("/cases?show=archived&q=Kept"))
        tenant.call("PATCH", f"/mcp-servers/{source.id}", json={"status": "archived"})
        assert links(editor.get("/cases?show=archived"), "/cases/") == [f"/cases/{gone}"]


def test_archived_suites_have_a_list_of_their_own(tenant: Household, neighbour: Household) -> None:
    case_id = a_case(tenant, notes(tenant))
    kept, gone = (
        tenant.call("POST", "/suites", json={"name": name, "caseIds": [case_id]}).json()["id"]
        for name in ("kept", "gone")
    )
    with person(tenant, Role.editor) as editor:
        assert "Nothing is archived" in main_of(editor.get("/suites?show=archived"))
        assert editor.post(f"/suites/{gone}/archive").status_code == 303
        assert links(editor.get("/suites"), "/suites/") == [f"/suites/{kept}"]
        archive = editor.get("/suites?show=archived")
        assert links(archive, "/suites/") == [f"/suites/{gone}"]
        assert f'action="/suites/{gone}/run"' not in archive.text
    with person(neighbour, Role.owner) as stranger:
        assert "Nothing is archived" in main_of(stranger.get("/suites?show=archived"))


def test_every_version_of_a_case_is_on_one_page_of_its_list(tenant: Household) -> None:
    case_id = a_case(tenant, notes(tenant))
    for number in range(2, 31):
        change = {"name": f"Case {number}"} if number % 2 else {"metadata": {"number": number}}
        assert tenant.call("PATCH", f"/workflows/{case_id}", json=change).status_code == 200
    with person(tenant, Role.viewer) as viewer:
        first, second = (versions(viewer, f"/cases/{case_id}?page={page}") for page in (1, 2))
        assert [number for number, _ in first + second] == list(range(30, 0, -1))
        assert first[0][1] == "metadata"
        # What the last of a page changed is told by the first of the next.
        assert first[-1] == (6, "metadata")
        assert second[0] == (5, "name, description or schedule")
        assert second[-1] == (1, "")
        assert 'rel="next"' in viewer.get(f"/cases/{case_id}").text
        assert "There is no such page" in viewer.get(f"/cases/{case_id}?page=3").text


def versions(viewer: Person, path: str) -> list[tuple[int, str]]:
    """Number and changes of each."""
    listed = viewer.get(path).text.partition('id="versions"')[2].partition("</ul>")[0]
    rows = re.findall(r">Version (\d+)</a>.*?<small[^>]*>(.*?)</small>", listed, re.DOTALL)
    return [(int(number), told.partition("; changed: ")[2]) for number, told in rows]


def test_the_audit_log_is_filtered_and_turned_by_its_address(tenant: Household) -> None:
    for name in ("A", "B"):
        tenant.call("PUT", f"/org/secrets/{name}", Role.admin, json={"value": "x"})
    tenant.call("DELETE", "/org/secrets/A", json={})
    today, hostile = f"{now():%Y-%m-%d}", "%22%3E%3Cscript%3E"
    with person(tenant, Role.admin) as admin:

        def shown(asked: str) -> list[tuple[str, str]]:
            page = admin.get(f"/settings/audit?{asked}")
            assert page.status_code == 200
            rows = re.findall(
                r'<code class="nowrap">([^<]+)</code></a></td><td><a[^>]+><code[^>]*>([^<]*)', page.text
            )
            return [(action, target) for action, target in rows]

        secrets = [("secret.delete", "A"), ("secret.put", "B"), ("secret.put", "A")]
        assert shown("action=secret.") == secrets
        assert shown("action=secret.&sort=at") == secrets[::-1]
        assert shown("action=secret.put&target=A") == [("secret.put", "A")]
        assert shown(f"action=secret.put&actor={tenant.tokens[Role.admin][4:16]}") == secrets[1:]
        assert shown(f"action=secret.&from={today}") == secrets
        assert shown("action=secret.&to=2020-01-01") == []
        assert shown("action=secret.&from=nonsense&to=0001-01-01") == secrets
        assert shown("action=secret.&to=9999-12-31&page=-1") == secrets
        page = admin.get("/settings/audit?action=secret.").text
        assert '<option value="secret." selected>All of secret</option>' in page
        assert 'href="/settings/audit?action=secret.&amp;target=B"' in page
        assert 'href="/settings/audit?action=secret.&amp;sort=at"' in page
        assert "No change fits" in main_of(admin.get("/settings/audit?actor=nobody"))
        assert "<script>" not in admin.get(f"/settings/audit?actor={hostile}&action={hostile}").text


def test_programs_filter_the_audit_log_as_people_do(tenant: Household) -> None:
    for name in ("A", "B"):
        tenant.call("PUT", f"/org/secrets/{name}", Role.admin, json={"value": "x"})

    def shown(**asked: str) -> list[str]:
        answer = tenant.call("GET", "/org/audit", params=asked)
        assert answer.status_code == 200, answer.text
        return [row["target"] for row in answer.json()["rows"]]

    assert shown(action="secret.") == ["B", "A"]
    assert shown(action="secret.put", sort="at") == ["A", "B"]
    assert shown(action="secret.put", target="A") == ["A"]
    assert shown(actor=tenant.tokens[Role.admin][4:16]) == ["B", "A"]
    assert shown(actor=tenant.tokens[Role.admin][4:16], until="2020-01-01T00:00:00Z") == []
    assert shown(action="secret.", since="2020-01-01T00:00:00Z") == ["B", "A"]
    assert tenant.call("GET", "/org/audit?since=yesterday").status_code == 422
    assert tenant.call("GET", "/org/audit?sort=actor").status_code == 422


def test_sessions_are_sorted_and_filtered_by_address(tenant: Household) -> None:
    shop = analysed(tenant)
    calm = shop.told.session(script("Read order 1", client_name="codex", environment="staging"))
    cross = shop.told.session(script("Read order 2", frustration=9, client_name="cursor"))
    lost = shop.told.session(search("zilch"), search("nada"), client_facts("Claude Code"))
    with person(tenant, Role.viewer) as viewer:

        def shown(asked: str = "") -> list[str]:
            return [path.removeprefix("/sessions/") for path in links(viewer.get(f"/sessions?{asked}"), "/")]

        assert shown() == shown("sort=nonsense") == [lost, cross, calm]
        assert shown("sort=frustration")[0] == cross
        assert shown("sort=failed")[0] == shown("sort=events")[0] == lost
        assert shown("sort=scripts")[-1] == lost
        assert shown("failed=yes") == [lost]
        assert shown("client=CO") == [calm]
        assert shown("environment=staging") == [calm]
        assert shown(f"source={shop.told.source_id}&client=cur") == [cross]
        assert shown("source=none") == []
        page = viewer.get("/sessions?environment=staging&sort=frustration").text
        assert '<option value="staging" selected>' in page
        assert '<option value="frustration" selected>' in page
        assert '<a class="clear" href="/sessions">' in page
        assert "No session fits" in main_of(viewer.get("/sessions?client=zzz"))


def client_facts(name: str) -> dict[str, str]:
    return {"kind": "initialize", "client_name": name}


def test_sessions_in_an_order_turn_their_pages(tenant: Household) -> None:
    shop = analysed(tenant)
    made = [shop.told.session(script(f"Read order {n}", frustration=n % 3)) for n in range(30)]
    with person(tenant, Role.viewer) as viewer:
        first = viewer.get("/sessions?sort=frustration")
        onward = re.search(r'href="([^"]+)" rel="next"', first.text)
        assert onward
        second = viewer.get(unescape(onward[1]))
        seen = [made.index(one.removeprefix("/sessions/")) for one in links(first, "/") + links(second, "/")]
        assert seen == sorted(range(30), key=lambda n: (-(n % 3), -n))
