"""A visitor of the hosted endpoint: messages in either era, and what the server wrote down of them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from starlette.testclient import TestClient

from ammeter.base.ids import new_id
from ammeter.engines.db.tables import telemetry_events
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from ammeter.wiring import House
from tests.doors.uploading import Publisher
from tests.features.gateway.shop import BEARER, PATHS, SECRETS
from tests.household import OPERATOR, Household, make_household
from tests.upstream import Upstream

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "tests", "version": "1"}


@dataclass(frozen=True, slots=True)
class Visitor:
    household: Household
    publisher: Publisher
    slug: str
    role: Role = Role.owner

    def as_role(self, role: Role) -> Visitor:
        return replace(self, role=role)

    @property
    def path(self) -> str:
        return f"/product-mcp/{self.slug}"

    def post(self, content: Any, query: str = "", token: str | None = None, **headers: str) -> Any:
        """A raw POST; names of headers with _ for -."""
        key = self.household.tokens[self.role] if token is None else token
        sent = {"authorization": f"Bearer {key}", "accept": "application/json, text/event-stream"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"content": content} if isinstance(content, bytes | str) else {"json": content}
        if "content" in given:
            sent.setdefault("content-type", "application/json")
        return self.household.client.post(self.path + query, headers=sent, **given)

    def ask(self, method: str, params: Any = None, query: str = "", **headers: str) -> Any:
        """A request of the older era."""
        headers.setdefault("mcp_protocol_version", "2025-11-25")
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.post(message, query, **headers)

    def ask_modern(self, method: str, params: Any = None, query: str = "", **headers: str) -> Any:
        params = dict(params or {})
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientInfo": CLIENT,
            META + "clientCapabilities": {},
        }
        params["_meta"] = meta | params.get("_meta", {})
        headers = {"mcp_protocol_version": MODERN, "mcp_method": method} | headers
        if method == "tools/call":
            headers.setdefault("mcp_name", params.get("name", ""))
        return self.post({"jsonrpc": "2.0", "id": "m1", "method": method, "params": params}, query, **headers)

    def tool(self, name: str, arguments: Any, query: str = "", **headers: str) -> Any:
        """The result of a tool call that the protocol has nothing against."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments}, query, **headers)
        assert answer.status_code == 200, answer.text
        return message_of(answer)["result"]

    def run(self, code: str, query: str = "", **headers: str) -> Any:
        """What a script is answered with."""
        result = self.tool("execute_script", {"code": code}, query, **headers)
        data = result["structuredContent"]
        assert result["isError"] == ("error" in data)
        return data

    def events(self, count: int, **wanted: Any) -> list[Any]:
        """The newest events of this organization, once so many with these values are stored."""
        table = telemetry_events
        chosen = select(table).where(table.c.org_id == self.household.org.id).order_by(table.c.id)
        for name, value in wanted.items():
            chosen = chosen.where(table.c[name] == value)
        deadline = time.monotonic() + 20
        recorder = self.household.house.recorder
        while True:
            if recorder.figures().buffered and time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            with self.household.house.db.read() as tx:
                rows = list(tx.execute(chosen).mappings())
            if len(rows) >= count:
                return rows[-count:]
            assert time.monotonic() < deadline, f"{len(rows)} of {count} events were stored"
            time.sleep(0.05)


def message_of(answer: Any) -> Any:
    """The message of an answer, the last one where it came as a stream."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        return json.loads(answer.text.rpartition("data: ")[2])
    return answer.json()


def serve(house: House, client: TestClient, upstream: Upstream, **manifest: Any) -> Visitor:
    """An organization whose source serves the upstream."""
    household = make_household(house, client, slug=f"org-{new_id()}")
    slug = f"shop-{new_id()[-12:]}"
    with house.db.write() as tx:
        service.set_features(tx, OPERATOR, household.org, code_mode=True)
        provision_source(tx, OPERATOR, household.org.id, name="Shop", source_slug=slug)
        for reference, value in SECRETS.items():
            name = reference.removeprefix("secret:")
            house.secrets.put(tx, OPERATOR, household.org.id, name=name, value=value)
    publisher = Publisher(household, slug)
    publisher.upload(openapi=description(upstream), manifest={"auth": BEARER} | manifest, promote=True)
    return Visitor(household, publisher, slug)


def description(upstream: Upstream) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": upstream.url}],
        "paths": PATHS,
    }
