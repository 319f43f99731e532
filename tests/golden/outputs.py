"""What the compiler makes of one of the small descriptions in `compiler/`, as files that a person reviews.

`python -m tests.golden.rewrite` writes them anew; the diff is the review.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ammeter.engines.compiler.cards import make_cards
from ammeter.engines.compiler.document import read_document
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.index import sdk_index
from ammeter.engines.compiler.javascript import sdk_table
from ammeter.engines.compiler.model import Api, Card
from ammeter.engines.compiler.naming import with_names
from ammeter.engines.compiler.operations import extensions, read_api
from ammeter.engines.compiler.pagination import with_pagination
from ammeter.engines.compiler.typescript import declarations

FOLDER = Path(__file__).parent / "compiler"
FEATURES = sorted(path.name for path in FOLDER.iterdir() if (path / "openapi.yaml").is_file())


def compiled(document: dict[str, Any], findings: Findings) -> Api:
    """The phases between a document that was read and the writers."""
    own = extensions(document)
    return with_pagination(with_names(read_api(document, findings), own, findings), own, findings)


def outputs(feature: str) -> dict[str, str]:
    """By file name: what the description of a feature becomes."""
    findings = Findings()
    reading = read_document((FOLDER / feature / "openapi.yaml").read_bytes())
    findings.extend(reading.findings)
    assert reading.document is not None, reading.findings
    api = compiled(reading.document, findings)
    cards = make_cards(api, "client")
    return {
        "sdk.d.ts": declarations(api, "client"),
        "sdk.json": _rows(sdk_table(api)),
        "script.ts": _script(cards),
        "index.txt": sdk_index(api, cards, "client") + "\n",
        "cards.json": _pretty([_shown(card) for card in cards]),
        "operations.json": _pretty([_called(api, i) for i in range(len(api.operations))]),
        "findings.json": _pretty([asdict(finding) for finding in findings.all()]),
    }


def _shown(card: Card) -> dict[str, Any]:
    return {name: value for name, value in asdict(card).items() if value not in ((), None, "")}


def _called(api: Api, place: int) -> dict[str, Any]:
    """How the host will call an operation, as far as the description tells."""
    operation = api.operations[place]
    body = operation.body
    return {
        "call": f"{operation.sdk_name} = {operation.method.upper()} {operation.path} ({operation.id})",
        "parameters": [
            f"{p.arg} -> {p.location} {p.name!r} {p.style}{' explode' if p.explode else ''}"
            f"{' required' if p.required else ''}{f' as {p.content_type}' if p.content_type else ''}"
            for p in operation.parameters
        ],
        "body": body
        and {"as": body.content_type, "required": body.required, "args": body.args or body.body_arg},
        "answers": [f"{r.status} {r.kind} {r.content_type or ''}".rstrip() for r in operation.responses],
        "security": operation.security,
        "servers": operation.servers or api.servers,
    }


def _script(cards: tuple[Card, ...]) -> str:
    """Every example of the SDK in one TypeScript file: it must fit the declarations."""
    lines = ['/// <reference path="./sdk.d.ts" />']
    for place, card in enumerate(cards):
        if card.example is not None:
            inner = "\n".join("  " + line for line in card.example.splitlines())
            lines += [f"export async function example{place}() {{", inner, "}"]
    return "\n".join([*lines, "export {};", ""])


def _rows(table: list[Any]) -> str:
    return "[\n" + ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in table) + "\n]\n"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
