"""What agents write, run through the endpoint by an official client: each script comes to its answer."""

from __future__ import annotations

import asyncio

import pytest

from tests.flows.demo_server import Demo
from tests.flows.test_clients import python_client
from tests.flows.thirty_scripts import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_script_comes_to_its_answer(demo_server: Demo, name: str) -> None:
    example = EXAMPLES[name]

    async def run() -> dict[str, object]:
        async with python_client(demo_server, "2026-07-28") as client:
            answer = await client.call_tool("execute_script", {"code": example.code})
            return answer.model_dump(by_alias=True)

    answer = asyncio.run(run())
    data = answer["structuredContent"]
    assert isinstance(data, dict)
    if example.error is None:
        assert "error" not in data, data
        assert answer["isError"] is False
    else:
        assert answer["isError"] is True
        assert {
            field: words for field, words in example.error.items() if words in data["error"].get(field, "")
        } == example.error, data["error"]
    if example.result is not None:
        assert data["result"] == example.result
    if example.calls is not None:
        assert len(data["calls"]) == example.calls
    assert example.check(answer), data
