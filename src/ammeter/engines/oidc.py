"""Signing people in with another service, by OpenID Connect: where to send a browser, and who came back.

Comes in: the issuer and the client that it knows us as. Goes out: an address with what must be kept until
the answer; then, for an answer, the person's e-mail and name, or one `SignInFault`. Authorization code with
PKCE, nonce and state; the ID token's signature is checked with the issuer's keys. Absent: cookies, and who
may come in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from ammeter.engines.egress.base_url import BadUrl, parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.port import EgressFault, Request

# Signed with a key that only the issuer has; nothing that a client secret could forge.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_S = 60
_SCOPES = "openid email profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClient:
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    """Empty: a public client, which PKCE alone protects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where the browser goes, and what it brings back is held against."""

    url: str
    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    email: str
    name: str


class SignInFault(Exception):
    """No sign-in came of it; the message is for the person at the browser and holds no token."""


class Provider:
    def __init__(self, client: OidcClient, egress: Egress) -> None:
        self._client = client
        self._egress = egress
        self._found: dict[str, Any] | None = None
        self._keys: Mapping[str, Any] | None = None

    async def close(self) -> None:
        await self._egress.close()

    async def start(self, redirect_uri: str) -> Start:
        found = await self._discovered()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": redirect_uri,
            "scope": _SCOPES,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = found["authorization_endpoint"]
        joint = "&" if "?" in address else "?"
        return Start(url=f"{address}{joint}{urlencode(asked)}", state=state, nonce=nonce, verifier=verifier)

    async def finish(self, *, code: str, verifier: str, nonce: str, redirect_uri: str) -> Person:
        found = await self._discovered()
        tokens = await self._exchange(found, code, verifier, redirect_uri)
        claims = await self._claims(found, str(tokens.get("id_token") or ""))
        if not secrets.compare_digest(str(claims.get("nonce", "")), nonce):
            raise SignInFault("The answer belongs to another sign-in. Try again.")
        email = claims.get("email")
        if not isinstance(email, str) or "@" not in email:
            raise SignInFault("The sign-in service did not tell an e-mail address.")
        if claims.get("email_verified") is False:
            raise SignInFault("The sign-in service has not verified the e-mail address.")
        return Person(email=email, name=str(claims.get("name") or ""))

    async def _discovered(self) -> dict[str, Any]:
        if self._found is None:
            issuer = self._client.issuer
            found = await self._json(
                Request(method="GET", url=issuer.rstrip("/") + "/.well-known/openid-configuration")
            )
            if found.get("issuer") != issuer:
                raise SignInFault("The sign-in service calls itself by another name than the configured one.")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not str(found.get(name, "")).startswith(("https://", "http://")):
                    raise SignInFault(f"The sign-in service does not tell its {name}.")
            self._found = found
        return self._found

    async def _exchange(
        self, found: Mapping[str, Any], code: str, verifier: str, redirect_uri: str
    ) -> dict[str, Any]:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
        client = self._client
        methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if not client.client_secret:
            fields["client_id"] = client.client_id
        elif "client_secret_basic" in methods:
            pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
            headers.append(("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
        else:
            fields |= {"client_id": client.client_id, "client_secret": client.client_secret}
        return await self._json(
            Request(
                method="POST",
                url=found["token_endpoint"],
                headers=tuple(headers),
                body=urlencode(fields).encode(),
            )
        )

    async def _claims(self, found: Mapping[str, Any], token: str) -> dict[str, Any]:
        # Imported here: for servers that are told of an issuer.
        import jwt

        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = await self._key(found, key_id)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._client.client_id,
                issuer=self._client.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as fault:
            raise SignInFault(
                f"The sign-in service's token does not hold ({type(fault).__name__})."
            ) from None
        if (
            isinstance(claims["aud"], list)
            and claims.get("azp", self._client.client_id) != self._client.client_id
        ):
            raise SignInFault("The sign-in service's token is meant for another client.")
        return claims

    async def _key(self, found: Mapping[str, Any], key_id: str | None) -> Any:
        import jwt

        for is_fresh in (False, True):
            if self._keys is None or is_fresh:
                # Issuers change their keys: one that is not known is looked for again.
                self._keys = await self._json(Request(method="GET", url=found["jwks_uri"]))
            for key in jwt.PyJWKSet.from_dict(dict(self._keys)).keys:
                if key_id is None or key.key_id == key_id:
                    return key
        raise SignInFault("The sign-in service's token is signed with a key that it does not publish.")

    async def _json(self, request: Request) -> dict[str, Any]:
        try:
            answer = await self._egress.send(request, base=parse_base(request.url))
        except (EgressFault, BadUrl) as fault:
            raise SignInFault(f"The sign-in service cannot be asked: {fault}") from None
        try:
            value = json.loads(answer.body)
        except ValueError:
            value = None
        if answer.status != 200 or not isinstance(value, dict):
            raise SignInFault(f"The sign-in service refused ({answer.status}). Try again.")
        return value
