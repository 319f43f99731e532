"""One egress on a loop of its own, closed afterwards; and a way to send something with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ammeter.engines.egress.auth import Credential
from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.egress.port import Answer, EgressFault, Facts, Limits, Request
from tests.upstream import Upstream

T = TypeVar("T")


def with_egress(work: Callable[[Egress], Awaitable[T]], **limits: Any) -> T:
    async def go() -> T:
        egress = Egress(Guard(["127.0.0.0/8"]), limits=Limits(**limits))
        try:
            return await work(egress)
        finally:
            await egress.close()

    return asyncio.run(go())


def send(
    upstream: Upstream,
    path: str,
    *,
    method: str = "GET",
    credential: Credential | None = None,
    facts: Facts | None = None,
    limits: dict[str, Any] | None = None,
    **request: Any,
) -> Answer:
    made = Request(method=method, url=upstream.url + path, **request)
    base = parse_base(upstream.url)
    return with_egress(
        lambda egress: egress.send(made, base=base, credential=credential, facts=facts), **(limits or {})
    )


def fault(upstream: Upstream, path: str, **given: Any) -> EgressFault:
    try:
        answer = send(upstream, path, **given)
    except EgressFault as caught:
        return caught
    raise AssertionError(f"An answer came: {answer}")
