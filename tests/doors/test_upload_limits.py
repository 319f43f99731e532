"""Uploads that are large, and more uploads than a server compiles at once."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ammeter.features.orgs.model import Role
from tests.doors.uploading import BASE, OK, Publisher, described, make_publisher, pets, signed
from tests.doors.wire import settle
from tests.household import (
    details,
    make_client,
    make_household,
    make_settings,
    opened_house,
    refusal,
)
from tests.server import running

PIECE = b" " * 65_536
# What the socket buffers of both ends may hold beyond what the server has looked at.
BUFFERED_BYTES = 24 * 1024 * 1024


@pytest.fixture
def crowded(sqlite_url: str, tmp_path: Path) -> Iterator[Publisher]:
    """At a server that compiles one upload at a time and lets one wait."""
    settings = make_settings(sqlite_url, tmp_path, compile_concurrency=1, compile_queue=1)
    with opened_house(settings) as house, make_client(house) as client:
        yield make_publisher(make_household(house, client))


def test_more_uploads_than_may_wait_are_told_to_come_back(crowded: Publisher) -> None:
    uploads = 6
    with ThreadPoolExecutor(uploads) as threads:
        answers = list(threads.map(lambda n: crowded.send(openapi=pets(f"/{n}")), range(uploads)))
    served = [answer for answer in answers if answer.status_code == 201]
    refused = [answer for answer in answers if answer.status_code != 201]
    assert len(served) >= 2
    assert refused
    for answer in refused:
        assert refusal(answer) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
    assert crowded.total() == len(served)
    assert crowded.send(openapi=pets("/later")).status_code == 201


def test_ten_thousand_operations_become_a_bundle_and_an_answer_of_bounded_size(crowded: Publisher) -> None:
    """The largest API that fits six megabytes is no reason to fall over."""
    reference = {"200": {"$ref": "#/components/responses/ok"}}
    paths = {f"/r{n}": {"get": {"operationId": f"getR{n}", "responses": reference}} for n in range(10_000)}
    answer = crowded.send(openapi=described(paths, components={"responses": {"ok": OK["200"]}}))
    assert answer.status_code == 201
    made = answer.json()
    assert made["bundle"]["operations"] == 10_000
    diff = made["apiDiff"]
    assert len(diff["added"]) + diff["entriesLeftOut"]["added"] == 10_000
    assert len(answer.content) < 2 * 1024 * 1024


def test_a_bundle_over_eight_megabytes_is_refused_with_the_sizes_of_its_parts(crowded: Publisher) -> None:
    answer = crowded.send(openapi=noisy())
    assert refusal(answer) == (422, "bundle_too_large")
    assert {"api.json", "cards.json", "sdk.d.ts", "search.bin"} <= set(details(answer))
    assert crowded.total() == 0


def noisy() -> dict[str, Any]:
    """A description that says little in many words, and packs badly."""
    source = random.Random(1)

    def word() -> str:
        return base64.b64encode(source.randbytes(90)).decode()

    def fields() -> dict[str, Any]:
        return {word(): {"type": "string", "enum": [word()]} for _ in range(90)}

    schema = {f"S{n}": {"type": "object", "properties": fields()} for n in range(200)}
    paths = {
        f"/p{n}": {
            "post": {
                "operationId": f"op{n}",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/S{n}"}}}
                },
                "responses": OK,
            }
        }
        for n in range(200)
    }
    return described(paths, components={"schemas": schema})


class Pieces:
    """A body without a declared length, and how much of it was taken."""

    def __init__(self) -> None:
        self.taken_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(4096):
            self.taken_bytes += len(PIECE)
            yield PIECE


def test_a_body_without_end_is_refused_while_it_is_read(sqlite_url: str, tmp_path: Path) -> None:
    token = settle(sqlite_url, tmp_path)[Role.owner]
    pieces = Pieces()
    headers = signed(token, b"")
    with running(tmp_path, "--role", "web", database_url=sqlite_url) as server:
        answer = httpx2.post(f"{server.url}{BASE}/upload", content=pieces, headers=headers, timeout=30)
        assert refusal(answer) == (413, "payload_too_large")
        declared = headers | {"content-length": str(7 * 1024 * 1024)}
        with httpx2.Client(base_url=server.url) as client:
            told = client.post(f"{BASE}/upload", content=b"x" * 7 * 1024 * 1024, headers=declared)
        assert refusal(told) == (413, "payload_too_large")
    assert pieces.taken_bytes <= 6 * 1024 * 1024 + BUFFERED_BYTES
    assert json.loads(answer.content)["error"]["message"].endswith("6,291,456 bytes allowed here.")
