"""The pool becomes topics: what recurs is taken out, what is alike and dense enough gets an id and a label,
what has waited long joins its neighbours; then topics that have come to the same are merged, and unmet demand
is proposed.

Each step is computed first and written in one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

import numpy as np

from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.search.embed import Floats
from ammeter.features.insights import refresh_store as store
from ammeter.features.insights.intake import Picture, spoken
from ammeter.features.insights.labels import label_of, word_counts
from ammeter.features.insights.lineage import MIN_RECURRENCES, grown_out_of, is_recurring, merges
from ammeter.features.insights.refresh_store import Row
from ammeter.features.insights.topic_model import TopicKind
from ammeter.features.insights.topics import Centre, alike_groups, by_neighbours, centre_of
from ammeter.features.insights.vectors import to_bytes, vectors_of, width

DENSE = 4
"""So many sessions make a topic."""
RECENT = timedelta(days=30)
WAITED = timedelta(days=7)
"""By then those of its kind, if there are any, have come and made a topic."""
_KNOWN = 4_000
_UNMET_SESSIONS = 3
_ANSWERED_SHARE = 1 / 3
_TROUBLED_SHARE = 1 / 2
_ONE_KEY_SHARE = 0.9

Writing = Callable[[], AbstractContextManager[Tx]]
"""A transaction in which the refresh still holds the organization."""


def form_topics(db: Database, writing: Writing, picture: Picture, at: datetime) -> int:
    """How many topics are new. What is left in the pool is placed once more: a new topic may take it."""
    if not picture.pool:
        return 0
    ids = sorted(picture.pool)
    rows: Floats = np.stack([picture.pool[form_id][1] for form_id in ids])
    with db.read() as tx:
        often = store.sessions_by_form(tx, ids)
        recurring = {one for one in ids if _recurs(tx, one, often.get(one, 0))}
        groups = [
            [ids[i] for i in group if ids[i] not in recurring]
            for group in alike_groups(rows)
            if sum(often.get(ids[i], 0) for i in group) >= DENSE
        ]
        dense = [group for group in groups if group and store.count_sessions(tx, group) >= DENSE]
    background = word_counts([text for text, _ in picture.pool.values()])
    topic_of: dict[str, str] = {}
    with writing() as tx:
        for group in dense:
            topic_of |= _make(tx, picture, group, background, "demand", at)
        for form_id in sorted(recurring):
            topic_of |= _make(tx, picture, [form_id], background, "recurring", at)
        topic_of |= _place_the_rest(picture)
        store.join_topics(tx, topic_of)
    return len(dense) + len(recurring)


def _recurs(tx: Tx, form_id: str, sessions: int) -> bool:
    if sessions < MIN_RECURRENCES:
        return False
    stated = store.form_times(tx, form_id)
    key, often = Counter(key for key, _ in stated).most_common(1)[0]
    if often < _ONE_KEY_SHARE * len(stated):
        return False
    return is_recurring([at for by, at in stated if by == key])


def _make(
    tx: Tx,
    picture: Picture,
    form_ids: Sequence[str],
    background: Counter[str],
    kind: TopicKind,
    at: datetime,
) -> dict[str, str]:
    """The topic of each of these forms."""
    members = [picture.pool[form_id] for form_id in form_ids]
    centre = centre_of(new_id(), np.stack([row for _, row in members]))
    parent = grown_out_of(centre, picture.topics.centres) if kind == "demand" else None
    label = label_of([text for text, _ in members], background, len(picture.pool))
    store.insert_topic(tx, _topic_row(picture.org_id, centre, kind, label, at))
    if parent is not None:
        store.insert_lineage(tx, picture.org_id, centre.id, "split_from", parent, at)
    if kind == "demand":
        picture.topics.add(centre)
        picture.topics.moved.discard(centre.id)
    else:
        picture.recurring.add(centre.id)
    for form_id in form_ids:
        del picture.pool[form_id]
    return dict.fromkeys(form_ids, centre.id)


def _topic_row(org_id: str, centre: Centre, kind: TopicKind, label: str, at: datetime) -> Row:
    return {
        "id": centre.id,
        "org_id": org_id,
        "kind": kind,
        "label": label,
        "person_label": None,
        "unmet_proposed": False,
        "unmet_by_person": None,
        "archived": False,
        "merged_into": None,
        "centre": to_bytes(centre.total),
        "members": centre.members,
        "radius": centre.radius,
        "created_at": at,
        "last_seen": at,
    }


def _place_the_rest(picture: Picture) -> dict[str, str]:
    """The topic of each form of the pool that has one now."""
    ids = sorted(picture.pool)
    if not ids:
        return {}
    places = picture.topics.place(np.stack([picture.pool[form_id][1] for form_id in ids]))
    found = {form_id: one for form_id, one in zip(ids, places, strict=True) if one is not None}
    for form_id in found:
        del picture.pool[form_id]
    return found


def join_neighbours(db: Database, writing: Writing, picture: Picture, at: datetime) -> int:
    """Forms that have waited long join the topic of their neighbours, without moving its centre: how many.
    Of the forms that have a topic the latest are looked at."""
    ids = sorted(picture.pool)
    with db.read() as tx:
        due = store.stated_before(tx, ids, at - WAITED)
        members = store.latest_members(tx, picture.org_id, limit=_KNOWN) if due else []
    if not members:
        return 0
    waiting: Floats = np.stack([picture.pool[form_id][1] for form_id in ids])
    known = np.concatenate([vectors_of([spoken(text) for text, _ in members]), waiting])
    topics = [topic_id for _, topic_id in members] + [None] * len(ids)
    asked = [place for place, form_id in enumerate(ids) if form_id in due]
    places = by_neighbours(waiting[asked], [len(members) + place for place in asked], known, topics)
    found = {ids[place]: one for place, one in zip(asked, places, strict=True) if one is not None}
    if found:
        with writing() as tx:
            store.join_topics(tx, found)
    for form_id in found:
        del picture.pool[form_id]
    return len(found)


def split_recurring(db: Database, writing: Writing, picture: Picture, at: datetime) -> int:
    """Forms that joined a topic before it showed that a program states them get one of their own."""
    touched = sorted(picture.touched)
    with db.read() as tx:
        often = store.sessions_by_form(tx, touched)
        many = [one for one in touched if often.get(one, 0) >= MIN_RECURRENCES]
        placed = store.topics_of_forms(tx, many)
        found = [
            (form_id, text, topic_id)
            for form_id, (text, topic_id) in placed.items()
            if topic_id not in picture.recurring and _recurs(tx, form_id, often[form_id])
        ]
        # A topic that is nothing but this form becomes what it is; there is nothing to split off.
        alone = {topic_id for _, _, topic_id in found if store.count_forms(tx, topic_id) == 1}
    for form_id, text, topic_id in found:
        with writing() as tx:
            if topic_id in alone:
                store.set_recurring(tx, topic_id)
                picture.recurring.add(topic_id)
                continue
            centre = centre_of(new_id(), np.zeros((1, width()), np.float32))
            row = _topic_row(picture.org_id, centre, "recurring", label_of([text], {}, 0), at)
            store.insert_topic(tx, row)
            store.join_topics(tx, {form_id: centre.id})
            store.insert_lineage(tx, picture.org_id, centre.id, "split_from", topic_id, at)
        picture.recurring.add(centre.id)
    return len(found)


def merge_topics(db: Database, writing: Writing, picture: Picture, at: datetime) -> int:
    """Topics that have come to the same; one that a person named, judged or archived stays."""
    with db.read() as tx:
        kept = {
            row["id"]
            for row in store.open_topics(tx, picture.org_id)
            if row["person_label"] is not None or row["unmet_by_person"] is not None or row["archived"]
        }
    open_centres = [one for one in picture.topics.centres if one.id not in picture.recurring]
    pairs = merges(open_centres, kept)
    if pairs:
        with writing() as tx:
            for gone, into in pairs:
                store.merge_topics(tx, picture.org_id, gone, into, at)
    return len(pairs)


def propose_unmet(db: Database, writing: Writing, picture: Picture, at: datetime) -> None:
    """Many who wanted it met misses, errors or frustration, and few were answered."""
    with db.read() as tx:
        figures = store.troubled_topics(tx, picture.org_id, at - RECENT)
    with writing() as tx:
        for topic_id, (sessions, answered, troubled) in sorted(figures.items()):
            unmet = (
                sessions >= _UNMET_SESSIONS
                and answered <= _ANSWERED_SHARE * sessions
                and troubled >= _TROUBLED_SHARE * sessions
            )
            store.propose_unmet(tx, topic_id, unmet)
