"""Signing in and out: sessions, who may, and what strangers can do with the forms."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from ammeter.base.clock import now
from ammeter.features.orgs import members, sessions
from ammeter.features.orgs.model import Role
from ammeter.features.upkeep.housekeeping_job import _SESSION_LIFE as LIFE
from tests.doors.dashboard.people import HTML, PASSWORD, add_person, person, proof_in, visiting
from tests.household import OPERATOR, Household

COOKIE = "ammeter"


def test_whoever_is_not_signed_in_is_led_to_the_sign_in_and_back(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        led = somebody.get("/settings/members?q=a%20b&sort=name")
        assert (led.status_code, led.headers["location"]) == (
            303,
            "/sign-in?next=/settings/members%3Fq%3Da%2520b%26sort%3Dname",
        )
        form = somebody.get(led.headers["location"]).text
        assert 'name="next" value="/settings/members?q=a%20b&amp;sort=name"' in form
        done = somebody.sign_in(next="/settings/members?q=a%20b&sort=name")
        assert (done.status_code, done.headers["location"]) == (303, "/settings/members?q=a%20b&sort=name")
        assert somebody.get("/settings/members").status_code == 200


def test_a_wrong_password_and_an_unknown_person_are_told_the_same(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        wrong = somebody.sign_in("not the password at all")
        somebody.email = "nobody@example.com"
        unknown = somebody.sign_in()
        assert (wrong.status_code, unknown.status_code) == (401, 401)
        told = "The address or the password is not right."
        assert told in wrong.text
        assert told in unknown.text
        assert COOKIE not in somebody.client.cookies
        assert PASSWORD not in unknown.text


def test_a_sign_in_always_begins_a_new_session(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        first = somebody.client.cookies[COOKIE]
        for planted in ("A" * 43, first):
            with visiting(tenant, somebody.email) as other:
                proof = proof_in(other.client.get("/sign-in", headers=HTML).text)
                start = other.client.cookies[f"{COOKIE}-start"]
                sent = {"cookie": f"{COOKIE}={planted}; {COOKIE}-start={start}"}
                data = {"proof": proof, "email": somebody.email, "password": PASSWORD}
                done = other.client.post("/sign-in", data=data, headers=HTML | sent, follow_redirects=False)
                assert done.status_code == 303
                assert done.cookies[COOKIE] != planted
        # What was planted opens nothing: neither an invented token nor the one that was there before.
        assert _is_over(tenant, "A" * 43)
        assert _is_over(tenant, first)


def test_the_cookie_is_for_this_site_alone_and_for_no_script(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        plain = _attributes(somebody.sign_in(), COOKIE)
        assert {"httponly", "samesite=lax", "path=/"} <= plain
        assert "secure" not in plain
        somebody.client.base_url = "https://127.0.0.1:8321"
        assert {"secure", "httponly", "samesite=lax"} <= _attributes(somebody.sign_in(), "__Host-ammeter")


def test_who_signs_out_is_out_everywhere_the_cookie_went(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        token = somebody.client.cookies[COOKIE]
        out = somebody.post("/sign-out")
        assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
        with visiting(tenant, somebody.email) as thief:
            thief.client.cookies.set(COOKIE, token)
            assert thief.get("/settings").status_code == 303


@pytest.mark.parametrize("age", ["idle", "old"])
def test_a_session_ends_by_itself(tenant: Household, age: str) -> None:
    with person(tenant, Role.viewer) as somebody:
        token = somebody.client.cookies[COOKIE]
        tight = {
            "idle": sessions.Lifetime(idle=timedelta(0), longest=timedelta(days=1)),
            "old": sessions.Lifetime(idle=timedelta(days=1), longest=timedelta(0)),
        }[age]
        with tenant.house.db.write() as tx:
            assert sessions.find(tx, token, LIFE) is not None
            assert sessions.find(tx, token, tight) is None
            assert sessions.prune(tx, tight, now() + timedelta(seconds=1)) >= 1
        assert somebody.get("/settings").status_code == 303


def test_a_new_password_ends_the_sessions_of_the_old_one(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        with tenant.house.db.write() as tx:
            members.set_password(tx, OPERATOR, tenant.org.id, somebody.email, "another password")
        assert somebody.get("/settings").status_code == 303


def test_a_removed_member_is_out_at_the_next_request(tenant: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        with tenant.house.db.write() as tx:
            members.remove_member(tx, OPERATOR, tenant.org.id, somebody.email)
        assert somebody.get("/settings").status_code == 303
        assert somebody.sign_in().status_code == 403


def test_attempts_are_counted(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        answers = [somebody.sign_in("wrong wrong wrong") for _ in range(11)]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429]
        assert int(answers[-1].headers["retry-after"]) > 0
        # The right password does not help either: it may have been guessed.
        assert somebody.sign_in().status_code == 429


@pytest.mark.parametrize(
    "given",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "evil.example",
        "///evil.example",
        "http:evil.example",
    ],
)
def test_nobody_is_sent_elsewhere_after_the_sign_in(tenant: Household, given: str) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        assert somebody.sign_in(next=given).headers["location"] == "/"
        shown = somebody.client.get("/sign-in", params={"next": given}, headers=HTML, follow_redirects=False)
        assert shown.headers["location"] == "/"


def test_a_sign_in_form_of_another_site_is_refused(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        fields = {"email": somebody.email, "password": PASSWORD}
        assert somebody.client.post("/sign-in", data=fields, headers=HTML).status_code == 403
        fields["proof"] = proof_in(somebody.get("/sign-in").text)
        abroad = HTML | {"sec-fetch-site": "cross-site"}
        assert somebody.client.post("/sign-in", data=fields, headers=abroad).status_code == 403
        somebody.client.cookies.clear()
        assert somebody.client.post("/sign-in", data=fields, headers=HTML).status_code == 403
        assert COOKIE not in somebody.client.cookies


def test_a_person_of_two_organizations_chooses(tenant: Household, neighbour: Household) -> None:
    with person(tenant, Role.viewer) as somebody:
        add_person(neighbour, Role.admin, somebody.email)
        page = somebody.get("/settings").text
        assert neighbour.org.name in page
        assert somebody.post("/organization", org=neighbour.org.slug).status_code == 303
        assert neighbour.org.id in somebody.get("/settings").text
        assert somebody.get("/settings/keys").status_code == 200
        somebody.post("/organization", org=tenant.org.slug)
        assert somebody.get("/settings/keys").status_code == 403
        assert somebody.post("/organization", org="somebody-elses").status_code == 404


def _is_over(tenant: Household, token: str) -> bool:
    with tenant.house.db.read() as tx:
        return sessions.find(tx, token, LIFE) is None


def _attributes(answer: object, name: str) -> set[str]:
    headers = answer.headers.get_list("set-cookie")  # type: ignore[attr-defined]
    [found] = [header for header in headers if header.startswith(f"{name}=")]
    return {part.strip().lower() for part in re.split(";", found)[1:]}
