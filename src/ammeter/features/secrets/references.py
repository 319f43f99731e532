"""What a reference names, opened for the part that puts it on the wire: `secret:NAME` from the organization's
sealed secrets, `env:NAME` from those variables of the server that the operator allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Database
from ammeter.features.secrets.service import Secrets

REFERENCE = re.compile(r"(secret|env):[A-Za-z_][A-Za-z0-9_]{0,127}")


class MissingCredential(Exception):
    """A reference that names nothing here, in words for whoever wrote it."""


class Credentials(Protocol):
    async def reveal(self, reference: str) -> str:
        """The value behind `secret:NAME` or `env:NAME`; MissingCredential where there is none."""
        ...


class OrgCredentials:
    def __init__(
        self,
        db: Database,
        secrets: Secrets,
        org_id: str,
        environment: Mapping[str, str],
        *,
        whose: str = "The manifest",
    ) -> None:
        """`environment`: the variables that references may name, and no others. `whose`: who refers."""
        self._db, self._secrets = db, secrets
        self._org_id, self._environment, self._whose = org_id, environment, whose

    async def reveal(self, reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind == "env":
            value = self._environment.get(name)
            if not value:
                raise MissingCredential(
                    f"{self._whose} refers to {reference}, which is not set, or not among the names in"
                    " AMMETER_SECRET_ENV_NAMES; whoever operates the server can change that."
                )
            return value
        try:
            return await self._db.read_few(lambda tx: self._secrets.reveal(tx, self._org_id, name))
        except NotFound:
            raise MissingCredential(
                f"{self._whose} refers to {reference}, which the organization does not have; set it with"
                f" 'ammeter admin secret set' or PUT /org/secrets/{name}."
            ) from None
