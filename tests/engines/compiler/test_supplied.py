"""What the server sets is in no signature, example, declaration or card."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import check


def parameter(name: str, location: str) -> dict[str, Any]:
    return {"name": name, "in": location, "required": True, "schema": {"type": "string"}}


GIVEN = [parameter("X-Shop-Key", "header"), parameter("shop_key", "query"), parameter("Host", "header")]
DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.test"}],
    "paths": {"/books": {"get": {"operationId": "books_list", "parameters": GIVEN, "responses": {}}}},
}


@pytest.mark.parametrize(
    ("auth", "asked", "supplied"),
    [
        ({"type": "none"}, {"X-Shop-Key", "shop_key"}, []),
        ({"type": "header", "headerName": "x-shop-key", "secretRef": "secret:K"}, {"shop_key"}, ["header"]),
        ({"type": "query", "queryName": "shop_key", "secretRef": "secret:K"}, {"X-Shop-Key"}, ["query"]),
    ],
)
def test_scripts_are_asked_only_for_what_the_server_does_not_set(
    auth: dict[str, str], asked: set[str], supplied: list[str]
) -> None:
    manifest, faults = check({"auth": auth})
    assert manifest is not None, faults
    done = compile_description(Description(openapi=DOCUMENT, manifest=manifest))
    assert done.bundle is not None
    (card,) = done.bundle.cards
    for name in ("X-Shop-Key", "shop_key", "Host"):
        for text in (card.signature, card.example or "", done.bundle.declarations):
            assert (name in text) == (name in asked), text
    told = [finding.message for finding in done.findings if finding.code == "supplied_parameter"]
    assert [message.split()[1] for message in told] == supplied
