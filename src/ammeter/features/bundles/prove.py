"""The proof: every card's example is run in the sandbox against a mock that the description gives.

So what an agent is shown has run once, through a turn of the page where answers come in pages; a card whose
example fails is a finding and loses it. Many examples run as one script, and one by one where any of them
fails: an API of thousands of operations is proven in seconds, and a fault is told as its own script has it.
What went wrong on our side is tried again: the same description gives the same bundle on a busy server too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ammeter.base.errors import Unavailable
from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Card, Finding, Operation
from ammeter.engines.sandbox.port import (
    Busy,
    Crashed,
    Deadline,
    Limits,
    Outcome,
    Sandbox,
    Script,
    ScriptError,
    Value,
)
from ammeter.features.bundles.mock import PAGES, Mock

_TOGETHER = 50
_AT_ONCE = 8
_CALLS = 20
_PAUSE_S = 0.5
# How often a script is tried that found no place, and one that the sandbox itself failed.
_BUSY_TRIES = 60
_FAILED_TRIES = 3


async def prove(bundle: Bundle, sandbox: Sandbox) -> tuple[Bundle, tuple[Finding, ...]]:
    """The bundle with the examples that ran, and a finding for each that did not."""
    proof = _Proof(bundle, sandbox)
    shown = [card for card in bundle.cards if card.example is not None]
    turns = asyncio.Semaphore(_AT_ONCE)

    async def prove_some(cards: Sequence[Card]) -> dict[str, str]:
        async with turns:
            return await proof.faults(cards)

    some = [shown[at : at + _TOGETHER] for at in range(0, len(shown), _TOGETHER)]
    faults: dict[str, str] = {}
    for found in await asyncio.gather(*map(prove_some, some)):
        faults |= found
    findings = Findings()
    cards = tuple(_proven(card, faults, proof.operations, findings) for card in bundle.cards)
    return replace(bundle, cards=cards), findings.all()


def _proven(
    card: Card, faults: Mapping[str, str], operations: Mapping[str, Operation], findings: Findings
) -> Card:
    fault = faults.get(card.operation_id)
    if fault is None:
        return card
    message = f"The example of {card.sdk_name} does not run and is left out: {fault}"
    findings.warning("example_failed", operations[card.operation_id].pointer, message)
    return replace(card, example=None)


class _Proof:
    def __init__(self, bundle: Bundle, sandbox: Sandbox) -> None:
        self._bundle = bundle
        self._sandbox = sandbox
        self.operations = {operation.id: operation for operation in bundle.api.operations}

    async def faults(self, cards: Sequence[Card]) -> dict[str, str]:
        """By operation: why its example is none."""
        bodies = ",\n".join(f"async () => {{\n{card.example}\n}}" for card in cards)
        outcome, mock = await self._run(f"for (const example of [{bodies}]) await example();", len(cards))
        if isinstance(outcome, Value) and all(self._is_whole(card, mock) for card in cards):
            return {}
        found: dict[str, str] = {}
        for card in cards:
            outcome, mock = await self._run(card.example or "", 1)
            if isinstance(outcome, ScriptError):
                found[card.operation_id] = outcome.message
            elif not isinstance(outcome, Value):
                found[card.operation_id] = f"it ended with {type(outcome).__name__}."
            elif not self._is_whole(card, mock):
                found[card.operation_id] = "it does not come to the second page of the answer."
        return found

    def _is_whole(self, card: Card, mock: Mock) -> bool:
        is_paged = self.operations[card.operation_id].pagination is not None
        return not is_paged or mock.pages_given[card.operation_id] == PAGES

    async def _run(self, code: str, examples: int) -> tuple[Outcome, Mock]:
        # Of time on the clock there is plenty: how much a script takes of it is the server's affair.
        limits = Limits(wall_ms=60_000, cpu_ms=1_000 + 100 * examples, calls=_CALLS * _TOGETHER)
        bundle = self._bundle
        script = Script(code=code, sdk=bundle.sdk_js, client_name=bundle.client_name, limits=limits)
        failed = 0
        for _ in range(_BUSY_TRIES):
            mock = Mock(bundle.api, self.operations)
            outcome = await self._sandbox.run(script, mock)
            failed += isinstance(outcome, Crashed | Deadline)
            if not isinstance(outcome, Busy | Crashed | Deadline) or failed == _FAILED_TRIES:
                return outcome, mock
            await asyncio.sleep(_PAUSE_S)
        raise Unavailable(
            "The sandbox that tries the examples is too busy; try again shortly.", retry_after_s=5
        )
