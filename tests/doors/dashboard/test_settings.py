"""The pages of the settings: people, keys, secrets, features, and lists that follow their address."""

from __future__ import annotations

import re

from ammeter.features.orgs import members
from ammeter.features.orgs.model import Role
from tests.doors.dashboard.people import PASSWORD, Person, add_person, person, visiting
from tests.household import OPERATOR, Household


def test_a_new_member_signs_in_with_the_password_that_is_shown_once(tenant: Household) -> None:
    with person(tenant, Role.admin) as admin:
        email = f"new-{tenant.org.id[-12:]}@example.com"
        answer = admin.post("/settings/members", email=email, name="New", role="editor")
        assert answer.status_code == 201
        password = _shown_once(answer.text)
        assert password not in admin.get("/settings/members").text
        with visiting(tenant, email) as somebody:
            assert somebody.sign_in(password).status_code == 303
            assert "editor" in somebody.get("/settings").text
        again = admin.post("/settings/members", email=email, name="New", role="editor")
        assert again.status_code == 422
        assert "is a member already" in again.text


def test_a_role_changes_at_the_next_request_and_the_only_owner_stays(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner, person(tenant, Role.viewer) as viewer:
        assert viewer.get("/settings/keys").status_code == 403
        assert owner.post(f"/settings/members/{_member(owner, viewer)}", role="admin").status_code == 303
        assert viewer.get("/settings/keys").status_code == 200
        assert viewer.post(f"/settings/members/{_member(owner, owner)}/remove").status_code == 403
        stays = owner.post(f"/settings/members/{_member(owner, owner)}/remove")
        assert stays.status_code == 409
        assert "is the only owner" in stays.text
        assert owner.post(f"/settings/members/{_member(owner, viewer)}/remove").status_code == 303
        assert viewer.get("/settings").status_code == 303


def test_a_key_is_minted_used_and_revoked(tenant: Household) -> None:
    with person(tenant, Role.admin) as admin:
        answer = admin.post("/settings/keys", name="Page key", role="viewer", days="30")
        token = _shown_once(answer.text)
        asked = {"authorization": f"Bearer {token}"}
        assert tenant.client.get("/api/service/v1/org", headers=asked).status_code == 200
        rows = tenant.call("GET", "/org/keys").json()["rows"]
        [key] = [row for row in rows if row["name"] == "Page key"]
        assert key["expiresAt"]
        assert key["createdBy"] == admin.email
        assert admin.post(f"/settings/keys/{key['id']}/revoke").status_code == 303
        assert tenant.client.get("/api/service/v1/org", headers=asked).status_code == 401
        assert "revoked" in admin.get("/settings/keys?state=revoked").text
        assert "Page key" not in admin.get("/settings/keys?state=live").text
        above = admin.post("/settings/keys", name="Too much", role="owner", days="")
        assert above.status_code == 422
        # The admin's form does not offer it either.
        assert '<option value="owner"' not in admin.get("/settings/keys").text


def test_a_secret_goes_in_and_never_comes_out(tenant: Household) -> None:
    value = " a value with blanks around it "
    with person(tenant, Role.admin) as admin:
        wrong = admin.post("/settings/secrets", name="lower", value=value)
        assert wrong.status_code == 422
        assert value.strip() not in wrong.text
        assert admin.post("/settings/secrets", name="TOKEN", value=value).status_code == 303
        page = admin.get("/settings/secrets").text
        assert "TOKEN is sealed" in page
        assert value.strip() not in page
        with tenant.house.db.read() as tx:
            assert tenant.house.secrets.reveal(tx, tenant.org.id, "TOKEN") == value
        assert admin.post("/settings/secrets/TOKEN/delete").status_code == 303
        assert "No secrets yet" in admin.get("/settings/secrets").text
        assert value.strip() not in admin.get("/settings/audit").text


def test_an_owner_switches_features_and_others_read_them(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner, person(tenant, Role.editor) as editor:
        assert owner.post("/settings/features", code_mode="yes").status_code == 303
        assert tenant.call("GET", "/org").json()["features"] == {"codeMode": True, "mcpAnalytics": False}
        page = editor.get("/settings/features").text
        assert "An owner of the organization switches them" in page
        assert 'action="/settings/features"' not in page


def test_a_list_is_sorted_filtered_and_paged_by_its_address(tenant: Household) -> None:
    with tenant.house.db.write() as tx:
        for number in range(30):
            email = f"m{number:02}-{tenant.org.id[-12:]}@example.com"
            members.add_member(tx, OPERATOR, tenant.org.id, email=email, name="M", role=Role.viewer)
    with person(tenant, Role.owner) as owner:
        first = owner.get("/settings/members?sort=email").text
        second = owner.get("/settings/members?sort=email&page=2").text
        assert _emails(first) == sorted(_emails(first))
        assert len(_emails(first)) == 25
        assert len(_emails(second)) == 6
        assert 'rel="next"' in first
        assert 'rel="next"' not in second
        down = owner.get("/settings/members?sort=-email").text
        assert _emails(down) == sorted(_emails(down), reverse=True)
        assert 'aria-sort="descending"' in down
        assert len(_emails(owner.get("/settings/members?q=m07").text)) == 1
        assert "No member fits" in owner.get("/settings/members?q=zzz").text
        for odd in ("page=0", "page=-1", "page=x", "page=99999999999", "sort=password", "page=40"):
            assert owner.get(f"/settings/members?{odd}").status_code == 200, odd


def test_times_are_in_the_zone_that_the_browser_told(tenant: Household) -> None:
    with person(tenant, Role.owner) as owner:
        assert 'data-zone="UTC"' in owner.get("/settings").text
        for zone, shown in (
            ("Asia%2FTokyo", "Asia/Tokyo"),
            ("..%2F..%2Fetc%2Fpasswd", "UTC"),
            ("Nowhere%2FLand", "UTC"),
            ("posix", "UTC"),
        ):
            cookie = f"ammeter={owner.client.cookies['ammeter']}; zone={zone}"
            assert f'data-zone="{shown}"' in owner.get("/settings", cookie=cookie).text, zone


def test_a_password_never_comes_back(tenant: Household) -> None:
    with visiting(tenant, add_person(tenant, Role.viewer)) as somebody:
        assert PASSWORD + "x" not in somebody.sign_in(PASSWORD + "x").text


def _shown_once(page: str) -> str:
    found = re.search(r'<code class="token">([^<]+)</code>', page)
    assert found, page
    return found[1]


def _member(reader: Person, wanted: Person) -> str:
    rows = reader.get(f"/settings/members?q={wanted.email}").text
    found = re.search(r"role-([0-9a-f-]{36})", rows)
    assert found, rows
    return found[1]


def _emails(page: str) -> list[str]:
    return re.findall(r"<td>([^<@]+@[^<]+)</td>", page)
