"""Two web processes on one database: what one does, the other knows at the very next request."""

from __future__ import annotations

from pathlib import Path

import httpx2

from ammeter.features.orgs.model import Role
from tests.doors.wire import settle
from tests.server import running

TURNS = 10


def test_what_is_done_at_one_server_holds_at_the_other_at_once(database_url: str, tmp_path: Path) -> None:
    owner = {"authorization": f"Bearer {settle(database_url, tmp_path)[Role.owner]}"}
    with (
        running(tmp_path, "--role", "web", name="first", database_url=database_url) as first,
        running(tmp_path, "--role", "web", name="second", database_url=database_url) as second,
        httpx2.Client(base_url=first.api) as one,
        httpx2.Client(base_url=second.api) as other,
    ):
        for turn in range(TURNS):
            here, there = (one, other) if turn % 2 else (other, one)
            minted = here.post("/org/keys", json={"name": "k", "role": "viewer"}, headers=owner).json()
            bearer = {"authorization": f"Bearer {minted['token']}"}
            for _ in range(5):
                assert there.get("/org", headers=bearer).status_code == 200
            assert here.delete(f"/org/keys/{minted['key']['id']}", headers=owner).status_code == 200
            refused = there.get("/org", headers=bearer)
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")

            assert here.put(f"/org/secrets/S{turn}", json={"value": "x"}, headers=owner).status_code == 201
            assert there.put(f"/org/secrets/S{turn}", json={"value": "y"}, headers=owner).status_code == 200
            assert here.get("/org/secrets", headers=owner).json()["total"] == turn + 1
