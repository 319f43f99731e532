"""The page of one's own: name, password and sessions; what strangers and guessers come to there."""

from __future__ import annotations

import re
from typing import Any

from ammeter.features.orgs import members, sessions
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.people import HTML, PASSWORD, Person, add_person, person, visiting
from tests.household import OPERATOR, Household

NEW = "quite another password"
PAGE = "/settings/profile"


def change(somebody: Person, current: str = PASSWORD, password: str = NEW, repeated: str = "") -> Any:
    return somebody.post(
        f"{PAGE}/password", current=current, password=password, repeated=repeated or password
    )


def test_a_person_sees_who_they_are_and_gives_themselves_a_name(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        page = somebody.get(PAGE)
        assert page.status_code == 200
        for told in (somebody.email, "viewer", tenant.org.name, "with your password", "this browser"):
            assert told in page.text
        assert f'href="{PAGE}"' in somebody.get("/settings").text
        assert "at another service" not in page.text
        assert somebody.post(f"{PAGE}/name", name="Ada <b>King</b>").headers["location"] == PAGE
        assert "You are called Ada &lt;b&gt;King&lt;/b&gt; now." in somebody.get(PAGE).text
        wrong = somebody.post(f"{PAGE}/name", name="")
        assert wrong.status_code == 422
        assert "A name is 1 to 200 visible characters on one line." in wrong.text


def test_a_new_password_ends_the_other_sessions_and_this_one_goes_on(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody, visiting(tenant, somebody.email) as elsewhere:
        elsewhere.sign_in()
        before = somebody.client.cookies["ammeter"]
        done = change(somebody)
        assert (done.status_code, done.headers["location"]) == (303, PAGE)
        assert somebody.client.cookies["ammeter"] != before
        [kept] = [each for each in done.headers.get_list("set-cookie") if each.startswith("ammeter=")]
        assert "HttpOnly" in kept
        assert "SameSite=lax" in kept
        assert "Your password is changed" in somebody.get(PAGE).text
        assert elsewhere.get("/settings").status_code == 303
        with visiting(tenant, somebody.email) as thief:
            thief.client.cookies.set("ammeter", before)
            assert thief.get("/settings").status_code == 303
            assert thief.sign_in(PASSWORD).status_code == 401
            assert thief.sign_in(NEW).status_code == 303
        # Forms of the page go on too: the proof belongs to the new session.
        assert somebody.post(f"{PAGE}/name", name="Ada").status_code == 303
    with person(tenant, Role.admin) as admin:
        log = admin.get("/settings/audit").text
        assert "member.password" in log
        assert "member.rename" in log
        assert NEW not in log


def test_what_is_wrong_with_a_password_stands_at_its_field(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        for sent, field, told in (
            (change(somebody, current="not the password"), "current", "This is not your password."),
            (change(somebody, password="short"), "password", "A password has 12 to 256 characters."),
            (change(somebody, password=PASSWORD), "password", "This is your password already."),
            (change(somebody, repeated="something else"), "repeated", "This is not the same password."),
        ):
            assert sent.status_code == 422
            assert re.search(rf'id="e-{field}">{re.escape(told)}', sent.text)
            assert NEW not in sent.text
            assert PASSWORD not in sent.text
        _still_knows(tenant, somebody)


def test_guesses_are_counted_as_at_the_sign_in(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        answers = [change(somebody, current="a wrong password") for _ in range(10)]
        assert [answer.status_code for answer in answers] == [422] * 9 + [429], "the sign-in was the first"
        assert int(answers[-1].headers["retry-after"]) > 0
        assert "Too many attempts." in answers[-1].text
        assert change(somebody).status_code == 429
        with visiting(tenant, somebody.email) as again:
            again.client = somebody.client
            somebody.post("/sign-out")
            assert again.sign_in().status_code == 429


def test_forms_of_another_site_are_refused(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        fields = {"name": "Mallory", "current": PASSWORD, "password": NEW, "repeated": NEW}
        for path in ("name", "password", "sign-out-others"):
            sent = somebody.client.post(f"{PAGE}/{path}", data=fields, headers=HTML, follow_redirects=False)
            assert sent.status_code == 403, path
        assert "Mallory" not in somebody.get(PAGE).text
        _still_knows(tenant, somebody)


def test_a_person_signs_out_everywhere_else(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody, visiting(tenant, somebody.email) as elsewhere:
        assert "Sign out everywhere else" not in somebody.get(PAGE).text
        elsewhere.sign_in()
        page = somebody.get(PAGE).text
        assert page.count("Another browser") == 1
        assert page.count("this browser") == 1
        assert somebody.post(f"{PAGE}/sign-out-others").status_code == 303
        page = somebody.get(PAGE).text
        assert "You are signed out everywhere else." in page
        assert "Another browser" not in page
        assert elsewhere.get("/settings").status_code == 303


def test_who_signs_in_elsewhere_only_is_told_so_and_offered_no_form(tenant: Household) -> None:
    email = f"sso-{tenant.org.id}@example.com"
    with tenant.house.db.write() as tx:
        members.add_member(tx, OPERATOR, tenant.org.id, email=email, name="Sso", role=Role.viewer)
        token = sessions.begin(tx, email=email, origin="", request_id=None)
    with visiting(tenant, email) as somebody:
        somebody.client.cookies.set("ammeter", token)
        page = somebody.get(PAGE).text
        assert "You have no password here: you sign in at another service" in page
        assert f'action="{PAGE}/password"' not in page
        refused = change(somebody, current="")
        assert refused.status_code == 409
        assert "You have no password here" in refused.text


def test_whoever_is_not_signed_in_has_no_profile(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        assert somebody.get(PAGE).headers["location"] == f"/sign-in?next={PAGE}"


def _still_knows(tenant: Household, somebody: Person) -> None:
    with visiting(tenant, somebody.email) as again:
        assert again.sign_in(PASSWORD).status_code == 303
