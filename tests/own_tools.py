"""Ammeter's own tools at `/mcp`, as tests call them: what one gives, or how it refuses."""

from __future__ import annotations

from typing import Any

from ammeter.doors.own_mcp.door import ERROR_META
from ammeter.features.orgs.model import Role
from tests.household import Household


def use_tool(household: Household, name: str, role: Role = Role.owner, **arguments: Any) -> Any:
    """The structured content of a call that succeeds."""
    result = tool_result(household, name, household.tokens[role], arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def refused_tool(household: Household, name: str, role: Role = Role.owner, **arguments: Any) -> Any:
    """The fault of a call that fails, as programs read it."""
    result = tool_result(household, name, household.tokens[role], arguments)
    assert result.get("isError") is True, result
    assert "structuredContent" not in result
    return result["_meta"][ERROR_META]


def tool_result(household: Household, name: str, token: str, arguments: dict[str, Any]) -> Any:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = household.client.post("/mcp", headers={"authorization": f"Bearer {token}"}, json=message)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]
