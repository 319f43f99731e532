"""Examples are proven in the real sandbox, through a turn of the page where answers come in pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ammeter.engines.compiler.bundle import Bundle
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import Manifest
from ammeter.engines.sandbox.lazy import LazySandbox
from ammeter.engines.sandbox.port import Busy, Crashed, Host, Outcome, Sandbox, Script, Value
from ammeter.features.bundles.mock import Mock
from ammeter.features.bundles.prove import prove
from tests.household import CACHE

ROW = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
ROWS = {"type": "array", "items": ROW}
WHOLE = {"type": "integer"}
TEXT = {"type": "string"}


def listing(
    answer: Mapping[str, Any],
    *queries: tuple[str, Mapping[str, Any]],
    headers: tuple[str, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    parameters = [{"name": name, "in": "query", "schema": schema, **more} for name, schema in queries]
    good = {
        "description": "ok",
        "content": {"application/json": {"schema": answer}},
        "headers": {name: {"schema": TEXT} for name in headers},
    }
    return {"operationId": "list", "tags": ["rows"], "parameters": parameters, "responses": {"200": good}}


def envelope(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"data": ROWS, **properties}}


FLAG = {"type": "boolean"}
MAYBE = {"type": "string", "nullable": True}
INNER = {"type": "object", "properties": {"next": TEXT}}
LINK = {"type": "string", "format": "uri"}
TREE = {"$ref": "#/components/schemas/Tree"}

LISTINGS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "page": ("page", listing(ROWS, ("page", WHOLE), ("per_page", WHOLE))),
    "page from 0": ("page", listing(ROWS, ("page", {"type": "integer", "default": 0}))),
    "page that must be given": ("page", listing(ROWS, ("page", WHOLE), required=True)),
    "page with a flag": ("page", listing(envelope(has_more=FLAG), ("page", WHOLE))),
    "page with a next page": ("page", listing(envelope(next=MAYBE), ("page", WHOLE))),
    "offset": ("offset", listing(envelope(), ("offset", WHOLE), ("limit", WHOLE))),
    "cursor": ("cursor", listing(envelope(next_cursor=TEXT), ("cursor", TEXT))),
    "cursor to be given": ("cursor", listing(envelope(next_cursor=TEXT), ("cursor", TEXT), required=True)),
    "cursor within": ("cursor", listing(envelope(meta=INNER), ("after", TEXT))),
    "cursor that is a number": ("cursor", listing(envelope(next_cursor=WHOLE), ("cursor", WHOLE))),
    "cursor in a link": ("cursor", listing(envelope(next=LINK), ("cursor", TEXT))),
    "cursor that is the last row": ("cursor", listing(envelope(has_more=FLAG), ("starting_after", TEXT))),
    "link": ("link", listing(ROWS, ("page", WHOLE), headers=("Link",))),
    "rows without end in depth": ("page", listing(TREE, ("page", WHOLE))),
}


def compiled(*operations: Mapping[str, Any]) -> Bundle:
    tree = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": {f"/{number}": {"get": operation} for number, operation in enumerate(operations)},
        "components": {"schemas": {"Tree": tree}},
    }
    compilation = compile_description(Description(openapi=document, manifest=Manifest()))
    assert compilation.bundle is not None, compilation.findings
    return compilation.bundle


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def sandbox(runner: asyncio.Runner) -> Iterator[Sandbox]:
    lazy = LazySandbox(CACHE / "sandbox")
    try:
        yield runner.run(lazy.open())
    finally:
        runner.run(lazy.stop())


@pytest.mark.parametrize("name", LISTINGS)
def test_pages_of_every_kind_are_read_through_a_turn_of_the_page_to_the_end(
    runner: asyncio.Runner, sandbox: Sandbox, name: str
) -> None:
    kind, described = LISTINGS[name]
    bundle = compiled(described)
    (operation,), (card,) = bundle.api.operations, bundle.cards
    assert operation.pagination is not None
    assert operation.pagination.kind == kind
    assert card.example is not None
    mock = Mock(bundle.api, {operation.id: operation})
    outcome = runner.run(sandbox.run(Script(code=card.example, sdk=bundle.sdk_js), mock))
    assert isinstance(outcome, Value), outcome
    assert len(outcome.json) == 2
    assert mock.pages_given[operation.id] == 2
    assert len(outcome.calls) in (2, 3)
    assert runner.run(prove(bundle, sandbox)) == (bundle, ())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("return await client.rows.list({ pag: 1 });", "Did you mean"),
        ("return await client.rows.list(;", ""),
        ("return (await client.rows.list()).length;", "second page"),
        ("for (;;) {}", "CpuExceeded"),
    ],
)
def test_an_example_that_fails_is_a_finding_and_the_others_stay(
    runner: asyncio.Runner, sandbox: Sandbox, wrong: str, told: str
) -> None:
    bundle = compiled(LISTINGS["page"][1], listing(ROWS) | {"operationId": "other"})
    first, other = bundle.cards
    spoiled = replace(bundle, cards=(replace(first, example=wrong), other))
    made, findings = runner.run(prove(spoiled, sandbox))
    assert [card.example for card in made.cards] == [None, other.example]
    (finding,) = findings
    assert (finding.code, finding.pointer) == ("example_failed", "/paths/~10/get")
    assert told in finding.message


class Failing:
    """A sandbox that fails some scripts before it runs the rest."""

    def __init__(self, inner: Sandbox, *failures: Outcome) -> None:
        self._inner = inner
        self._failures = list(failures)

    async def run(self, script: Script, host: Host) -> Outcome:
        return self._failures.pop() if self._failures else await self._inner.run(script, host)

    def hardening(self) -> Mapping[str, Any]:
        return {}


@pytest.mark.parametrize(
    "failures", [(Busy(), Busy()), (Crashed(reason="killed"), Busy(), Crashed(reason="killed"))]
)
def test_what_the_sandbox_fails_is_tried_again(
    runner: asyncio.Runner, sandbox: Sandbox, failures: tuple[Outcome, ...]
) -> None:
    bundle = compiled(LISTINGS["cursor"][1])
    assert runner.run(prove(bundle, Failing(sandbox, *failures))) == (bundle, ())
