"""An organization to test with: a House on a fresh database, people and keys in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from starlette.testclient import TestClient

from ammeter.asgi import build_app
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Actor, Organization, Role
from ammeter.settings import Settings
from ammeter.wiring import House, open_house

API = "/api/service/v1"
# Compiled sandbox modules, made once for all tests of this user: seconds of work each.
CACHE = Path(tempfile.gettempdir()) / f"ammeter-tests-{os.getuid()}"
OPERATOR = Actor(kind="operator", name="tests", role=Role.owner, origin="tests")


def make_settings(database_url: str, data_dir: Path, **more: Any) -> Settings:
    given = {"cache_dir": CACHE} | more
    return Settings(database_url=SecretStr(database_url), data_dir=data_dir, **given)


@contextmanager
def opened_house(settings: Settings) -> Iterator[House]:
    house = open_house(settings)
    try:
        yield house
    finally:
        house.close()


@dataclass(frozen=True, slots=True)
class Household:
    """One organization with a key of each role, and a client at the server's doors."""

    house: House
    org: Organization
    tokens: dict[Role, str]
    client: TestClient

    def call(self, method: str, path: str, role: Role = Role.owner, **kwargs: Any) -> Any:
        """A request with the key of a role; the path is relative to the API's base."""
        headers = {"authorization": f"Bearer {self.tokens[role]}"} | kwargs.pop("headers", {})
        return self.client.request(method, API + path, headers=headers, **kwargs)


def make_household(house: House, client: TestClient, slug: str = "acme") -> Household:
    with house.db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug=slug, name=slug.title(), region="us")
        tokens = {role: keys.mint_key(tx, OPERATOR, org.id, name=role.name, role=role)[1] for role in Role}
    return Household(house=house, org=org, tokens=tokens, client=client)


def make_client(house: House) -> TestClient:
    return TestClient(build_app(house), base_url="http://127.0.0.1:8321", raise_server_exceptions=False)


def refusal(answer: Any) -> tuple[int, str]:
    """Status and code of an error, after a check of its shape."""
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "details", "requestId"}
    assert error["message"]
    assert error["requestId"] == answer.headers["x-request-id"]
    return answer.status_code, error["code"]


def details(answer: Any) -> dict[str, str]:
    return {detail["path"]: detail["message"] for detail in answer.json()["error"]["details"]}
