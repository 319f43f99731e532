"""What a manifest's references name, opened for the part that puts it on the wire: `secret:NAME` from the
organization's sealed secrets, `env:NAME` from those variables of the server that the operator allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ammeter.base.errors import NotFound
from ammeter.engines.compiler.manifest import (
    Auth,
    BasicAuth,
    BearerAuth,
    ClientCredentialsAuth,
    HeaderAuth,
    NoAuth,
    QueryAuth,
)
from ammeter.engines.db.database import Database
from ammeter.engines.egress.auth import (
    BasicCredential,
    ClientCredentials,
    Credential,
    HeaderCredential,
    NoCredential,
    QueryCredential,
)
from ammeter.features.secrets.service import Secrets


class MissingCredential(Exception):
    """A reference that names nothing here, in words for whoever owns the manifest."""


class Credentials(Protocol):
    async def reveal(self, reference: str) -> str:
        """The value behind `secret:NAME` or `env:NAME`; MissingCredential where there is none."""
        ...


class OrgCredentials:
    def __init__(self, db: Database, secrets: Secrets, org_id: str, environment: Mapping[str, str]) -> None:
        """`environment`: the variables that references may name, and no others."""
        self._db, self._secrets = db, secrets
        self._org_id, self._environment = org_id, environment

    async def reveal(self, reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind == "env":
            value = self._environment.get(name)
            if not value:
                raise MissingCredential(
                    f"The manifest refers to {reference}, which is not set, or not among the names in"
                    " AMMETER_SECRET_ENV_NAMES; whoever operates the server can change that."
                )
            return value
        try:
            return await self._db.read_few(lambda tx: self._secrets.reveal(tx, self._org_id, name))
        except NotFound:
            raise MissingCredential(
                f"The manifest refers to {reference}, which the organization does not have; set it with"
                f" 'ammeter admin secret set' or PUT /secrets/{name}."
            ) from None


async def resolve(auth: Auth, credentials: Credentials) -> Credential:
    """The manifest's auth with its values."""

    async def opened(reference: str | None) -> str:
        return await credentials.reveal(reference) if reference else ""

    match auth:
        case NoAuth():
            return NoCredential()
        case BearerAuth():
            value = await opened(auth.secret_ref)
            return HeaderCredential(name="Authorization", value=value, prefix=auth.prefix)
        case HeaderAuth():
            value = await opened(auth.secret_ref)
            return HeaderCredential(name=auth.header_name, value=value, prefix=auth.prefix)
        case QueryAuth():
            return QueryCredential(name=auth.query_name, value=await opened(auth.secret_ref))
        case BasicAuth():
            return BasicCredential(
                username=auth.username or await opened(auth.username_ref),
                password=await opened(auth.secret_ref),
                username_is_secret=auth.username is None,
            )
        case ClientCredentialsAuth():
            return ClientCredentials(
                token_url=auth.token_url,
                client_id=auth.client_id or await opened(auth.client_id_ref),
                client_secret=await opened(auth.secret_ref),
                scopes=auth.scopes,
                audience=auth.audience,
                client_authentication=auth.client_authentication,
                client_id_is_secret=auth.client_id is None,
            )
