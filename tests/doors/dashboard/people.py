"""People at the dashboard: they sign in as a browser does, keep cookies and send forms with the proof."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from ammeter.base.ids import new_id
from ammeter.features.orgs import members
from ammeter.features.orgs.model import Role
from tests.household import OPERATOR, Household

PASSWORD = "a password of tests"
_PROOF = re.compile(r'name="proof" value="([0-9a-f]+)"')
HTML = {"accept": "text/html"}
BASE = "http://127.0.0.1:8321"


class Person:
    def __init__(self, client: TestClient, email: str) -> None:
        self.client = client
        self.email = email

    def sign_in(self, password: str = PASSWORD, **more: str) -> Any:
        proof = proof_in(self.client.get("/sign-in", headers=HTML).text)
        fields = {"proof": proof, "email": self.email, "password": password} | more
        return self.client.post("/sign-in", data=fields, headers=HTML, follow_redirects=False)

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=HTML | headers, follow_redirects=False)

    def post(self, path: str, /, **fields: Any) -> Any:
        """A form with its proof, taken from a page that everybody may see."""
        proof = proof_in(self.get("/settings").text)
        return self.client.post(path, data={"proof": proof} | fields, headers=HTML, follow_redirects=False)


def proof_in(text: str) -> str:
    found = _PROOF.search(text)
    assert found, text
    return found[1]


def add_person(household: Household, role: Role, email: str = "") -> str:
    email = email or f"{role.name}-{new_id()}@example.com"
    with household.house.db.write() as tx:
        members.add_member(
            tx, OPERATOR, household.org.id, email=email, name=role.name.title(), role=role, password=PASSWORD
        )
    return email


@contextmanager
def visiting(household: Household, email: str) -> Iterator[Person]:
    """A browser of their own at an address of its own, not signed in yet."""
    client = TestClient(
        household.client.app,
        base_url=BASE,
        raise_server_exceptions=False,
        client=(f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}", 50_000),
    )
    # On the event loop of the shared client, whose house it is.
    client.portal = household.client.portal
    yield Person(client, email)


@contextmanager
def person(household: Household, role: Role) -> Iterator[Person]:
    """Somebody of a role who is signed in."""
    with visiting(household, add_person(household, role)) as somebody:
        assert somebody.sign_in().status_code == 303
        yield somebody
