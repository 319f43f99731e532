"""The proof: every card's example is run in the sandbox against a mock that the description gives.

So what an agent is shown has run once, through a turn of the page where answers come in pages; a card whose
example fails is a finding and loses it. What went wrong on our side is tried again and never becomes a
finding: the same description must give the same bundle on a busy server too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from ammeter.base.errors import Unavailable
from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api, Card, Finding, Operation
from ammeter.engines.sandbox.port import Busy, Limits, Sandbox, Script, ScriptError, Value
from ammeter.features.bundles.mock import PAGES, Mock

_LIMITS = Limits(wall_ms=5_000, cpu_ms=2_000, calls=20)
_AT_ONCE = 8
_PAUSE_S = 0.5
# How often a script is tried that found no place, and one that the sandbox itself failed.
_BUSY_TRIES = 60
_FAILED_TRIES = 3


async def prove(bundle: Bundle, sandbox: Sandbox) -> tuple[Bundle, tuple[Finding, ...]]:
    """The bundle with the examples that ran, and a finding for each that did not."""
    findings = Findings()
    operations = {operation.id: operation for operation in bundle.api.operations}
    turns = asyncio.Semaphore(_AT_ONCE)

    async def prove_one(card: Card) -> Card:
        if card.example is None:
            return card
        script = Script(code=card.example, sdk=bundle.sdk_js, client_name=bundle.client_name, limits=_LIMITS)
        async with turns:
            fault = await _fault(script, sandbox, bundle.api, operations, card)
        if fault is None:
            return card
        message = f"The example of {card.sdk_name} does not run and is left out: {fault}"
        findings.warning("example_failed", operations[card.operation_id].pointer, message)
        return replace(card, example=None)

    cards = tuple(await asyncio.gather(*(prove_one(card) for card in bundle.cards)))
    return replace(bundle, cards=cards), _in_order(findings.all())


async def _fault(
    script: Script, sandbox: Sandbox, api: Api, operations: Mapping[str, Operation], card: Card
) -> str | None:
    """Why an example is none; None where it ran."""
    failed = 0
    for _ in range(_BUSY_TRIES):
        mock = Mock(api, operations)
        outcome = await sandbox.run(script, mock)
        if isinstance(outcome, Value):
            is_whole = mock.pages_given == PAGES or operations[card.operation_id].pagination is None
            return None if is_whole else "it does not come to the second page of the answer."
        if isinstance(outcome, ScriptError):
            return outcome.message
        if not isinstance(outcome, Busy):
            failed += 1
            if failed == _FAILED_TRIES:
                return f"it ended with {type(outcome).__name__}."
        await asyncio.sleep(_PAUSE_S)
    raise Unavailable("The sandbox that tries the examples is too busy; try again shortly.", retry_after_s=5)


def _in_order(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """By place: the scripts end in any order."""
    return tuple(sorted(findings, key=lambda finding: (finding.pointer, finding.message)))
