"""Sessions to learn from: what agents said, searched for and called, stored as telemetry stores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.compiler.bundle import Bundle, pack
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import check
from ammeter.engines.db.database import Database
from ammeter.engines.search.index import build_index
from ammeter.features.bundles import store as bundles
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.sources import store as sources
from ammeter.features.sources.model import Source
from ammeter.features.telemetry import store as telemetry
from ammeter.features.telemetry.model import Event
from tests.features.telemetry.parts import call, make_event

DAY = timedelta(days=1)
LONG_BEFORE = timedelta(hours=2)


@dataclass(slots=True)
class Teller:
    """Tells sessions of one organization, each some seconds after the one before."""

    db: Database
    org_id: str
    source_id: str
    at: datetime

    def session(self, *events: dict[str, Any], key: str = "", at: datetime | None = None) -> str:
        """One session with these events; its id."""
        session_id = new_id()
        self.at = at or self.at + timedelta(seconds=20)
        self.add(session_id, *events, key=key, at=self.at)
        return session_id

    def add(self, session_id: str, *events: dict[str, Any], key: str = "", at: datetime) -> None:
        made = [
            make_event(
                self.org_id,
                source_id=self.source_id,
                session_id=session_id,
                key_id=key or f"key {session_id}",
                **{"at": at + timedelta(seconds=number)} | event,
            )
            for number, event in enumerate(events)
        ]
        self.store(made)

    def store(self, events: Sequence[Event]) -> None:
        with self.db.write() as tx:
            telemetry.insert_batch(tx, events)

    def wants(self, *intents: str, **facts: Any) -> list[str]:
        """A session for each intent, with a script that ended well."""
        return [self.session(script(intent, **facts)) for intent in intents]


def teller(db: Database, org_id: str, source_id: str | None = None) -> Teller:
    return Teller(db=db, org_id=org_id, source_id=source_id or new_id(), at=now() - LONG_BEFORE)


def script(intent: str | None, *operations: str, **facts: Any) -> dict[str, Any]:
    return {"kind": "script", "intent": intent, "calls": [call(one) for one in operations], **facts}


def search(query: str, *hits: str, **facts: Any) -> dict[str, Any]:
    outcome = "ok" if hits else "miss"
    return {"kind": "search", "query": query, "result_operations": list(hits), "outcome": outcome, **facts}


@cache
def bookshop(overlay: str | None = None) -> Bundle:
    """The demo's API, compiled; `overlay` as JSON."""
    description = (files("ammeter.doors.demo_api") / "openapi.yaml").read_bytes()
    manifest, faults = check({})
    assert manifest is not None, faults
    compiled = compile_description(Description(openapi=description, overlay=overlay, manifest=manifest))
    assert compiled.bundle is not None, compiled.findings
    return replace(compiled.bundle, search=build_index(compiled.bundle.cards))


def serve(db: Database, blobs: Blobs, org_id: str, bundle: Bundle, *, source_id: str | None = None) -> str:
    """A source that serves this bundle, a new one if none is given; its id."""
    is_new, source_id = source_id is None, source_id or new_id()
    artifact, at = pack(bundle), now()
    stored = StoredBundle(
        id=new_id(),
        org_id=org_id,
        source_id=source_id,
        environment="production",
        content_hash=new_id(),
        digest=blobs.put(artifact),
        openapi_hash=bundle.openapi_hash,
        overlay_hash=bundle.overlay_hash,
        size_bytes=len(artifact),
        operations=len(bundle.cards),
        repository=None,
        commit_sha=None,
        branch=None,
        pull_request_number=None,
        created_at=at,
        created_by="tests",
        is_active=False,
    )
    source = Source(
        id=source_id,
        org_id=org_id,
        name="Books",
        source_slug=None,
        environment="production",
        status="active",
        created_at=at,
        updated_at=at,
    )
    with db.write() as tx:
        if is_new:
            sources.insert_source(tx, source)
        assert bundles.insert_bundle(tx, stored, ())
        assert bundles.point_at(tx, stored, before=None, at=at, by="tests")
    return source_id
