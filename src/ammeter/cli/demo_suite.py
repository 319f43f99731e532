"""The demo's suite: three cases against Harbour Books that need no language model, made once the bundle is
served, through the door that everybody uses. An organization that has cases already is left as it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from ammeter.cli.first import DEMO_SLUG, FirstOwner
from ammeter.cli.remote import Remote, RemoteError

log = logging.getLogger("ammeter.demo_suite")

DEMO_SUITE = "harbour-books"
_API = "/api/service/v1"


async def make_demo_suite(owner: FirstOwner, address: str) -> None:
    """Runs beside the server; a failure is logged, and the server goes on without the demo's suite."""
    try:
        made = await asyncio.to_thread(_make, Remote(address, owner.token))
    except RemoteError as error:
        log.warning("the demo has no suite: %s", error.message)
    else:
        if made:
            log.info("the demo has a suite: ammeter gate --suite %s", DEMO_SUITE)


def _make(remote: Remote) -> bool:
    if remote.get(f"{_API}/workflows")["rows"] or remote.get(f"{_API}/suites")["rows"]:
        return False
    sources = remote.get(f"{_API}/mcp-servers")["rows"]
    found = next((row for row in sources if _slug(remote, row["id"]) == DEMO_SLUG), None)
    if found is None:
        return False
    case_ids = [
        remote.post(f"{_API}/workflows", _body({**case, "mcpServerId": found["id"]}))["workflow"]["id"]
        for case in _cases()
    ]
    suite = {"name": DEMO_SUITE, "description": "Is the bookshop's API fit for agents?", "caseIds": case_ids}
    remote.post(f"{_API}/suites", _body(suite))
    return True


def _slug(remote: Remote, source_id: str) -> Any:
    return remote.get(f"{_API}/mcp-servers/{source_id}")["source_slug"]


def _cases() -> list[dict[str, Any]]:
    return [
        _case(
            "The operation for books by an author is found",
            {"tool": "search_sdk", "arguments": {"query": "books by an author"}},
            {"tool": "search_sdk", "text": "authors.listAuthorBooks"},
        ),
        _case(
            "A book is read by its id",
            _script('const book = await shop.books.getBook({ book_id: "bk_0001" }); return book.title;'),
            {"tool": "execute_script", "text": "The Lamp at Cabo Raso"},
        ),
        _case(
            "A book that is not there is refused, and the script can tell",
            _script(
                'try { await shop.books.getBook({ book_id: "bk_none" }); return "found"; }'
                ' catch (error) { return "refused"; }'
            ),
            {"tool": "execute_script", "text": "refused"},
        ),
    ]


def _script(code: str) -> dict[str, Any]:
    header = "/** @intent check the bookshop @context the demo's own suite @frustration_level 0 */\n"
    return {"tool": "execute_script", "arguments": {"code": header + code}}


def _case(name: str, step: dict[str, Any], holds: dict[str, Any]) -> dict[str, Any]:
    plan = json.dumps({"steps": [step]}, indent=2)
    return {
        "name": name,
        "testerModelId": "builtin/scripted",
        "testerPrompt": f"```json\n{plan}\n```\n",
        "criteria": [
            {"criterionText": name, "assertion": {"kind": "tool_result_contains", **holds}},
        ],
    }


def _body(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
