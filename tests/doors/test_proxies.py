"""Forwarded headers are believed from a trusted proxy only: whose address is logged, and HTTPS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from ammeter.features.orgs.model import Role
from tests.doors.wire import settle
from tests.server import running

SPOOFED = {"x-forwarded-for": "198.51.100.1, 203.0.113.9", "x-forwarded-proto": "https"}


@pytest.mark.parametrize(
    ("trusted", "origin"), [("127.0.0.0/8,203.0.113.9", "198.51.100.1"), ("10.0.0.0/8", "127.0.0.1")]
)
def test_the_origin_of_a_change_is_what_a_trusted_proxy_says(
    sqlite_url: str, tmp_path: Path, trusted: str, origin: str
) -> None:
    token = settle(sqlite_url, tmp_path)[Role.owner]
    with running(tmp_path, "--role", "web", database_url=sqlite_url, trusted_proxies=trusted) as server:
        client = httpx2.Client(base_url=server.api, headers={"authorization": f"Bearer {token}"})
        with client:
            put = client.put("/org/secrets/NAME", json={"value": "x"}, headers=SPOOFED)
            plain = client.get("/org/audit")
    assert put.status_code == 201
    assert plain.json()["rows"][0]["origin"] == origin
    assert f'"client": "{origin}"' in server.log.read_text()
    is_believed = origin != "127.0.0.1"
    assert _is_strict(put.headers) == is_believed
    assert not _is_strict(plain.headers)


def _is_strict(headers: Mapping[str, str]) -> bool:
    return "strict-transport-security" in headers
