"""Servers of others, over every transport they speak, and the server's own endpoint: each becomes a source
over REST, is looked at, and tested with a scripted run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ammeter.engines.hosting.port import Package
from tests.evaluating import plan, step
from tests.flows.demo_server import Demo, serving_demo
from tests.household import CACHE
from tests.mcp_servers.real import EVERYTHING, FILESYSTEM, GIT, MEMORY, TIME, everything, put_packages
from tests.server import until

ENTITY = {"name": "Harbour", "entityType": "place", "observations": ["has ships"]}
REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n",
    ".git/objects/.keep": "",
    ".git/refs/heads/.keep": "",
    "notes.txt": "two litres of milk\n",
}
SCRIPT = 'const book = await shop.books.getBook({ book_id: "bk_0001" }); return { id: book.id };'


@dataclass(frozen=True, slots=True)
class Place:
    demo: Demo
    client: httpx2.Client

    def call(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, f"{self.demo.server.api}{path}", **more)
        assert answer.is_success, answer.text
        return answer.json()

    def make_source(self, **fields: Any) -> dict[str, Any]:
        """A source over REST, once somebody has looked at it."""
        made = self.call("POST", "/mcp-servers", json={"name": "tested"} | fields)
        place = f"/mcp-servers/{made['server']['id']}"

        def status() -> str:
            return str(self.call("GET", place)["discovery"]["status"])

        until(lambda: status() in ("succeeded", "failed"), "the source was looked at", 60)
        source: dict[str, Any] = self.call("GET", place)
        assert source["discovery"]["status"] == "succeeded", source["discovery"]["error"]
        return source

    def play(self, source: dict[str, Any], prompt: str, *criteria: dict[str, Any]) -> dict[str, Any]:
        """The first run of a new workflow, at its end."""
        body = {
            "name": "Works",
            "mcpServerId": source["id"],
            "testerModelId": "builtin/scripted",
            "testerPrompt": prompt,
            "criteria": [{"criterionText": f"{i}", "assertion": each} for i, each in enumerate(criteria)],
        }
        workflow_id = self.call("POST", "/workflows", json=body)["workflow"]["id"]

        def runs() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.call("GET", f"/runs?workflowId={workflow_id}")["rows"]
            return found

        until(lambda: [run["phase"] for run in runs()] == ["finished"], "the run has ended", 60)
        [run] = runs()
        return run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    cache = CACHE / "sources"
    put_packages(cache / "hosting")
    with ExitStack() as stack:
        demo = stack.enter_context(serving_demo(tmp_path_factory.mktemp("tested"), cache_dir=str(cache)))
        headers = {"authorization": f"Bearer {demo.key}"}
        client = stack.enter_context(httpx2.Client(headers=headers, timeout=30))
        yield Place(demo, client)


def hosted(package: Package, **more: Any) -> dict[str, Any]:
    told = {"registry": package.registry, "name": package.name, "version": package.version}
    return {"transportType": "stdio_hosted", "connectionConfig": {"package": told, **more}}


def contains(tool: str, text: str) -> dict[str, Any]:
    return {"kind": "tool_result_contains", "tool": tool, "text": text}


ECHOED = (
    plan(step("echo", message="ahoy"), step("get-sum", a=19, b=23)),
    (contains("echo", "Echo: ahoy"), contains("get-sum", "42")),
)


@pytest.mark.parametrize(
    ("fields", "prompt", "criteria"),
    [
        (hosted(EVERYTHING), *ECHOED),
        (
            hosted(FILESYSTEM, args=["."], workingFiles={"a.txt": "hello"}),
            plan(
                step("read_text_file", path="a.txt"),
                step("write_file", path="b.txt", content="written"),
                step("read_text_file", path="b.txt"),
                step("read_text_file", path="/etc/passwd") | {"expectError": True},
            ),
            (contains("read_text_file", "hello"), contains("read_text_file", "written")),
        ),
        (
            hosted(MEMORY, env={"MEMORY_FILE_PATH": "$HOME/memory.jsonl"}),
            plan(step("create_entities", entities=[ENTITY]), step("search_nodes", query="ships")),
            (contains("search_nodes", "Harbour"),),
        ),
        (
            hosted(TIME),
            plan(
                step(
                    "convert_time",
                    source_timezone="UTC",
                    time="12:00",
                    target_timezone="Asia/Tokyo",
                )
            ),
            (contains("convert_time", "T21:00:00+09:00"),),
        ),
        (
            hosted(GIT, args=["--repository", "."], workingFiles=REPOSITORY),
            plan(step("git_add", repo_path=".", files=["notes.txt"]), step("git_status", repo_path=".")),
            (contains("git_status", "new file:   notes.txt"),),
        ),
    ],
    ids=["everything", "filesystem", "memory", "time", "git"],
)
def test_a_package_of_a_registry_is_tested_behind_walls(
    place: Place, fields: dict[str, Any], prompt: str, criteria: tuple[dict[str, Any], ...]
) -> None:
    run = place.play(place.make_source(**fields), prompt, *criteria)
    assert (run["status"], run["score"], run["error"]) == ("pass", 1.0, None), _marks(place, run)


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
def test_a_server_is_tested_over_http(place: Place, tmp_path: Path, transport: str) -> None:
    prompt, criteria = ECHOED
    with everything("sse" if transport == "sse" else "streamableHttp", tmp_path) as url:
        source = place.make_source(transportType=transport, baseUrl=url)
        run = place.play(source, prompt, *criteria)
    assert (run["status"], run["score"], run["error"]) == ("pass", 1.0, None), _marks(place, run)


def test_the_servers_own_endpoint_is_tested_like_any_other(place: Place) -> None:
    rows = place.call("GET", "/mcp-servers")["rows"]
    [source] = [row for row in rows if "/product-mcp/" in (row["base_url"] or "")]
    prompt = plan(step("search_sdk", query="list books"), step("execute_script", code=SCRIPT))
    criteria = (contains("search_sdk", "shop.books."), contains("execute_script", "bk_0001"))
    run = place.play(source, prompt, *criteria)
    assert (run["status"], run["score"], run["error"]) == ("pass", 1.0, None), _marks(place, run)


def _marks(place: Place, run: dict[str, Any]) -> Any:
    return run["error"], place.call("GET", f"/runs/{run['id']}/tool-calls")["rows"]
