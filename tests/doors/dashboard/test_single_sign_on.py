"""Signing in at another service: who comes back as a member is in, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import SecretStr

from ammeter.base.errors import SettingsError
from ammeter.features.orgs.model import Role
from ammeter.wiring import open_house
from tests.doors.dashboard.people import Person, add_person, visiting
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.issuer import Issuer, running_issuer

START = "/sign-in/oidc"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as started:
        yield started


@pytest.fixture(scope="module")
def household(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    folder = tmp_path_factory.mktemp("sso")
    settings = make_settings(
        f"sqlite:///{folder / 'a.db'}",
        folder,
        oidc_issuer=issuer.url,
        oidc_client_id="ammeter",
        oidc_client_secret=SecretStr("a-secret"),
        oidc_label="Sign in with Harbour",
    )
    with opened_house(settings) as house, make_client(house) as client:
        yield make_household(house, client)


def agreed(started: Any, sub: str) -> str:
    """Where the browser comes back to, once the person agreed there."""
    location: str = httpx.post(started.headers["location"], data={"sub": sub}).headers["location"]
    parts = urlsplit(location)
    return f"{parts.path}?{parts.query}"


def came_back(somebody: Person, sub: str, next_path: str = "/settings/members") -> Any:
    started = somebody.get(f"{START}?next={next_path}")
    assert started.status_code == 303
    return somebody.get(agreed(started, sub))


def test_a_member_comes_in_and_where_they_wanted(household: Household, issuer: Issuer) -> None:
    email = add_person(household, Role.viewer)
    issuer.add("known", email=email.upper(), email_verified=True)
    with visiting(household, email) as somebody:
        assert "Sign in with Harbour" in somebody.get("/sign-in?next=/settings").text
        done = came_back(somebody, "known")
        assert (done.status_code, done.headers["location"]) == (303, "/settings/members")
        assert email in somebody.get("/settings").text
        # What was kept for the answer is gone: the same answer again opens nothing.
        assert "ammeter-oidc" not in somebody.client.cookies
        profile = somebody.get("/settings/profile").text
        assert "with your password or at another service (“Sign in with Harbour”)" in profile


def test_a_stranger_stays_outside(household: Household, issuer: Issuer) -> None:
    issuer.add("stranger", email="stranger@elsewhere.test", email_verified=True)
    with visiting(household, "") as somebody:
        done = came_back(somebody, "stranger")
        assert done.status_code == 401
        assert "member of no organization" in done.text
        assert somebody.get("/settings").status_code == 303


def test_an_answer_counts_only_in_the_browser_that_asked(household: Household, issuer: Issuer) -> None:
    email = add_person(household, Role.owner)
    issuer.add("owner", email=email, email_verified=True)
    with visiting(household, email) as somebody, visiting(household, "") as victim:
        stolen = agreed(somebody.get(START), "owner")
        bare = victim.get(stolen)
        assert (bare.status_code, "took too long" in bare.text) == (401, True)
        victim.get(START)
        other = victim.get(stolen)
        assert (other.status_code, "belongs to another sign-in" in other.text) == (401, True)
        assert victim.get("/settings").status_code == 303


@pytest.mark.parametrize("evil", ["//evil.test", "https://evil.test", "/\\evil.test"])
def test_nobody_is_sent_elsewhere_afterwards(household: Household, issuer: Issuer, evil: str) -> None:
    email = add_person(household, Role.viewer)
    issuer.add("wanderer", email=email, email_verified=True)
    with visiting(household, email) as somebody:
        assert came_back(somebody, "wanderer", evil).headers["location"] == "/"


def test_without_a_service_there_is_no_such_page(tenant: Household) -> None:
    with visiting(tenant, "") as somebody:
        assert somebody.get(START).status_code == 404
        assert START not in somebody.get("/sign-in").text


def test_an_issuer_without_a_client_stops_the_start(tmp_path: Path) -> None:
    settings = make_settings(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, oidc_issuer="https://id.test")
    with pytest.raises(SettingsError, match="AMMETER_OIDC_CLIENT_ID"):
        open_house(settings)
