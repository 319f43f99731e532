"""Which session a request belongs to: by header, handle, trace, the last half hour, or none yet; on the same
node, on another one, and after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import is_id
from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from ammeter.features.secrets.sealing import KeyRing, open_key_ring
from ammeter.features.telemetry.sessions import KEY_PURPOSE, Identity, SessionKeeper, trace_of
from tests.features.telemetry.parts import make_event, minutes, record_all
from tests.flows.outage import away

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER_TRACE = "5bf92f3577b34da6a3ce929d0e0e4736"
KEYS = (b"k" * 32,)


def keeper(db: Database, keys: Sequence[bytes] = KEYS) -> SessionKeeper:
    return SessionKeeper(db, lambda: keys)


def identify(keeper: SessionKeeper, org: Organization, **given: Any) -> Identity:
    place = {
        "org_id": org.id,
        "source_id": "source",
        "environment": "production",
        "key_id": f"key of {org.id}",
    }
    if trace := given.pop("trace", None):
        given["traceparent"] = f"00-{trace}-00f067aa0ba902b7-01"
    return asyncio.run(keeper.identify(**place | {"client_name": "agent", "client_version": "1"} | given))


def store_session(db: Database, org: Organization, identity: Identity, at: datetime | None = None) -> None:
    event = make_event(
        org.id,
        source_id="source",
        session_id=identity.id,
        session_source=identity.source,
        trace_id=identity.trace_id,
        client_name=identity.client_name,
        client_version=identity.client_version,
        at=at or now(),
    )
    record_all(db, [event])


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same node", "another node, later"])
@pytest.mark.parametrize(
    ("first", "then", "source", "same"),
    [
        ({}, {"header": True}, "header", True),
        ({}, {"handle": True}, "handle", True),
        ({}, {"header": "unknown", "handle": True, "trace": OTHER_TRACE}, "handle", True),
        ({}, {"header": True, "handle": "unknown", "trace": OTHER_TRACE}, "header", True),
        ({}, {"header": True, "client_name": "another"}, "header", True),
        ({"trace": TRACE}, {"trace": TRACE}, "traceparent", True),
        ({"trace": TRACE}, {"trace": TRACE, "client_name": "another"}, "traceparent", True),
        ({"trace": TRACE}, {"trace": OTHER_TRACE}, "traceparent", False),
        ({"trace": TRACE}, {"trace": TRACE, "header": "unknown"}, "traceparent", True),
        ({"trace": TRACE}, {}, "recent", True),
        ({}, {}, "recent", True),
        ({}, {"client_name": ""}, "recent", True),
        ({}, {"header": "unknown", "handle": "unknown"}, "recent", True),
        ({}, {"client_name": "another"}, "new", False),
        ({}, {"client_version": "2"}, "new", False),
        ({}, {"key_id": "another"}, "new", False),
        ({}, {"source_id": "another"}, "new", False),
        ({}, {"environment": "staging"}, "new", False),
        ({}, {"starts_anew": True}, "new", False),
        ({}, {"starts_anew": True, "header": True}, "new", False),
        ({}, {"header": True, "key_id": "another"}, "new", False),
        ({}, {"header": True, "source_id": "another"}, "new", False),
        ({}, {"header": True, "environment": "staging"}, "new", False),
        ({}, {"handle": True, "org_id": "another"}, "new", False),
        ({"trace": TRACE}, {"trace": TRACE, "key_id": "another"}, "traceparent", False),
    ],
)
def test_the_table_of_sessions(
    shared_db: Database,
    org: Organization,
    first: dict[str, Any],
    then: dict[str, Any],
    source: str,
    same: bool,
    elsewhere: bool,
) -> None:
    here = keeper(shared_db)
    begun = identify(here, org, **first)
    assert begun.source == ("traceparent" if first else "new")
    assert is_id(begun.id)
    if elsewhere:
        store_session(shared_db, org, begun)
    given = {
        name: begun.handle if value is True and name != "starts_anew" else value
        for name, value in then.items()
    }
    found = identify(keeper(shared_db) if elsewhere else here, org, **given)
    assert (found.source, found.id == begun.id) == (source, same)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(("waited", "source"), [(29, "recent"), (31, "new")])
def test_the_same_client_belongs_together_for_half_an_hour(
    shared_db: Database, org: Organization, waited: int, source: str, elsewhere: bool
) -> None:
    at = now()
    here = keeper(shared_db)
    begun = identify(here, org, at=at)
    if elsewhere:
        store_session(shared_db, org, begun, at)
    found = identify(keeper(shared_db) if elsewhere else here, org, at=at + minutes(waited))
    assert found.source == source


def test_the_latest_of_several_sessions_goes_on(shared_db: Database, org: Organization) -> None:
    at = now()
    here = keeper(shared_db)
    first = identify(here, org, at=at)
    second = identify(here, org, starts_anew=True, at=at)
    assert identify(here, org, header=first.handle, at=at).id == first.id
    assert identify(here, org, at=at).id == first.id
    store_session(shared_db, org, first, at - minutes(2))
    store_session(shared_db, org, second, at - minutes(1))
    assert identify(keeper(shared_db), org, at=at).id == second.id


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_client_that_told_its_name_once_is_still_known_by_it(
    shared_db: Database, org: Organization, elsewhere: bool
) -> None:
    here = keeper(shared_db)
    begun = identify(here, org, starts_anew=True)
    if elsewhere:
        store_session(shared_db, org, begun)
    there = keeper(shared_db) if elsewhere else here
    found = identify(there, org, header=begun.handle, client_name="", client_version="")
    assert (found.client_name, found.client_version) == ("agent", "1")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda handle: handle[:-1] + ("A" if handle[-1] != "A" else "B"),
        lambda handle: handle[:36],
        lambda handle: handle[:36] + ".",
        lambda handle: handle.upper(),
        lambda handle: handle + "x",
        lambda handle: "f" + handle[1:],
        lambda handle: handle.replace(".", "é."),
        lambda handle: handle * 100,
        lambda handle: "\0" + handle,
        lambda handle: "",
    ],
)
def test_a_handle_that_is_not_ours_is_unknown_and_no_error(
    shared_db: Database, org: Organization, spoil: Any
) -> None:
    here = keeper(shared_db)
    begun = identify(here, org)
    found = identify(here, org, header=spoil(begun.handle), client_name="another")
    assert (found.source, found.id == begun.id) == ("new", False)


def test_a_handle_of_other_keys_is_unknown(shared_db: Database, org: Organization) -> None:
    begun = identify(keeper(shared_db, [b"x" * 32]), org)
    assert identify(keeper(shared_db), org, header=begun.handle).source == "new"


def test_handles_stay_known_when_the_sealing_key_is_rotated(
    shared_db: Database, org: Organization, tmp_path: Path
) -> None:
    file = tmp_path / "sealing.key"
    node, other = (_keeper_on(shared_db, open_key_ring(setting="", file=file)) for _ in range(2))
    before = identify(node, org)
    open_key_ring(setting="", file=file).add_current()
    restarted = _keeper_on(shared_db, open_key_ring(setting="", file=file))
    assert identify(restarted, org, header=before.handle).source == "header"
    after = identify(restarted, org, starts_anew=True)
    assert after.handle.split(".")[1] != before.handle.split(".")[1]
    # The other node began with the old key alone: it reads the keys again.
    assert identify(other, org, header=after.handle).source == "header"


def _keeper_on(db: Database, ring: KeyRing) -> SessionKeeper:
    return SessionKeeper(db, lambda: ring.derived(KEY_PURPOSE), reread_keys_s=0)


def test_derived_keys_differ_by_purpose_and_from_the_keys_they_came_from(tmp_path: Path) -> None:
    ring = KeyRing([b"a" * 32, b"b" * 32])
    keys = ring.derived("one")
    assert keys == KeyRing([b"a" * 32, b"b" * 32]).derived("one")
    assert len({*keys, *ring.derived("two"), b"a" * 32, b"b" * 32}) == 6


def test_without_a_database_a_session_begins_anew_and_nothing_fails(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    org_id = "o"
    here = keeper(db)
    with away(db):
        found = asyncio.run(
            here.identify(org_id=org_id, source_id="s", environment="production", key_id="k", client_name="a")
        )
    assert found.source == "new"
    assert "could not be looked up" in caplog.text


def test_what_is_remembered_is_bounded(shared_db: Database, org: Organization) -> None:
    here = SessionKeeper(shared_db, lambda: KEYS, remembered=4)
    begun = identify(here, org)
    for number in range(10):
        identify(here, org, client_name=f"client {number}")
    assert identify(here, org, client_name="agent").id != begun.id
    assert identify(here, org, header=begun.handle).id == begun.id


@pytest.mark.parametrize(
    ("text", "trace_id"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
        (f" 01-{TRACE}-00f067aa0ba902b7-01-more ", TRACE),
        (f"ff-{TRACE}-00f067aa0ba902b7-01", None),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE}-00f067aa0ba902b7", None),
        ("", None),
        (None, None),
    ],
)
def test_traces(text: str | None, trace_id: str | None) -> None:
    assert trace_of(text) == trace_id
