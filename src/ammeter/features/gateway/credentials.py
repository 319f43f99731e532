"""A manifest's auth with the values that its references name, for the part that puts them on the wire."""

from __future__ import annotations

from ammeter.engines.compiler.manifest import (
    Auth,
    BasicAuth,
    BearerAuth,
    ClientCredentialsAuth,
    HeaderAuth,
    NoAuth,
    QueryAuth,
)
from ammeter.engines.egress.auth import (
    BasicCredential,
    ClientCredentials,
    Credential,
    HeaderCredential,
    NoCredential,
    QueryCredential,
)
from ammeter.features.secrets.references import Credentials, MissingCredential, OrgCredentials

__all__ = ["Credentials", "MissingCredential", "OrgCredentials", "resolve"]


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
