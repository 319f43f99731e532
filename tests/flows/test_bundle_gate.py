"""A bundle is tested before it is served: at its preview address, by the demo's own suite. One that breaks a
script is stopped, and told with the script and the operation; one that does not is promoted."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import yaml
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from ammeter.cli.demo_suite import DEMO_SUITE
from ammeter.doors.demo_api.app import demo_description
from tests.flows.demo_server import Demo, serving_demo
from tests.server import command, environment, until

BOOK = "/books/{book_id}"


def ammeter(demo: Demo, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args),
        cwd=demo.folder,
        env=environment(url=demo.server.url, api_key=demo.key),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def upload(demo: Demo, description: dict[str, Any]) -> Any:
    (demo.folder / "openapi.json").write_text(json.dumps(description))
    manifest = {
        "vendorName": "Harbour Books",
        "clientName": "shop",
        "baseUrl": f"{demo.server.url}/demo-api",
        "auth": {"type": "bearer", "secretRef": "secret:DEMO_API_TOKEN"},
    }
    (demo.folder / "manifest.json").write_text(json.dumps(manifest))
    sent = ("--source", "demo-api", "--openapi", "openapi.json", "--manifest", "manifest.json", "--json")
    done = ammeter(demo, "bundle", "upload", *sent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def active(demo: Demo) -> str:
    rows = json.loads(ammeter(demo, "bundle", "list", "--source", "demo-api", "--json").stdout)["rows"]
    [row] = [row for row in rows if row["status"] == "active"]
    found: str = row["id"]
    return found


def test_a_breaking_bundle_is_stopped_and_a_good_one_is_served(tmp_path: Path) -> None:
    with serving_demo(tmp_path) as demo:
        until(lambda: "the demo has a suite" in demo.server.log.read_text(), "the demo's suite is there", 60)
        gated = ammeter(demo, "gate", "--suite", DEMO_SUITE)
        assert gated.returncode == 0, gated.stdout + gated.stderr
        served = active(demo)
        broken = yaml.safe_load(demo_description())
        del broken["paths"][BOOK]["get"]
        until(lambda: bool(upload(demo, broken)["brokenScripts"]), "the recorder has stored the scripts", 30)
        made = upload(demo, broken)
        script = next(each for each in made["brokenScripts"] if "bk_0001" in each["code"])
        assert script["intent"] == "check the bookshop"
        assert [each["operationId"] for each in script["operations"]] == ["getBook"]
        assert script["operations"][0]["messages"]
        refused = ammeter(demo, "bundle", "promote", made["bundleId"], "--require-suite", DEMO_SUITE)
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert "'A book is read by its id' on builtin/scripted did not pass" in refused.stdout
        assert "The bundle is not promoted." in refused.stdout
        assert script["eventId"] in refused.stdout
        assert "getBook (books.getBook)" in refused.stdout
        assert active(demo) == served
        mended = yaml.safe_load(demo_description())
        mended["info"]["description"] = "The same shop, told better."
        good = upload(demo, mended)
        assert good["brokenScripts"] == []
        promoted = ammeter(demo, "bundle", "promote", good["bundleId"], "--require-suite", DEMO_SUITE)
        assert promoted.returncode == 0, promoted.stdout + promoted.stderr
        assert active(demo) == good["bundleId"]
        _check_who_may_preview(demo, made["bundleId"])


def _check_who_may_preview(demo: Demo, bundle_id: str) -> None:
    """The stored bundle is seen by keys that may promote it, and by no other."""

    async def search(key: str) -> Any:
        address = f"{demo.endpoint}?bundle={bundle_id}"
        headers = {"authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            found = await client.call_tool("search_sdk", {"query": "get a book by id", "limit": 20})
            return found.structured_content

    names = [hit["sdkName"] for hit in asyncio.run(search(demo.key))["results"]]
    assert names
    assert "books.getBook" not in names
    headers = {"authorization": f"Bearer {demo.key}"}
    editor = httpx2.post(
        f"{demo.server.api}/org/keys", headers=headers, json={"name": "ci", "role": "editor"}
    ).json()["token"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for key, place, status in (
        (editor, f"?bundle={bundle_id}", 403),
        (editor, "", 200),
        (demo.key, "?bundle=none", 404),
    ):
        answer = httpx2.post(demo.endpoint + place, headers={"authorization": f"Bearer {key}"}, json=message)
        assert answer.status_code == status, place
