"""Credentials onto a request, after everything else about it is settled: a header, a part of the query, or
a token that is fetched first.

Comes in: a credential with its value. Goes out: headers and query to add, and the exact values in them, so
that they can be found again in whatever comes back. Absent: where values are kept.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, quote_plus, urlencode

from ammeter.engines.egress.base_url import BadUrl, Url, parse_url
from ammeter.engines.egress.port import Answer, EgressFault, Request

# Renewed this long before its end, so that none expires on its way.
_EARLY_S = 30.0
_LIFETIME_S = 300.0
_MOST_TOKENS = 1_000
_BREAKS = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCredential:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderCredential:
    """A bearer token too: a header `Authorization` with a prefix."""

    name: str
    value: str = field(repr=False)
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCredential:
    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicCredential:
    username: str = field(repr=False)
    password: str = field(repr=False)
    username_is_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """OAuth 2: a token is asked for at `token_url` and sent as a bearer token."""

    token_url: str
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    audience: str | None = None
    client_authentication: Literal["basic", "body"] = "basic"
    client_id_is_secret: bool = False


Fixed = NoCredential | HeaderCredential | QueryCredential | BasicCredential
Credential = Fixed | ClientCredentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    header: tuple[str, str] | None = None
    query: tuple[str, str] | None = None
    values: frozenset[str] = field(default=frozenset(), repr=False)

    def headers(self, given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """The given headers with ours in place of any of the same name."""
        if self.header is None:
            return given
        name = self.header[0].lower()
        return (*(pair for pair in given if pair[0].lower() != name), self.header)

    def url(self, url: Url) -> Url:
        if self.query is None:
            return url
        name = quote_plus(self.query[0])
        kept = [part for part in (url.query or "").split("&") if part and part.partition("=")[0] != name]
        query = "&".join((*kept, f"{name}={quote(self.query[1], safe='')}"))
        return Url(scheme=url.scheme, host=url.host, port=url.port, path=url.path, query=query)


def injection(credential: Fixed) -> Injection:
    match credential:
        case NoCredential():
            return Injection()
        case HeaderCredential(name=name, value=value, prefix=prefix):
            _refuse_breaks(value)
            return Injection(header=(name, f"{prefix} {value}".strip()), values=frozenset({value}))
        case QueryCredential(name=name, value=value):
            return Injection(query=(name, value), values=frozenset({value}))
        case BasicCredential(username=username, password=password):
            pair = base64.b64encode(f"{username}:{password}".encode()).decode()
            values = {password, pair} | ({username} if credential.username_is_secret else set())
            return Injection(header=("Authorization", f"Basic {pair}"), values=frozenset(values - {""}))


def client_values(credential: ClientCredentials) -> frozenset[str]:
    """What of the client itself must never be seen again."""
    pair = base64.b64encode(_pair(credential).encode()).decode()
    values = {credential.client_secret, pair}
    return frozenset(values | ({credential.client_id} if credential.client_id_is_secret else set()))


@dataclass(slots=True)
class _Token:
    value: str = field(repr=False)
    until: float


class Tokens:
    """Tokens by the credential they were fetched with; one fetch at a time for each."""

    def __init__(self, send: Callable[[Request, Url], Awaitable[Answer]]) -> None:
        self._send = send
        self._known: dict[ClientCredentials, _Token] = {}
        self._fetching: dict[ClientCredentials, asyncio.Task[_Token]] = {}

    async def token(self, credential: ClientCredentials, *, refused: str | None = None) -> HeaderCredential:
        """A live token. `refused`: one that the API would not take, not to be given again."""
        known = self._known.get(credential)
        if known is None or known.until <= time.monotonic() or known.value == refused:
            known = await self._fetched(credential)
        return HeaderCredential(name="Authorization", value=known.value, prefix="Bearer")

    async def close(self) -> None:
        for task in (tasks := list(self._fetching.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetched(self, credential: ClientCredentials) -> _Token:
        task = self._fetching.get(credential)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(credential))
            self._fetching[credential] = task
            task.add_done_callback(lambda done: self._end(credential, done))
        # One who gives up waiting does not take the token from the others.
        return await asyncio.shield(task)

    def _end(self, credential: ClientCredentials, done: asyncio.Task[_Token]) -> None:
        self._fetching.pop(credential, None)
        if not done.cancelled() and done.exception() is None:
            if len(self._known) >= _MOST_TOKENS:
                self._known.clear()
            self._known[credential] = done.result()

    async def _fetch(self, credential: ClientCredentials) -> _Token:
        request, url = _token_request(credential)
        try:
            answer = await self._send(request, url)
        except EgressFault as fault:
            raise EgressFault("credentials", f"No access token was got: {fault.message}") from fault
        return _read_token(answer)


def _token_request(credential: ClientCredentials) -> tuple[Request, Url]:
    try:
        url = parse_url(credential.token_url)
    except BadUrl as fault:
        told = f"The token URL cannot be called: {fault}."
        raise EgressFault("credentials", told) from None
    form = {"grant_type": "client_credentials"}
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    if credential.scopes:
        form["scope"] = " ".join(credential.scopes)
    if credential.audience:
        form["audience"] = credential.audience
    if credential.client_authentication == "basic":
        pair = base64.b64encode(_pair(credential).encode()).decode()
        headers.append(("Authorization", f"Basic {pair}"))
    else:
        form |= {"client_id": credential.client_id, "client_secret": credential.client_secret}
    body = urlencode(form).encode()
    return Request(method="POST", url=str(url), headers=tuple(headers), body=body), url


def _pair(credential: ClientCredentials) -> str:
    """RFC 6749, 2.3.1: each half is form-encoded before the two are joined."""
    return f"{quote_plus(credential.client_id)}:{quote_plus(credential.client_secret)}"


def _read_token(answer: Answer) -> _Token:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        told = {}
    token, lifetime = told.get("access_token"), told.get("expires_in")
    if answer.status != 200 or not isinstance(token, str) or not token:
        code = told.get("error")
        shown = f" with the error {code[:60]!r}" if isinstance(code, str) else ""
        raise EgressFault(
            "credentials", f"The token endpoint answered {answer.status}{shown}; no access token was got."
        )
    _refuse_breaks(token)
    if isinstance(lifetime, str) and lifetime.isdecimal():
        lifetime = int(lifetime)
    seconds = _LIFETIME_S
    if isinstance(lifetime, int | float) and 0 <= lifetime < 10**9:
        seconds = float(lifetime)
    early = min(_EARLY_S, seconds / 2)
    return _Token(value=token, until=time.monotonic() + seconds - early)


def _refuse_breaks(value: str) -> None:
    if _BREAKS.search(value):
        raise EgressFault(
            "credentials", "The credential holds a line end or a control character; store it again without."
        )
