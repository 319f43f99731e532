"""Insights brought up to date: every session that changed is read and its rows replaced, then topics are
formed and clusters judged.

There is no cursor: a session is due when its count of events is another than the one that was read, so
events that come late, out of order or with a wrong clock are not missed, and what was done before a kill is
not done again. Each transaction leads from one whole picture to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.db.database import Database, Tx
from ammeter.features.insights import forming, intake, judging, prune_store
from ammeter.features.insights import refresh_store as store
from ammeter.features.insights.misses import read_session
from ammeter.features.insights.refresh_store import ChangedSession

SETTLED_AFTER = timedelta(minutes=30)
"""As long as a session may go on by the same key and client without saying so."""
POOL = 4_000
KEPT_IN_POOL = 2_000
_BATCH_SESSIONS = 200
_BATCH_EVENTS = 5_000
_PRUNED = 2_000
_MAX_EVENTS = 20_000
"""Of one session; what a program does in one session after that tells nothing new."""
_FAR_PAST = datetime(1970, 1, 1, tzinfo=UTC)

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    sessions: int
    new_topics: int
    merged_topics: int
    judged_clusters: int
    pruned: int


def refresh(
    db: Database,
    blobs: Blobs,
    org_id: str,
    *,
    keep_days: int = 90,
    at: datetime | None = None,
    check: Callable[[Tx], None] = lambda tx: None,
    progress: Progress = lambda share, message: None,
) -> Refreshed:
    """`check` is called in each write transaction and raises where the work is no longer ours; Superseded
    where another refresh of the organization began after this one. With 0 days nothing goes in time."""
    at = at or now()
    since = at - timedelta(days=keep_days) if keep_days else _FAR_PAST
    writer = new_id()
    with db.write() as tx:
        check(tx)
        store.take_over(tx, org_id, writer)

    @contextmanager
    def writing() -> Iterator[Tx]:
        with db.write() as tx:
            check(tx)
            store.must_hold(tx, org_id, writer)
            yield tx

    with db.read() as tx:
        picture = intake.open_picture(tx, org_id, KEPT_IN_POOL)
    sessions, new_topics = _read_sessions(db, writing, picture, since, at, progress)
    progress(0.8, "forming topics")
    new_topics += forming.form_topics(db, writing, picture, at)
    if sessions:
        forming.join_neighbours(db, writing, picture, at)
    new_topics += forming.split_recurring(db, writing, picture, at)
    merged = forming.merge_topics(db, writing, picture, at)
    forming.propose_unmet(db, writing, picture, at)
    progress(0.9, "judging failed searches")
    judged = judging.judge_clusters(db, blobs, writing, org_id, max(since, at - timedelta(days=90)))
    pruned = _prune(writing, org_id, since)
    done = Refreshed(
        sessions=sessions,
        new_topics=new_topics,
        merged_topics=merged,
        judged_clusters=judged,
        pruned=pruned,
    )
    with writing() as tx:
        store.finish(tx, org_id, at, asdict(done))
    return done


def _read_sessions(
    db: Database,
    writing: forming.Writing,
    picture: intake.Picture,
    since: datetime,
    at: datetime,
    progress: Progress,
) -> tuple[int, int]:
    settled_before = at - SETTLED_AFTER
    with db.read() as tx:
        due = store.count_changed(tx, picture.org_id, since=since, settled_before=settled_before)
    done = new_topics = 0
    after: tuple[datetime, str] | None = None
    # Sessions that go on while they are read come again at the end; so many as were due are read.
    while done < due:
        progress(0.8 * done / due, f"{done} of {due} sessions read")
        with db.read() as tx:
            sessions = _some(
                store.changed_sessions(
                    tx,
                    picture.org_id,
                    since=since,
                    settled_before=settled_before,
                    after=after,
                    limit=_BATCH_SESSIONS,
                )
            )
            if not sessions:
                break
            events = store.seen_events(tx, [session.id for session in sessions], limit=_MAX_EVENTS)
            settled = {session.id: session.last_event_at < settled_before for session in sessions}
            facts = [
                (session, read_session(events.pop(session.id), ended=settled[session.id]))
                for session in sessions
            ]
            batch = intake.take_in(tx, picture, facts, settled, at)
        with writing() as tx:
            intake.write_batch(tx, batch)
        after = (sessions[-1].last_event_at, sessions[-1].id)
        done += len(sessions)
        if len(picture.pool) > POOL:
            new_topics += forming.form_topics(db, writing, picture, at)
            _let_go(picture)
    return done, new_topics


def _prune(writing: forming.Writing, org_id: str, before: datetime) -> int:
    """In batches, so that nobody who writes waits long."""
    gone = 0
    while True:
        with writing() as tx:
            went = prune_store.prune(tx, org_id, before, limit=_PRUNED)
        gone += went
        if not went:
            return gone


def _some(sessions: list[ChangedSession]) -> list[ChangedSession]:
    """As many as make a transaction of bounded size, at least one."""
    events = 0
    for number, session in enumerate(sessions):
        events += min(session.events, _MAX_EVENTS)
        if events > _BATCH_EVENTS and number:
            return sessions[:number]
    return sessions


def _let_go(picture: intake.Picture) -> None:
    """The oldest of what made no topic: ids sort by age. They come back when they are stated again."""
    for form_id in sorted(picture.pool)[:-KEPT_IN_POOL]:
        del picture.pool[form_id]
