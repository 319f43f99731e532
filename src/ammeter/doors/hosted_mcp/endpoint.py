"""What the hosted endpoint answers to each method, and the two tools. A Visit and a Message in, a result out;
what happened is written down for telemetry after the answer is made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ammeter.base.text import did_you_mean
from ammeter.doors.hosted_mcp.seen import Seen, client_of
from ammeter.doors.mcp_protocol.answers import SERVER_INFO, encoded
from ammeter.doors.mcp_protocol.messages import (
    HANDSHAKE,
    INVALID_PARAMS,
    META,
    METHOD_NOT_FOUND,
    SUPPORTED,
    Message,
    Refusal,
)
from ammeter.doors.mcp_protocol.visit import Visit
from ammeter.features.gateway.credentials import OrgCredentials
from ammeter.features.gateway.execute import Executed, Workshop, execute_script
from ammeter.features.gateway.host import ApiHost
from ammeter.features.gateway.live import LiveBundle, Target
from ammeter.features.gateway.search import search_sdk
from ammeter.features.gateway.tools import EXECUTE, SEARCH, TOOLS
from ammeter.features.orgs.model import Principal
from ammeter.features.telemetry.jsdoc import Header, parse_header
from ammeter.wiring import House

_CAPABILITIES: dict[str, Any] = {"tools": {}}
_REMINDER = (
    "Begin scripts with a JSDoc header: /** @intent what the user wants @context why now"
    " @frustration_level 0-10 */"
)


@dataclass(slots=True, kw_only=True)
class HostedVisit(Visit):
    """A visit at a source's endpoint."""

    target: Target
    principal: Principal
    read_only: bool
    host: ApiHost | None = None
    beats: int = 0

    def progress(self) -> dict[str, Any]:
        self.beats += 1
        calls = len(self.host.calls) if self.host is not None else 0
        return {"progress": self.beats, "message": f"{calls} API calls so far"}


class Endpoint:
    def __init__(self, house: House) -> None:
        self._house = house
        self._seen = Seen(house.recorder, house.sessions)

    async def result(self, visit: HostedVisit, message: Message) -> dict[str, Any]:
        method = message.method
        if method == "tools/call":
            return await self._call_tool(visit, message)
        if method == "tools/list":
            if message.params.get("cursor"):
                raise Refusal(
                    INVALID_PARAMS, "The tools are one page; there is no cursor.", status=_bad(message)
                )
            return {"tools": TOOLS}
        if method == "server/discover" and message.is_modern:
            return await self._discover(visit, message)
        if method == "initialize" and not message.is_modern:
            return await self._initialize(visit, message)
        if method == "ping" and not message.is_modern:
            return {}
        status = 404 if message.is_modern else 200
        raise Refusal(METHOD_NOT_FOUND, f"There is no method {method[:80]!r} here.", status=status)

    async def _initialize(self, visit: HostedVisit, message: Message) -> dict[str, Any]:
        asked = message.params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Refusal(INVALID_PARAMS, "initialize names the protocolVersion it asks for.")
        started = time.perf_counter()
        live = await self._house.live.get(visit.target)
        chosen = asked if asked in HANDSHAKE else HANDSHAKE[-1]
        session = await self._seen.greet(visit, message, client_of(message.params.get("clientInfo")))
        visit.answer_headers["mcp-session-id"] = session.handle
        self._seen.greeted(visit, session, chosen, started)
        return {
            "protocolVersion": chosen,
            "capabilities": _CAPABILITIES,
            "serverInfo": _server_info(live),
            "instructions": live.instructions,
        }

    async def _discover(self, visit: HostedVisit, message: Message) -> dict[str, Any]:
        started = time.perf_counter()
        live = await self._house.live.get(visit.target)
        session = await self._seen.greet(visit, message, client_of(message.meta.get(META + "clientInfo")))
        visit.session_handle = session.handle
        self._seen.greeted(visit, session, message.version, started)
        return {
            "supportedVersions": list(SUPPORTED),
            "capabilities": _CAPABILITIES,
            "instructions": live.instructions,
        }

    async def _call_tool(self, visit: HostedVisit, message: Message) -> dict[str, Any]:
        name, arguments = message.params.get("name"), message.params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise Refusal(
                INVALID_PARAMS, "tools/call has a name and an object of arguments.", status=_bad(message)
            )
        if name == SEARCH:
            return await self._search(visit, message, arguments)
        if name == EXECUTE:
            return await self._execute(visit, message, arguments)
        hint = did_you_mean(name, (SEARCH, EXECUTE))
        raise Refusal(INVALID_PARAMS, f"Unknown tool: {name[:80]!r}.{hint}", status=_bad(message))

    async def _search(
        self, visit: HostedVisit, message: Message, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        query, limit = arguments.get("query"), arguments.get("limit")
        if wrong := _wrong_arguments(arguments, {"query": str, "limit": int}, required="query"):
            return _tool_error(wrong)
        assert isinstance(query, str)
        started = time.perf_counter()
        live = await self._house.live.get(visit.target)
        session = await self._seen.greet(visit, message)
        found = search_sdk(live, query, None if limit is None else int(limit))
        visit.session_handle = session.handle if message.is_modern else None
        result = {"content": [{"type": "text", "text": found.text}], "structuredContent": found.data}
        self._seen.searched(visit, session, message.version, started, query, found)
        return result

    async def _execute(
        self, visit: HostedVisit, message: Message, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        if wrong := _wrong_arguments(arguments, {"code": str}, required="code"):
            return _tool_error(wrong)
        code: str = arguments["code"]
        started = time.perf_counter()
        live = await self._house.live.get(visit.target)
        header = parse_header(code)
        session = await self._seen.greet(visit, message, handle=header.tags.get("session"))
        visit.session_handle = session.handle if message.is_modern else None
        if not visit.target.may_execute:
            executed = _role_needed(visit)
        else:
            executed = await self._run(visit, live, code)
            self._remind(session.id, header, executed)
        text = encoded(executed.data).decode()
        self._seen.executed(
            visit,
            session,
            message.version,
            started,
            code=code,
            header=header,
            live=live,
            executed=executed,
            text=text,
        )
        return {
            "content": [{"type": "text", "text": text}, *executed.files],
            "structuredContent": executed.data,
            "isError": executed.is_error,
        }

    async def _run(self, visit: HostedVisit, live: LiveBundle, code: str) -> Executed:
        house = self._house

        def note(host: ApiHost) -> None:
            visit.host = host

        credentials = OrgCredentials(
            house.db, house.secrets, visit.target.org_id, house.settings.secret_environment
        )
        return await execute_script(
            Workshop(sandbox=await house.sandbox.open(), egress=house.egress, lanes=house.lanes),
            live,
            code,
            credentials=credentials,
            tenant=visit.target.org_id,
            read_only=visit.read_only,
            on_start=note,
        )

    def _remind(self, session_id: str, header: Header, executed: Executed) -> None:
        if header.is_missing and self._seen.first_reminder(session_id):
            executed.data.setdefault("diagnostics", []).append(_REMINDER)


def _role_needed(visit: HostedVisit) -> Executed:
    role = visit.principal.role.name
    message = f"To run scripts takes the role editor or above; this key's is {role}. search_sdk is allowed."
    error = {"name": "insufficient_role", "message": message, "hint": "Tell the user; do not try again."}
    return Executed(
        data={"calls": [], "logs": [], "error": error, "durationMs": 0},
        is_error=True,
        outcome="refused",
        error_class="insufficient_role",
        error_message=message,
    )


def _wrong_arguments(arguments: dict[str, Any], kinds: dict[str, type], *, required: str) -> str | None:
    for name, value in arguments.items():
        if name not in kinds:
            takes = ", ".join(kinds)
            return f"Unknown argument {name[:80]!r}; it takes {takes}.{did_you_mean(name, kinds)}"
        kind = kinds[name]
        fits = isinstance(value, kind) and not isinstance(value, bool)
        if kind is int and isinstance(value, float) and value.is_integer():
            fits = True
        if not fits and not (value is None and name != required):
            told = "text" if kind is str else "an integer"
            return f"The argument {name!r} is {told}, not {type(value).__name__}."
    if required not in arguments:
        return f"The argument {required!r} is missing."
    return None


def _tool_error(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _bad(message: Message) -> int:
    return 400 if message.is_modern else 200


def _server_info(live: LiveBundle) -> dict[str, Any]:
    return {**SERVER_INFO, "title": live.title[:120]}
