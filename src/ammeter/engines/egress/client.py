"""The only way out to customers' APIs: a request and its base URL in, an answer out, or one EgressFault.

Nothing leaves the base URL, redirects included; every connection goes to an address that the guard has
checked; sizes, times and numbers of connections are bounded. Proxies of the environment and cookies are
absent on purpose. Organizations, operations and what an answer means are not known here.
"""

from __future__ import annotations

import asyncio
import io
import random
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ammeter.engines.egress.auth import (
    ClientCredentials,
    Credential,
    Fixed,
    NoCredential,
    Tokens,
    client_values,
    injection,
)
from ammeter.engines.egress.base_url import BadUrl, Url, follow, parse_url, why_outside
from ammeter.engines.egress.guard import ForbiddenAddress, Guard
from ammeter.engines.egress.port import Answer, EgressFault, Facts, Limits, Request
from ammeter.engines.egress.unpack import ENCODINGS, NotPacked, TooLarge, unpack

if TYPE_CHECKING:
    import aiohttp

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRY_AGAIN = frozenset({429, 502, 503, 504})
_KEPT_HEADERS = frozenset(
    {
        *("content-type", "content-disposition", "link", "location", "retry-after"),
        *("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-amz-request-id"),
        *("x-trace-id", "cf-ray"),
    }
)
_BODY_HEADERS = frozenset({"content-type", "content-encoding", "content-language"})
# aiohttp warns of bytes over a megabyte; a file is written piece by piece.
_WRITTEN_AT_ONCE = 64 * 1024
_UNPACKED_AT_ONCE = 16 * 1024
_END_S = 0.05


class Egress:
    def __init__(self, guard: Guard, *, limits: Limits | None = None, user_agent: str = "Ammeter") -> None:
        self.limits = limits or Limits()
        self._guard = guard
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None
        self._opening = asyncio.Lock()
        self._tls: ssl.SSLContext | None = None
        self._tokens = Tokens(self._send_for_token)

    async def send(
        self,
        request: Request,
        *,
        base: Url,
        credential: Credential | None = None,
        deadline: float | None = None,
        facts: Facts | None = None,
    ) -> Answer:
        """`deadline`: nothing is begun after it, on the clock of `time.monotonic`; whoever does not want to
        wait longer cancels. `facts` is filled as the trip goes."""
        facts = facts if facts is not None else Facts()
        credential = credential or NoCredential()
        deadline = float("inf") if deadline is None else deadline
        if time.monotonic() >= deadline:
            raise EgressFault("timeout", "No time was left for the call.")
        try:
            async with asyncio.timeout(self.limits.call_s):
                return await self._with_retries(request, base, credential, deadline, facts)
        except TimeoutError:
            told = f"The API did not answer within {self.limits.call_s:g} s."
            raise EgressFault("timeout", told) from None

    async def close(self) -> None:
        await self._tokens.close()
        session, self._session = self._session, None
        self._opening, self._tls = asyncio.Lock(), None
        if session is not None:
            await session.close()
        self._guard.close()

    async def _with_retries(
        self, request: Request, base: Url, credential: Credential, deadline: float, facts: Facts
    ) -> Answer:
        while True:
            answer, fault = None, None
            try:
                answer = await self._authenticated(request, base, credential, facts)
            except EgressFault as caught:
                fault = caught
            pause = self._pause(request, answer, fault, facts.retries)
            if pause is None or time.monotonic() + pause + _END_S >= deadline:
                if fault is not None:
                    raise fault
                assert answer is not None
                return answer
            facts.retries += 1
            await asyncio.sleep(pause)

    def _pause(
        self, request: Request, answer: Answer | None, fault: EgressFault | None, retries: int
    ) -> float | None:
        """How long to wait before the next try; None where there is to be none."""
        if not request.repeatable or retries >= self.limits.retries:
            return None
        told = None
        if answer is not None:
            if answer.status not in _TRY_AGAIN:
                return None
            told = _retry_after(answer.headers.get("retry-after", ""))
        elif fault is None or fault.kind != "network":
            return None
        pause = told if told is not None else 0.1 * 2**retries * random.uniform(0.8, 1.2)  # noqa: S311
        return pause if pause <= self.limits.longest_pause_s else None

    async def _authenticated(
        self, request: Request, base: Url, credential: Credential, facts: Facts
    ) -> Answer:
        if not isinstance(credential, ClientCredentials):
            return await self._redirected(request, base, credential, facts)
        facts.injected |= client_values(credential)
        token = await self._tokens.token(credential)
        answer = await self._redirected(request, base, token, facts)
        if answer.status != 401:
            return answer
        # Revoked before its time: one new token, one more try.
        token = await self._tokens.token(credential, refused=token.value)
        return await self._redirected(request, base, token, facts)

    async def _send_for_token(self, request: Request, url: Url) -> Answer:
        try:
            async with asyncio.timeout(self.limits.call_s):
                return await self._once(request, url, Facts())
        except TimeoutError:
            raise EgressFault("timeout", "The token endpoint did not answer in time.") from None

    async def _redirected(self, request: Request, base: Url, credential: Fixed, facts: Facts) -> Answer:
        try:
            url = parse_url(request.url)
        except BadUrl as fault:
            raise EgressFault("blocked", f"The request's URL cannot be called: {fault}.") from None
        added = injection(credential)
        facts.injected |= added.values
        for _ in range(self.limits.redirects + 1):
            if (reason := why_outside(base, url)) is not None:
                raise EgressFault(
                    "blocked", f"The call was blocked: it would leave the base URL of the API; {reason}."
                )
            signed = replace(request, headers=added.headers(request.headers))
            answer = await self._once(signed, added.url(url), facts)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not location:
                return answer
            try:
                url = follow(url, location)
            except BadUrl as fault:
                raise EgressFault(
                    "blocked", f"The call was blocked: it was redirected, and {fault}."
                ) from None
            request = _redirect(request, answer.status)
        raise EgressFault("blocked", f"The API redirected the call more than {self.limits.redirects} times.")

    async def _once(self, request: Request, url: Url, facts: Facts) -> Answer:
        """One request to one URL that has been checked."""
        session = await self._opened()
        import aiohttp

        facts.status = None
        try:
            # An address in place of a name never reaches the resolver.
            self._guard.check_literal(url.host)
            return await self._exchange(session, request, url, facts)
        except ForbiddenAddress as error:
            raise EgressFault("blocked", f"The call was blocked: {error}") from None
        except TooLarge:
            most = self.limits.response_bytes // (1024 * 1024)
            raise EgressFault(
                "too_large", f"The API's answer is over the {most} MB that an answer may have; ask for less."
            ) from None
        except NotPacked as error:
            raise EgressFault("malformed", str(error)) from None
        except aiohttp.ServerTimeoutError:
            raise EgressFault("network", f"No connection to {url.origin} came about in time.") from None
        except aiohttp.ClientConnectorCertificateError:
            raise EgressFault("network", f"The certificate of {url.origin} is not trusted.") from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ForbiddenAddress):
                raise EgressFault("blocked", f"The call was blocked: {error.os_error}") from None
            raise EgressFault("network", _unreachable(url, error)) from None
        except (aiohttp.ClientResponseError, aiohttp.InvalidURL, ValueError) as error:
            raise EgressFault(
                "malformed", f"{url.origin} sent what is not HTTP ({type(error).__name__})."
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise EgressFault(
                "network", f"The connection to {url.origin} broke off ({type(error).__name__})."
            ) from None

    async def _exchange(
        self, session: aiohttp.ClientSession, request: Request, url: Url, facts: Facts
    ) -> Answer:
        from yarl import URL

        address = URL.build(
            scheme=url.scheme,
            host=url.host.strip("[]"),
            port=url.port,
            path=url.path,
            query_string=url.query or "",
            encoded=True,
        )
        headers = {"User-Agent": self._user_agent, "Accept-Encoding": ENCODINGS, **dict(request.headers)}
        body: Any = request.body
        if body is not None and len(body) > _WRITTEN_AT_ONCE:
            body = io.BytesIO(body)
        facts.request_bytes += len(request.body or b"")
        async with session.request(
            request.method,
            address,
            headers=headers,
            data=body,
            allow_redirects=False,
            ssl=await self._trust(url),
            trace_request_ctx=facts,
        ) as response:
            facts.status, facts.unanswered = response.status, False
            raw = await self._read(response, facts)
            kept = _kept(response.headers)
        return Answer(status=response.status, headers=kept, body=await self._unpacked(raw, response.headers))

    async def _read(self, response: aiohttp.ClientResponse, facts: Facts) -> bytes:
        most = self.limits.response_bytes
        if (response.content_length or 0) > most:
            response.close()
            raise TooLarge
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            facts.response_bytes += len(part)
            if size > most:
                response.close()
                raise TooLarge
            parts.append(part)
        return b"".join(parts)

    async def _unpacked(self, raw: bytes, headers: Mapping[str, str]) -> bytes:
        encoding = headers.get("content-encoding", "").strip().lower()
        if not encoding or encoding == "identity" or not raw:
            return raw
        if len(raw) <= _UNPACKED_AT_ONCE:
            return unpack(raw, encoding, self.limits.response_bytes)
        return await asyncio.to_thread(unpack, raw, encoding, self.limits.response_bytes)

    async def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            async with self._opening:
                if self._session is None:
                    # In a thread: importing the client takes a while.
                    sessions = await asyncio.to_thread(import_module, "ammeter.engines.egress.session")
                    self._session = sessions.open_session(self._guard, self.limits)
        return self._session

    async def _trust(self, url: Url) -> ssl.SSLContext | bool:
        if url.scheme != "https":
            return True
        if self._tls is None:
            # In a thread: reading the system's certificates takes a while.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


def _redirect(request: Request, status: int) -> Request:
    """The request as it is sent on; what browsers made of the standard."""
    asks_again = status in (301, 302) and request.method == "POST"
    if not asks_again and not (status == 303 and request.method not in ("GET", "HEAD")):
        return request
    headers = tuple(pair for pair in request.headers if pair[0].lower() not in _BODY_HEADERS)
    return replace(request, method="GET", body=None, headers=headers)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for given, value in headers.items():
        name = given.lower()
        if name in _KEPT_HEADERS:
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _retry_after(text: str) -> float | None:
    text = text.strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _unreachable(url: Url, error: aiohttp.ClientConnectorError) -> str:
    cause = error.os_error
    if isinstance(cause, ssl.SSLError):
        return f"{url.origin} does not speak TLS as expected."
    if isinstance(cause, socket.gaierror):
        return f"The name {url.host} has no address."
    return f"No connection to {url.origin}: {cause.strerror or type(cause).__name__}."
