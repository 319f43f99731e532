"""Uploads as CI sends them, and small descriptions to send."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any

from ammeter.base.ids import new_id
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.bundles.service import get_bundle
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from tests.household import OPERATOR, Household

BASE = "/api/openapi-artifacts"
OK = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}


def described(paths: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": paths,
        **parts,
    }


def pets(*paths: str) -> dict[str, Any]:
    return described({path: {"get": {"tags": ["pets"], "responses": OK}} for path in paths or ("/pets",)})


def signed(token: str, raw: bytes, stamp: str | None = None) -> dict[str, str]:
    """The headers of an upload."""
    stamp = str(int(time.time())) if stamp is None else stamp
    return {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "x-service-timestamp": stamp,
        "x-service-signature": hmac.new(
            token.encode(), f"{stamp}.".encode() + raw, hashlib.sha256
        ).hexdigest(),
    }


@dataclass(frozen=True, slots=True)
class Publisher:
    """An organization with code mode on and a source of its own."""

    household: Household
    slug: str

    def send(self, role: Role = Role.owner, *, token: str = "", raw: bytes = b"", **body: Any) -> Any:
        token = token or self.household.tokens[role]
        stamp = body.pop("stamp", None)
        raw = raw or json.dumps({"source": self.slug, **body}).encode()
        return self.household.client.post(f"{BASE}/upload", content=raw, headers=signed(token, raw, stamp))

    def upload(self, **body: Any) -> dict[str, Any]:
        """What a good upload is answered with."""
        answer = self.send(**body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def call(self, method: str, path: str, role: Role = Role.owner, token: str = "") -> Any:
        headers = {"authorization": f"Bearer {token or self.household.tokens[role]}"}
        return self.household.client.request(method, BASE + path, headers=headers)

    def total(self) -> int:
        """Of the bundles that are stored."""
        return int(self.call("GET", f"?source={self.slug}").json()["total"])

    def stored(self, bundle_id: str) -> StoredBundle:
        with self.household.house.db.read() as tx:
            return get_bundle(tx, self.household.org.id, bundle_id)


def make_publisher(household: Household) -> Publisher:
    slug = f"pets-{new_id()[-12:]}"
    with household.house.db.write() as tx:
        service.set_features(tx, OPERATOR, household.org, code_mode=True)
        provision_source(tx, OPERATOR, household.org.id, name="Pets", source_slug=slug)
    # Read again: the organization's features have changed.
    return Publisher(household, slug)
