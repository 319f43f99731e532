"""The proof: every card's example is run in the sandbox against a mock that the description gives.

The mock checks the call as the real host will and answers with a value that the answer's schema allows. So
what an agent is shown has run once; a card whose example fails is a finding and loses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.arguments import check_arguments
from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api, Card, Finding, Operation
from ammeter.engines.compiler.sample import BINARY, sample
from ammeter.engines.sandbox.port import HostError, Limits, Outcome, Sandbox, Script, ScriptError, Value

_LIMITS = Limits(wall_ms=5_000, cpu_ms=2_000, calls=20)
_AT_ONCE = 8


async def prove(bundle: Bundle, sandbox: Sandbox) -> tuple[Bundle, tuple[Finding, ...]]:
    """The bundle with the examples that ran, and a finding for each that did not."""
    findings = Findings()
    operations = {operation.id: operation for operation in bundle.api.operations}
    mock = _Mock(bundle.api, operations)
    turns = asyncio.Semaphore(_AT_ONCE)

    async def prove_one(card: Card) -> Card:
        if card.example is None:
            return card
        async with turns:
            script = Script(
                code=card.example, sdk=bundle.sdk_js, client_name=bundle.client_name, limits=_LIMITS
            )
            outcome = await sandbox.run(script, mock)
        if isinstance(outcome, Value):
            return card
        operation = operations[card.operation_id]
        message = f"The example of {card.sdk_name} does not run and is left out: {_why(outcome)}"
        findings.warning("example_failed", operation.pointer, message)
        return replace(card, example=None)

    cards = tuple(await asyncio.gather(*(prove_one(card) for card in bundle.cards)))
    return replace(bundle, cards=cards), findings.all()


class _Mock:
    def __init__(self, api: Api, operations: Mapping[str, Operation]) -> None:
        self._api = api
        self._operations = operations

    async def call(self, operation_id: str, arguments: Any) -> Any:
        operation = self._operations.get(operation_id)
        if operation is None:
            return HostError(name="TypeError", message=f"There is no operation {operation_id!r}.")
        problems = check_arguments(self._api, operation, arguments)
        if problems:
            told = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
            return HostError(name="TypeError", message=told)
        body = mock_answer(self._api, operation)
        if operation.pagination is not None and arguments and operation.pagination.request_arg in arguments:
            body = _last_page(body, operation.pagination.items)
        return {"body": body, "next": None}


def mock_answer(api: Api, operation: Operation) -> Any:
    """What the API would answer, by its description."""
    success = operation.success
    if success is None or success.kind == "none":
        return None
    if success.kind == "text":
        return "text"
    if success.kind == "binary":
        return BINARY
    return sample(success.schema or {}, api.schemas, whole=True)


def _last_page(body: Any, items: tuple[str, ...]) -> Any:
    """The same answer without rows: pages end somewhere."""
    if not items:
        return []
    return {**body, items[0]: _last_page(body.get(items[0]), items[1:])} if isinstance(body, dict) else body


def _why(outcome: Outcome) -> str:
    return outcome.message if isinstance(outcome, ScriptError) else type(outcome).__name__
