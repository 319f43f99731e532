"""What stands behind a script's calls: each is checked, built, given its credentials, sent and read, and
written down from its first moment on. One host per script.

In comes an operation's id and arguments that nobody trusts; out goes `{body, next}`, `{fault}` or a
HostError. A script sees neither credentials nor headers nor URLs. Truncation, telemetry and who may run a
script are absent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

from ammeter.base.errors import Unavailable
from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.arguments import check_arguments
from ammeter.engines.compiler.model import Operation
from ammeter.engines.egress.auth import Credential
from ammeter.engines.egress.base_url import BadUrl, follow, parse_url
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.port import Answer, EgressFault, Facts, Request
from ammeter.engines.sandbox.port import HostError, Json
from ammeter.features.gateway.answers import Unreadable, is_success, next_link, read_body, read_fault
from ammeter.features.gateway.credentials import Credentials, MissingCredential, resolve
from ammeter.features.gateway.parameters import BadArgument
from ammeter.features.gateway.policy import is_write, why_denied
from ammeter.features.gateway.requests import build_request
from ammeter.features.gateway.served import ServedApi
from ammeter.features.gateway.strip import Stripper

CallOutcome = Literal[
    "ok", "http_error", "blocked", "refused", "network_error", "timeout", "in_flight", "unknown"
]
# Larger answers are read in a thread: a megabyte of JSON holds the event loop for too long.
_READ_AT_ONCE = 128 * 1024
NEXT = "$next"
"""The key under which the SDK hands back a page's link, as we gave it out."""


@dataclass(slots=True, kw_only=True)
class UpstreamCall:
    """One call of a script, true at any moment while it is under way."""

    operation_id: str
    sdk_name: str
    method: str
    path: str
    """As in the description, without values."""
    is_write: bool
    began_at: float
    """On the clock of `time.monotonic`."""
    outcome: CallOutcome = "in_flight"
    status: int | None = None
    duration_ms: float = 0.0
    retries: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    error: str | None = None
    secret_stripped: bool = False
    """The API sent a credential back; the script did not get it."""


class ApiHost:
    def __init__(
        self,
        api: ServedApi,
        *,
        egress: Egress,
        credentials: Credentials,
        read_only: bool = False,
        max_calls: int,
        deadline: float | None = None,
        lane: asyncio.Semaphore | None = None,
    ) -> None:
        """`deadline`: when the script ends at the latest, on the clock of `time.monotonic`. `lane`: held by
        each call while it is under way."""
        self._lane = lane or asyncio.Semaphore(max_calls)
        self._api, self._egress, self._credentials = api, egress, credentials
        self._read_only, self._max_calls, self._deadline = read_only, max_calls, deadline
        self._sent = 0
        self._credential: Credential | None = None
        self._resolving = asyncio.Lock()
        self._injected: set[str] = set()
        self._strip = Stripper(())
        self._links: list[tuple[str, str]] = []
        self._trips: list[tuple[UpstreamCall, Facts]] = []
        self.calls: list[UpstreamCall] = []
        """In the order in which they began."""

    @property
    def injected(self) -> frozenset[str]:
        """The exact credential values that this script's calls used."""
        return frozenset(self._injected)

    async def call(self, operation_id: str, arguments: Json) -> Json | HostError:
        operation = self._api.operations.get(operation_id)
        made = self._begin(operation_id, operation)
        if operation is None:
            hint = did_you_mean(operation_id[:200], self._api.operations)
            return self._refuse(made, "TypeError", f"There is no operation {operation_id[:200]!r}.{hint}")
        denied = why_denied(self._api.manifest.policy, operation, read_only=self._read_only)
        if denied is not None:
            return self._refuse(made, "PolicyError", denied)
        try:
            request = self._request(operation, arguments)
        except BadArgument as fault:
            return self._refuse(made, "TypeError", f"{operation.sdk_name}: {fault}")
        if self._sent >= self._max_calls:
            told = f"A script may make {self._max_calls} calls and has made them; do less in one script."
            return self._refuse(made, "LimitError", told)
        self._sent += 1
        return await self._trip(made, operation, request)

    def begin_again(self) -> bool:
        """The script's worker died: it may start anew if all it did was to read."""
        if any(made.is_write and made.outcome != "refused" for made in self.calls):
            return False
        self.calls.clear()
        self._sent = 0
        return True

    def close(self) -> None:
        """The script has ended: what is still under way will not be heard of again."""
        for made, facts in self._trips:
            _cut_off(made, facts)

    def _begin(self, operation_id: str, operation: Operation | None) -> UpstreamCall:
        made = UpstreamCall(
            operation_id=operation_id[:200],
            sdk_name=operation.sdk_name if operation else "",
            method=operation.method.upper() if operation else "",
            path=operation.path if operation else "",
            is_write=operation is not None and is_write(operation),
            began_at=time.monotonic(),
        )
        self.calls.append(made)
        return made

    def _request(self, operation: Operation, arguments: Json) -> Request:
        link = None
        if isinstance(arguments, dict) and NEXT in arguments:
            link = self._link(operation, arguments[NEXT])
            arguments = {name: value for name, value in arguments.items() if name != NEXT}
        problems = check_arguments(self._api.api, operation, arguments)
        if problems:
            raise BadArgument("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        request = build_request(self._api, operation, arguments or {})
        return request if link is None else replace(request, url=link)

    def _link(self, operation: Operation, number: Any) -> str:
        if isinstance(number, int) and 0 <= number < len(self._links):
            whose, link = self._links[number]
            if whose == operation.id:
                return link
        raise BadArgument(f"args.{NEXT}: there is no such page")

    async def _trip(self, made: UpstreamCall, operation: Operation, request: Request) -> Json:
        facts = Facts()
        trip = (made, facts)
        self._trips.append(trip)
        try:
            credential = await self._resolved()
            async with self._lane:
                answer = await self._egress.send(
                    request, base=self._api.base, credential=credential, deadline=self._deadline, facts=facts
                )
            return await self._read(made, operation, request, answer, facts)
        except MissingCredential as fault:
            return _fail(made, "refused", "credentials", str(fault))
        except Unavailable as fault:
            return _fail(made, "refused", "unavailable", fault.message)
        except EgressFault as fault:
            # What an API says may be in the message, such as where it redirects to.
            told = self._learned(facts).text(fault.message)
            return _fail(made, _outcome(fault, made, facts), fault.kind, told)
        except Unreadable as fault:
            return _fail(made, "http_error", "malformed", str(fault))
        except BaseException:
            _cut_off(made, facts)
            raise
        finally:
            self._injected |= facts.injected
            _take(made, facts)
            self._trips.remove(trip)

    async def _resolved(self) -> Credential:
        if self._credential is None:
            async with self._resolving:
                if self._credential is None:
                    self._credential = await resolve(self._api.manifest.auth, self._credentials)
        return self._credential

    async def _read(
        self, made: UpstreamCall, operation: Operation, request: Request, answer: Answer, facts: Facts
    ) -> Json:
        strip = self._learned(facts)
        made.secret_stripped = strip.finds(answer.body)
        read = read_body if is_success(answer.status) else read_fault
        if len(answer.body) > _READ_AT_ONCE:
            content = await asyncio.to_thread(read, operation, answer, strip)
        else:
            content = read(operation, answer, strip)
        if is_success(answer.status):
            made.outcome = "ok"
            return {"body": content, "next": self._next(operation, request, answer)}
        made.outcome, made.error = "http_error", content["message"]
        return {"fault": content}

    def _learned(self, facts: Facts) -> Stripper:
        """What takes out every credential that was used so far, those of this trip too."""
        self._injected |= facts.injected
        if self._injected != self._strip.values:
            self._strip = Stripper(self._injected)
        return self._strip

    def _next(self, operation: Operation, request: Request, answer: Answer) -> Json:
        """Arguments that ask for the next page, where a link leads to it. The link itself stays here."""
        if operation.pagination is None or operation.pagination.kind != "link":
            return None
        link = next_link(answer)
        if link is None:
            return None
        # One that cannot be followed is kept as it is: the next call is blocked and says so.
        with contextlib.suppress(BadUrl):
            link = str(follow(parse_url(request.url), link))
        self._links.append((operation.id, link))
        return {NEXT: len(self._links) - 1}

    def _refuse(self, made: UpstreamCall, name: str, message: str) -> HostError:
        made.outcome, made.error = "refused", message
        made.duration_ms = (time.monotonic() - made.began_at) * 1000
        return HostError(name=name, message=message)


def _outcome(fault: EgressFault, made: UpstreamCall, facts: Facts) -> CallOutcome:
    if made.is_write and facts.unanswered:
        return "unknown"
    match fault.kind:
        case "blocked" | "timeout":
            return fault.kind
        case "credentials":
            return "refused"
        case "network":
            return "network_error"
        case "too_large" | "malformed":
            return "http_error"


def _fail(made: UpstreamCall, outcome: CallOutcome, code: str, message: str) -> Json:
    if outcome == "unknown":
        message += " Whether the API carried the call out is not known; look before you repeat it."
    made.outcome, made.error = outcome, message
    told = f"{made.method} {made.path}: {message}"
    return {"fault": {"message": told, "status": 0, "code": code, "body": None, "requestId": None}}


def _cut_off(made: UpstreamCall, facts: Facts) -> None:
    """The script ended first. A read that nobody heard of is just that; a write may have happened."""
    if made.outcome in ("in_flight", "unknown"):
        made.outcome = "unknown" if made.is_write and facts.unanswered else "in_flight"
        _take(made, facts)


def _take(made: UpstreamCall, facts: Facts) -> None:
    made.status, made.retries = facts.status, facts.retries
    made.request_bytes, made.response_bytes = facts.request_bytes, facts.response_bytes
    made.duration_ms = (time.monotonic() - made.began_at) * 1000
