"""The demo's history of evals: a second suite that was run twice, with a case that regressed in between, one
that was fixed and one that passes only partly. Made after the demo's first suite, through the door that
everybody uses; an organization that has the suite already is left as it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from ammeter.cli.demo_suite import DEMO_SUITE
from ammeter.cli.first import FirstOwner
from ammeter.cli.remote import Remote, RemoteError
from ammeter.cli.tools import ask_tool

log = logging.getLogger("ammeter.demo_release")

RELEASE_SUITE = "autumn-release"
_API = "/api/service/v1"
_PATIENCE_S = 180.0
_PAUSE_S = 0.5
_HEADER = "/** @intent check the bookshop @context the demo's release suite @frustration_level 0 */\n"


async def make_demo_release(owner: FirstOwner, address: str) -> None:
    """Runs beside the server; a failure is logged, and the server goes on without this history."""
    try:
        made = await asyncio.to_thread(_make, Remote(address, owner.token))
    except RemoteError as error:
        log.warning("the demo has no release suite: %s", error.message)
    else:
        if made:
            log.info("the demo has a history of evals")


def _make(remote: Remote) -> bool:
    suites = {row["name"]: row for row in remote.get(f"{_API}/suites")["rows"]}
    if RELEASE_SUITE in suites or DEMO_SUITE not in suites:
        return False
    [first, *_] = remote.get(f"{_API}/workflows")["rows"]
    case_ids = [_add(remote, {**case, "mcpServerId": first["mcpServerId"]}) for case in _cases()]
    suite = {
        "name": RELEASE_SUITE,
        "description": "What must work before the autumn catalogue goes out.",
        "caseIds": case_ids,
        "gate": {"requireAll": True, "maxCostUsd": 2},
    }
    suite_id = remote.post(f"{_API}/suites", _body(suite))["id"]
    _runs_ended(remote, case_ids)
    _run_suite(remote, suite_id, {"reason": "before the price change"})
    # What the shop lacked until now is added; what it had is sold out by the first suite run.
    _runs_ended(remote, [_add(remote, {**_catalogue_case(), "mcpServerId": first["mcpServerId"]})])
    _run_suite(remote, suite_id, {"reason": "release candidate 2", "baselineSuiteRunId": "last"})
    # Two as CI starts them: one that passes, one that does not.
    for case_id in case_ids[:2]:
        remote.post(f"{_API}/workflows/{case_id}/runs", _body({"reason": "pull request 42"}))
    _runs_ended(remote, case_ids[:2])
    return True


def _add(remote: Remote, case: dict[str, Any]) -> str:
    return str(remote.post(f"{_API}/workflows", _body(case))["workflow"]["id"])


def _run_suite(remote: Remote, suite_id: str, order: dict[str, Any]) -> None:
    started = ask_tool(remote, "run_eval_suite", suite=suite_id, **order)["id"]
    _until(lambda: ask_tool(remote, "get_suite_run", suiteRunId=started)["status"] != "running")


def _runs_ended(remote: Remote, case_ids: Sequence[str]) -> None:
    def ended() -> bool:
        rows = [remote.get(f"{_API}/workflows/{case_id}")["lastRun"] for case_id in case_ids]
        return all(row is not None and row["status"] != "running" for row in rows)

    _until(ended)


def _until(holds: Callable[[], bool]) -> None:
    late = time.monotonic() + _PATIENCE_S
    while not holds():
        if time.monotonic() > late:
            raise RemoteError("Its runs did not end in time.")
        time.sleep(_PAUSE_S)


def _cases() -> list[dict[str, Any]]:
    orders = (
        "const rows = []; for await (const row of"
        ' shop.customers.listCustomerOrders({ customer_id: "cu_0001" })) rows.push(row);'
        " return { orders: rows.length };"
    )
    sold = (
        'const order = await shop.orders.createOrder({ customer_id: "cu_0009",'
        ' items: [{ book_id: "bk_0013", quantity: 3 }] }); return { status: order.status };'
    )
    search = 'const found = await shop.books.searchBooks({ q: "catalogue" }); return { total: found.total };'
    return [
        _case(
            "A customer's orders are found and counted",
            "The tester looks for the operation, then calls it.",
            [_search("list the orders of a customer"), _script(orders, save_as="counted")],
            [
                _criterion("The operation was looked for", kind="tool_called", tool="search_sdk", times=1),
                _criterion("One script suffices", kind="tool_called", tool="execute_script", times=1),
                _criterion("The script gives a number", kind="tool_result_contains", text='"orders"'),
            ],
            schedule={"cron": "0 6 * * 1-5", "timezone": "Europe/Berlin"},
        ),
        _case(
            "Three copies of a book can be ordered",
            "There are seven copies when the shop opens.",
            [_script(sold)],
            [_criterion("The order is placed", **_at("status", "placed"))],
        ),
        _case(
            "The winter catalogue is on the shelves",
            "Customers ask for it since October.",
            [_script(search, save_as="found")],
            [_criterion("A search finds it", **_at("total", 1))],
        ),
        _case(
            "An author's books are read in one call",
            "Cheaper is better, but two calls do no harm.",
            [
                _search("books by an author"),
                _script('return await shop.authors.listAuthorBooks({ author_id: "au_0001" });'),
            ],
            [
                _criterion("The books are read", kind="tool_called", tool="execute_script"),
                _criterion("One call suffices", is_required=False, kind="max_tool_calls", value=1),
            ],
        ),
    ]


def _catalogue_case() -> dict[str, Any]:
    added = (
        'const book = await shop.books.createBook({ title: "The Winter Catalogue", author_id: "au_0001",'
        ' genre: "fiction", price_cents: 500, stock: 40, pages: 64, isbn: "9780000000017",'
        ' published_on: "2026-10-01" }); return { id: book.id };'
    )
    return _case(
        "A book can be added to the shelves",
        "Played once, before the second run of the release suite.",
        [_script(added)],
        [_criterion("The new book has an id", kind="tool_result_contains", text='"bk_')],
    )


def _search(query: str) -> dict[str, Any]:
    return {"tool": "search_sdk", "arguments": {"query": query}}


def _script(code: str, save_as: str | None = None) -> dict[str, Any]:
    step: dict[str, Any] = {"tool": "execute_script", "arguments": {"code": _HEADER + code}}
    return step if save_as is None else {**step, "saveAs": save_as}


def _at(name: str, value: Any) -> dict[str, Any]:
    """That a script's result has this value in a field."""
    path = f"$.result.{name}"
    return {"kind": "json_path_equals", "tool": "execute_script", "path": path, "value": value}


def _criterion(told: str, /, *, is_required: bool = True, **assertion: Any) -> dict[str, Any]:
    return {"criterionText": told, "isRequired": is_required, "assertion": assertion}


def _case(
    name: str,
    description: str,
    steps: list[dict[str, Any]],
    criteria: list[dict[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    plan = json.dumps({"steps": steps}, indent=2)
    return {
        "name": name,
        "description": description,
        "testerModelId": "builtin/scripted",
        "testerPrompt": f"Carry out this plan against the bookshop.\n\n```json\n{plan}\n```\n",
        "criteria": criteria,
        **more,
    }


def _body(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
