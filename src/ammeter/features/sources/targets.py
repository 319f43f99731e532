"""Where a source is: its address, whether that is this very server, and with which credentials it is met.

A source, an auth profile and something that opens references come in; a Target for `mcp_client` goes out.
Processes are absent: they need a place to run in, see `connector.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ammeter.engines.egress.auth import (
    BasicCredential,
    ClientCredentials,
    Credential,
    HeaderCredential,
    NoCredential,
)
from ammeter.engines.egress.base_url import BadUrl, parse_url
from ammeter.engines.egress.guard import Guard
from ammeter.engines.mcp_client.port import Target
from ammeter.features.secrets.references import REFERENCE, Credentials, MissingCredential
from ammeter.features.sources.model import AuthProfile, Source

HOSTED_PATH = "/product-mcp/"
DEFAULT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where this server is, and which addresses it may call."""

    public_url: str
    guard: Guard


def base_url_of(source: Source, public_url: str) -> str | None:
    """The address that the source is met at; a source with a slug is met at its hosted endpoint here."""
    if source.base_url is None and source.source_slug and not source.is_hosted:
        return f"{public_url}{HOSTED_PATH}{source.source_slug}"
    return source.base_url


def preview_of(source: Source, public_url: str) -> Source:
    """The source as it is met where its stored bundles are previewed: at its hosted endpoint here."""
    return replace(
        source,
        target_kind="mcp",
        transport_type="streamable_http",
        base_url=f"{public_url}{HOSTED_PATH}{source.source_slug}",
    )


def own_slug(url: str, public_url: str) -> str | None:
    """The slug where the address is a hosted endpoint of this very server; None for any other."""
    try:
        there, here = parse_url(url), parse_url(public_url)
    except BadUrl:
        return None
    if there.origin != here.origin or not there.path.startswith(HOSTED_PATH):
        return None
    return there.path.removeprefix(HOSTED_PATH).strip("/") or None


async def credential_of(profile: AuthProfile | None, credentials: Credentials) -> Credential:
    """The profile with the values its references name; MissingCredential where one names nothing."""
    if profile is None or profile.auth_type == "none":
        return NoCredential()
    told = profile.auth_config

    async def opened(name: str) -> str:
        reference = told.get(name)
        if not reference:
            raise MissingCredential(
                f"The auth profile {profile.name!r} has no {name}; give it one such as secret:MY_TOKEN."
            )
        return await credentials.reveal(reference)

    match profile.auth_type:
        case "bearer_token":
            return HeaderCredential(
                name=told.get("header_name") or "Authorization",
                value=await opened("secret_ref"),
                prefix=told.get("prefix", "Bearer"),
            )
        case "api_key_header":
            return HeaderCredential(
                name=told.get("header_name") or "X-API-Key",
                value=await opened("secret_ref"),
                prefix=told.get("prefix", ""),
            )
        case "basic":
            return BasicCredential(
                username=await opened("username_ref"),
                password=await opened("password_ref"),
                username_is_secret=True,
            )
        case "oauth2_client_credentials":
            return ClientCredentials(
                token_url=told["token_url"],
                client_id=told["client_id"],
                client_secret=await opened("client_secret_ref"),
                scopes=tuple(told.get("scopes", ())),
            )


async def revealed(values: Mapping[str, Any], credentials: Credentials) -> tuple[dict[str, str], set[str]]:
    """Plain values with those that are references opened, and the values that came of that."""
    plain: dict[str, str] = {}
    secret: set[str] = set()
    for name, value in values.items():
        reference = value.get("secretRef", "") if isinstance(value, Mapping) else value
        if isinstance(value, Mapping) or REFERENCE.fullmatch(reference):
            plain[name] = await credentials.reveal(reference)
            secret.add(plain[name])
        else:
            plain[name] = reference
    return plain, secret


async def open_target(
    source: Source,
    headers: Mapping[str, str],
    credentials: Credentials,
    *,
    public_url: str,
    secrets: frozenset[str] = frozenset(),
) -> Target:
    """Of a source that is met over HTTP; `headers` are those of its auth profile, and go last."""
    told, found = await revealed(source.connection_config.get("headers") or {}, credentials)
    url = base_url_of(source, public_url) or ""
    mine = {name.lower() for name in headers}
    return Target(
        transport="sse" if source.transport_type == "sse" else "streamable_http",
        url=url,
        headers={name: value for name, value in told.items() if name.lower() not in mine} | dict(headers),
        timeout_s=float(source.connection_config.get("timeoutSeconds") or DEFAULT_TIMEOUT_S),
        own=own_slug(url, public_url) is not None,
        secrets=secrets | frozenset(found),
    )
