"""`/topics`: what agents want; a topic with its sessions, its past and what people say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import NotFound, ValidationFailed
from ammeter.base.ids import is_id
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.insights.asked import (
    RangeChoice,
    days_of,
    range_of,
    scope_for,
    with_analytics,
)
from ammeter.doors.dashboard.insights.lines import Spark, chart, series, spark
from ammeter.doors.dashboard.render import said
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query, arranged
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, page_store, service, sessions, topic_store
from ammeter.features.insights.model import Range
from ammeter.features.insights.page_store import TopicWords
from ammeter.features.insights.topic_model import Cluster, Topic, TopicCoverage
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.model import Role
from ammeter.features.telemetry.model import Session

_MOST = 200
_SAMPLE = 10
SHOWN = (("", "All topics"), ("unmet", "Unmet demand"), ("recurring", "Recurring"), ("archived", "Archived"))
_SORTS = {"volume": "-sessions", "frustration": "-felt", "trend": "-change"}
"""The words of the REST API lead here too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    topic: Topic
    line: Spark


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPage:
    within: RangeChoice
    listing: Listing[TopicRow]
    shown: tuple[tuple[str, str], ...]
    coverage: TopicCoverage
    unmet: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """Another topic that this one grew out of, or went into, or that did so with this one."""

    words: str
    topic_id: str
    label: str
    at: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    within: RangeChoice
    topic: Topic
    words: TopicWords
    chart: dict[str, Any]
    sessions: tuple[Session, ...]
    clusters: tuple[Cluster, ...]
    lineage: tuple[Relative, ...]
    form: Form


async def show_list(visit: Visit) -> Response:
    within = range_of(visit.query)
    rows, coverage = await visit.read(_list, within.range)
    only = visit.query.get("show", [word for word, _ in SHOWN])
    listing = arranged(
        _sorted_by_word(visit.query),
        [row for row in rows if _belongs(row.topic, only)],
        keys={
            "label": lambda row: row.topic.label,
            "sessions": lambda row: row.topic.sessions,
            "scripts": lambda row: row.topic.scripts,
            "felt": lambda row: row.topic.avg_frustration,
            "change": lambda row: row.topic.trend,
            "seen": lambda row: row.topic.last_seen,
        },
        default="-sessions",
        text=lambda row: " ".join((row.topic.label, *row.topic.example_intents)),
    )
    page = TopicsPage(
        within=within,
        listing=listing,
        shown=SHOWN,
        coverage=coverage,
        unmet=sum(row.topic.is_unmet_demand and not row.topic.archived for row in rows),
    )
    return visit.page("insights/templates/topics.html", page, title="Topics")


async def show_topic(visit: Visit) -> Response:
    return await _show(visit, Form())


async def rename(visit: Visit) -> Response:
    form = await visit.form()
    try:
        label = checked(Name, form.text("label"), "$.label")
    except ValidationFailed as fault:
        return await _show(visit, form.refused(fault), status=422)
    return await _change(visit, f"The topic is called {said(label)}.", label=label)


async def call_unmet(visit: Visit) -> Response:
    unmet = (await visit.form()).flag("unmet")
    told = "It is unmet demand." if unmet else "It is not unmet demand."
    return await _change(visit, told, is_unmet_demand=unmet)


async def archive(visit: Visit) -> Response:
    archived = (await visit.form()).flag("archived")
    return await _change(
        visit, "The topic is archived." if archived else "The topic is listed again.", archived=archived
    )


async def _change(visit: Visit, told: str, **words: Any) -> Response:
    await visit.write(_write, visit.part("id"), words)
    within = range_of(Query(path="/", params={"range": (await visit.form()).text("range")}))
    return visit.go(within.address(f"/topics/{visit.part('id')}"), said=told)


async def _show(visit: Visit, form: Form, status: int = 200) -> Response:
    within = range_of(visit.query)
    page = await visit.read(_page, visit.part("id"), within, form)
    return visit.page("insights/templates/topic.html", page, title=said(page.topic.label), status=status)


def _list(tx: Tx, me: Me, within: Range) -> tuple[list[TopicRow], TopicCoverage]:
    scope = scope_for(me, within)
    told = topic_store.read_topic_figures(tx, me.org_id, **scope)
    topics = topic_store.list_topics(tx, me.org_id, archived=True, limit=_MOST, told=told, **scope)
    lines = page_store.topic_days(tx, me.org_id, [topic.id for topic in topics], **days_of(scope)).sessions
    rows = [TopicRow(topic=topic, line=spark(lines[topic.id])) for topic in topics]
    return rows, topic_store.topic_coverage(tx, me.org_id, told=told, **scope)


def _belongs(topic: Topic, only: str) -> bool:
    if only == "archived":
        return topic.archived
    fits = {"unmet": topic.is_unmet_demand, "recurring": topic.kind == "recurring"}
    return not topic.archived and fits.get(only, True)


def _sorted_by_word(query: Query) -> Query:
    word = query.params.get("sort", "")
    return Query(path=query.path, params={**query.params, "sort": _SORTS[word]}) if word in _SORTS else query


def _page(tx: Tx, me: Me, topic_id: str, within: RangeChoice, form: Form) -> TopicPage:
    scope = scope_for(me, within.range)
    if not is_id(topic_id):
        raise NotFound("topic")
    topic = topic_store.get_topic(tx, me.org_id, topic_id, **scope)
    ids = topic_store.list_topic_sessions(tx, me.org_id, topic_id, limit=_SAMPLE, **scope)
    days = page_store.topic_days(tx, me.org_id, [topic_id], **days_of(scope))
    return TopicPage(
        within=within,
        topic=topic,
        words=page_store.topic_words(tx, me.org_id, topic_id),
        chart=chart(days.days, series("Sessions", days.sessions[topic_id], kind="bars")),
        sessions=tuple(sessions.list_some(tx, me.actor, me.org, ids)),
        clusters=tuple(cluster_store.clusters_of_topic(tx, me.org_id, topic_id, **scope)),
        lineage=_lineage(tx, me, topic),
        form=form,
    )


def _lineage(tx: Tx, me: Me, topic: Topic) -> tuple[Relative, ...]:
    ends = {end for each in topic.lineage for end in (each.topic_id, each.other_id)}
    labels = page_store.topic_labels(tx, me.org_id, ends)
    words = {
        ("split_from", True): "Grew out of",
        ("split_from", False): "Out of it grew",
        ("merged_into", True): "Is counted under",
        ("merged_into", False): "Counts as well",
    }
    found = []
    for each in topic.lineage:
        mine = each.topic_id == topic.id
        other = each.other_id if mine else each.topic_id
        found.append(
            Relative(words=words[each.kind, mine], topic_id=other, label=labels.get(other, other), at=each.at)
        )
    return tuple(found)


def _write(tx: Tx, me: Me, topic_id: str, words: dict[str, Any]) -> None:
    service.change_topic(tx, me.actor, me.org, topic_id, **words)


_TO = "change a topic"
VIEWS = (
    View(path="/topics", handle=with_analytics(show_list)),
    View(path="/topics/{id}", handle=with_analytics(show_topic)),
    View(path="/topics/{id}/label", method="POST", handle=rename, role=Role.editor, to=_TO),
    View(path="/topics/{id}/unmet", method="POST", handle=call_unmet, role=Role.editor, to=_TO),
    View(path="/topics/{id}/archive", method="POST", handle=archive, role=Role.editor, to=_TO),
)
