"""`/mcp`: Ammeter's own MCP server. The tools that exist, and which function answers to which.

A tool that cannot do what it was asked says so in a result marked as error, in a sentence; only a bad key or
a broken message is an HTTP error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import ASGIApp

from ammeter.base.errors import AmmeterError
from ammeter.base.text import did_you_mean
from ammeter.doors.http.call import Call
from ammeter.doors.http.edge import notes_of
from ammeter.doors.http.errors import STATUS_OF
from ammeter.doors.http.hosts import AllowedHosts
from ammeter.doors.http.suite_records import SuiteRunRecord
from ammeter.doors.mcp_protocol.answers import SERVER_INFO, encoded
from ammeter.doors.mcp_protocol.door import McpDoor
from ammeter.doors.mcp_protocol.messages import (
    HANDSHAKE,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SUPPORTED,
    Message,
    Refusal,
)
from ammeter.doors.own_mcp import suites
from ammeter.doors.own_mcp.arguments import (
    CancelSuiteRun,
    EvalCases,
    GetSuiteRun,
    ListEvalCases,
    ListSuiteRuns,
    RunEvalSuite,
    StartedSuiteRun,
    SuiteRuns,
    input_schema,
    output_schema,
    read_arguments,
)
from ammeter.doors.own_mcp.reads import READS, ask
from ammeter.doors.own_mcp.visit import OwnVisit
from ammeter.wiring import House

OWN_PATH = "/mcp"
ERROR_META = "ammeter/error"

_CAPABILITIES: dict[str, Any] = {"tools": {}}
_INSTRUCTIONS = (
    "Ammeter tests MCP servers with agents and shows what agents tried to do. To tell whether something is"
    " ready to ship: list_eval_cases, then run_eval_suite with a suite, case ids or a category, then"
    " get_suite_run until its status is not running (waitSeconds waits); readyToShip and reasons are the"
    " answer. To find what to fix: list_runs with status fail, get_run_evaluation, and the insights tools."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteTool:
    title: str
    description: str
    takes: type[Any]
    gives: type[BaseModel]
    run: Callable[[OwnVisit, Any], Awaitable[Any]]
    hints: dict[str, bool]


def _hints(
    *, changes: bool = False, destroys: bool = False, once: bool = True, reaches_out: bool = False
) -> dict[str, bool]:
    """As annotations: it changes things, ends some, does nothing more when called again, leaves the house."""
    return {
        "readOnlyHint": not changes,
        "destructiveHint": destroys,
        "idempotentHint": once,
        "openWorldHint": reaches_out,
    }


_SUITE_TOOLS: dict[str, _SuiteTool] = {
    "list_eval_cases": _SuiteTool(
        title="List eval cases",
        description="Eval cases with their ids, sources, categories and last outcomes, and the suites.",
        takes=ListEvalCases,
        gives=EvalCases,
        run=suites.list_eval_cases,
        hints=_hints(),
    ),
    "run_eval_suite": _SuiteTool(
        title="Run an eval suite",
        description="Starts a run of every case of a suite, of the given cases, or of a category. Counts"
        " toward the included runs. Needs the role editor or above.",
        takes=RunEvalSuite,
        gives=StartedSuiteRun,
        run=suites.run_eval_suite,
        hints=_hints(changes=True, once=False, reaches_out=True),
    ),
    "get_suite_run": _SuiteTool(
        title="Read a suite run",
        description="Status, each case's outcome, what changed since the baseline, and readyToShip with the"
        " reasons where it is not.",
        takes=GetSuiteRun,
        gives=SuiteRunRecord,
        run=suites.get_suite_run,
        hints=_hints(),
    ),
    "list_suite_runs": _SuiteTool(
        title="List suite runs",
        description="Suite runs, newest first: status, readyToShip with the reasons, score, cost.",
        takes=ListSuiteRuns,
        gives=SuiteRuns,
        run=suites.list_suite_runs,
        hints=_hints(),
    ),
    "cancel_suite_run": _SuiteTool(
        title="Cancel a suite run",
        description="Cancels what has not ended of a suite run; what ended stays as it is. Needs the role"
        " editor or above.",
        takes=CancelSuiteRun,
        gives=SuiteRunRecord,
        run=suites.cancel,
        hints=_hints(changes=True, destroys=True),
    ),
}


class OwnMcp(McpDoor[OwnVisit]):
    def __init__(self, house: House, hosts: AllowedHosts, *, rest: ASGIApp, rest_base: str) -> None:
        """`rest` answers the tools that read; its paths begin with `rest_base`."""
        super().__init__(house, hosts, route=OWN_PATH)
        self._rest = rest
        self._rest_base = rest_base

    async def admit(self, request: Request, call: Call) -> OwnVisit:
        return OwnVisit(
            headers=call.headers,
            request_id=notes_of(request.scope).request_id,
            call=call,
            request=request,
        )

    async def result(self, visit: OwnVisit, message: Message) -> dict[str, Any]:
        method = message.method
        if method == "tools/call":
            return await self._call(visit, message)
        if method == "tools/list":
            if message.params.get("cursor"):
                raise Refusal(
                    INVALID_PARAMS, "The tools are one page; there is no cursor.", status=_bad(message)
                )
            return {"tools": self._tools}
        if method == "server/discover" and message.is_modern:
            return {
                "supportedVersions": list(SUPPORTED),
                "capabilities": _CAPABILITIES,
                "instructions": _INSTRUCTIONS,
            }
        if method == "initialize" and not message.is_modern:
            return _initialize(message)
        if method == "ping" and not message.is_modern:
            return {}
        status = 404 if message.is_modern else 200
        raise Refusal(METHOD_NOT_FOUND, f"There is no method {method[:80]!r} here.", status=status)

    @cached_property
    def _tools(self) -> list[dict[str, Any]]:
        # Made when they are first asked for: schemas of models take a while.
        made = [
            {
                "name": name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": input_schema(tool.takes),
                "outputSchema": output_schema(tool.gives),
                "annotations": tool.hints,
            }
            for name, tool in _SUITE_TOOLS.items()
        ]
        made += [
            {
                "name": name,
                "title": read.title,
                "description": read.description,
                "inputSchema": read.schema(),
                "annotations": _hints(),
            }
            for name, read in READS.items()
        ]
        return made

    async def _call(self, visit: OwnVisit, message: Message) -> dict[str, Any]:
        name, arguments = message.params.get("name"), message.params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            told = "tools/call has a name and an object of arguments."
            raise Refusal(INVALID_PARAMS, told, status=_bad(message))
        if name not in _SUITE_TOOLS and name not in READS:
            hint = did_you_mean(name, (*_SUITE_TOOLS, *READS))
            raise Refusal(INVALID_PARAMS, f"Unknown tool: {name[:80]!r}.{hint}", status=_bad(message))
        try:
            value = await self._value(visit, name, arguments)
        except AmmeterError as error:
            return _failed(error)
        return {"content": [{"type": "text", "text": encoded(value).decode()}], "structuredContent": value}

    async def _value(self, visit: OwnVisit, name: str, arguments: dict[str, Any]) -> Any:
        tool = _SUITE_TOOLS.get(name)
        if tool is None:
            return await ask(self._rest, self._rest_base, visit, READS[name], arguments)
        made: BaseModel = await tool.run(visit, read_arguments(tool.takes, arguments))
        return made.model_dump(mode="json", by_alias=True)


def _initialize(message: Message) -> dict[str, Any]:
    asked = message.params.get("protocolVersion")
    if not isinstance(asked, str):
        raise Refusal(INVALID_PARAMS, "initialize names the protocolVersion it asks for.")
    return {
        "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[-1],
        "capabilities": _CAPABILITIES,
        "serverInfo": SERVER_INFO,
        "instructions": _INSTRUCTIONS,
    }


def _failed(error: AmmeterError) -> dict[str, Any]:
    """The sentence for an agent; for a program, what the REST API says of the same fault, in `_meta`: in
    structuredContent some clients would hold it to the schema of the tool's result."""
    told: dict[str, Any] = {
        "code": error.code,
        "status": STATUS_OF[error.code],
        "message": error.message,
        "details": [{"path": detail.path, "message": detail.message} for detail in error.details],
    }
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is not None:
        told["retryAfterSeconds"] = retry_after_s
    text = "\n".join([error.message, *(f"{d.path}: {d.message}" for d in error.details)])
    return {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {ERROR_META: told}}


def _bad(message: Message) -> int:
    return 400 if message.is_modern else 200
