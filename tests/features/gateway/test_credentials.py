"""References opened: an organization's secrets, and the variables that the operator allows."""

from __future__ import annotations

import asyncio

import pytest

from ammeter.engines.db.database import Database
from ammeter.features.gateway.credentials import MissingCredential, OrgCredentials
from ammeter.features.orgs.model import Organization
from ammeter.features.secrets.sealing import KeyRing
from ammeter.features.secrets.service import Secrets
from tests.household import OPERATOR
from tests.shared import new_org


@pytest.fixture
def secrets() -> Secrets:
    return Secrets(KeyRing([b"k" * 32]))


def reveal(db: Database, secrets: Secrets, org: Organization, reference: str) -> str:
    given = {"ALLOWED": "from the environment", "EMPTY": ""}
    return asyncio.run(OrgCredentials(db, secrets, org.id, given).reveal(reference))


def test_an_organization_opens_its_own_secrets(
    shared_db: Database, org: Organization, secrets: Secrets
) -> None:
    with shared_db.write() as tx:
        other = new_org(tx)
        secrets.put(tx, OPERATOR, org.id, name="TOKEN", value="ours")
        secrets.put(tx, OPERATOR, other.id, name="THEIRS", value="theirs")
    assert reveal(shared_db, secrets, org, "secret:TOKEN") == "ours"
    for reference in ("secret:THEIRS", "secret:NONE"):
        with pytest.raises(MissingCredential, match=f"{reference}, which the organization does not have"):
            reveal(shared_db, secrets, org, reference)
    with shared_db.write() as tx:
        secrets.put(tx, OPERATOR, org.id, name="TOKEN", value="newer")
    assert reveal(shared_db, secrets, org, "secret:TOKEN") == "newer"


def test_only_variables_that_the_operator_allows(
    shared_db: Database, org: Organization, secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORBIDDEN", "of the server")
    assert reveal(shared_db, secrets, org, "env:ALLOWED") == "from the environment"
    for reference in ("env:FORBIDDEN", "env:EMPTY", "env:PATH"):
        with pytest.raises(MissingCredential, match="AMMETER_SECRET_ENV_NAMES"):
            reveal(shared_db, secrets, org, reference)
