"""`/insights`: what agents tried to do: overview, topics, failed searches, sessions and their traces.

Everything here takes MCP Analytics; a key that is limited to sources sees those alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field, StringConstraints

from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import WholeNumber
from ammeter.doors.http.strict import Body, CurrentCall, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.doors.rest.insight_records import (
    ClusterDetailRecord,
    ClustersRecord,
    CoverageRecord,
    KpisRecord,
    LineageRecord,
    OverviewRecord,
    TopicDetailRecord,
    TopicsRecord,
    cluster_fields,
    cluster_record,
    kpi_record,
    topic_fields,
    topic_record,
    trends_record,
)
from ammeter.doors.rest.insight_session_records import (
    SessionRecord,
    SessionsRecord,
    SessionTraceRecord,
    session_record,
    trace_record,
)
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, service, sessions, topic_store
from ammeter.features.insights.model import Range, View, Window
from ammeter.features.insights.overview import read_overview
from ammeter.features.insights.topic_model import TopicSort
from ammeter.features.orgs.fields import Name

router = APIRouter(tags=["insights"], route_class=StrictRoute)

_TOP = 5
_SAMPLE = 10

RangeQuery = Annotated[Range, Query(alias="range", description="How far back.")]
Limit = Annotated[int, Query(ge=1, le=200, description="How many at most."), WholeNumber]
SortQuery = Annotated[TopicSort, Query(description="Most sessions, highest frustration or greatest change.")]
ViewQuery = Annotated[
    View,
    Query(
        description="`high_frustration`: stated as 7 or more, or seen in what the agent did. `repeat`: the"
        " same intent again by the same key or client. `flagged`: by a person or a rule."
    ),
]
IntentQuery = Annotated[
    str | None,
    StringConstraints(max_length=2_000),
    Query(description="An intent as scripts stated it; case and spacing do not matter."),
]
MissQuery = Annotated[
    str | None,
    StringConstraints(max_length=2_000),
    Query(description="The exact text of a failed search."),
]
AfterQuery = Annotated[
    str | None,
    StringConstraints(max_length=63),
    Query(description="`next_after` of the part before, of a very long session."),
]


class _SnakeBody(Body):
    model_config = ConfigDict(alias_generator=None)


class ChangeTopic(_SnakeBody):
    """What is absent or null stays as it is."""

    label: Name | None = None
    is_unmet_demand: bool | None = None
    archived: bool | None = None


class ChangeSession(_SnakeBody):
    flagged: Annotated[bool, Field(description="A person's flag, beside those of the rules.")]


@router.get(
    "/insights/overview",
    operation_id="getInsightsOverview",
    summary="Read headline figures, trends, top topics and top failed searches",
    responses=errors("feature"),
)
async def get_overview(call: CurrentCall, within: RangeQuery = "7d") -> OverviewRecord:
    return await call.read(_overview, within)


@router.get(
    "/insights/topics",
    operation_id="listTopics",
    summary="List recurring topics and unmet demand",
    responses=errors("feature"),
)
async def list_topics(
    call: CurrentCall, within: RangeQuery = "7d", sort: SortQuery = "volume", limit: Limit = 50
) -> TopicsRecord:
    return await call.read(_topics, within, sort, limit)


@router.get(
    "/insights/topics/{id}",
    operation_id="getTopic",
    summary="Read a topic with sample sessions and related failed searches",
    responses=errors("feature", "id"),
)
async def get_topic(call: CurrentCall, id: str, within: RangeQuery = "7d") -> TopicDetailRecord:  # noqa: A002
    return await call.read(_topic, id, within)


@router.patch(
    "/insights/topics/{id}",
    operation_id="changeTopic",
    summary="Name a topic, call it unmet demand, archive it",
    responses=errors("feature and role", "id", "body"),
)
async def change_topic(call: CurrentCall, id: str, body: ChangeTopic) -> TopicDetailRecord:  # noqa: A002
    return await call.write(_change_topic, id, body)


@router.get(
    "/insights/searches",
    operation_id="listFailedSearches",
    summary="List clusters of failed searches and suggested gaps of the API",
    responses=errors("feature"),
)
async def list_searches(call: CurrentCall, within: RangeQuery = "7d", limit: Limit = 50) -> ClustersRecord:
    return await call.read(_searches, within, limit)


@router.get(
    "/insights/searches/{id}",
    operation_id="getFailedSearch",
    summary="Read a cluster of failed searches with sample sessions",
    responses=errors("feature", "id"),
)
async def get_search(call: CurrentCall, id: str, within: RangeQuery = "7d") -> ClusterDetailRecord:  # noqa: A002
    return await call.read(_search, id, within)


@router.get(
    "/insights/sessions",
    operation_id="listSessions",
    summary="List sessions, the latest first",
    responses=errors("feature"),
)
async def list_sessions(
    call: CurrentCall,
    within: RangeQuery = "7d",
    view: ViewQuery = "all",
    intent: IntentQuery = None,
    search_miss: MissQuery = None,
    limit: Limit = 50,
) -> SessionsRecord:
    return await call.read(_sessions, within, view, intent, search_miss, limit)


@router.get(
    "/insights/sessions/{id}/trace",
    operation_id="getSessionTrace",
    summary="Read a session whole: events, tool calls, searches, logs, classifications",
    responses=errors("feature", "id"),
)
async def get_trace(call: CurrentCall, id: str, after: AfterQuery = None) -> SessionTraceRecord:  # noqa: A002
    return await call.read(_trace, id, after)


@router.patch(
    "/insights/sessions/{id}",
    operation_id="changeSession",
    summary="Flag a session, or take the flag back",
    responses=errors("feature and role", "id", "body"),
)
async def change_session(call: CurrentCall, id: str, body: ChangeSession) -> SessionRecord:  # noqa: A002
    return await call.write(_change_session, id, body)


class _Scope(TypedDict):
    """What a caller looks at: a window, and the sources it may see."""

    since: datetime
    until: datetime
    source_ids: tuple[str, ...] | None


def _scope(caller: Caller, window: Window) -> _Scope:
    return {"since": window.since, "until": window.until, "source_ids": caller.actor.source_ids}


def _scope_of(caller: Caller, within: Range) -> _Scope:
    return _scope(caller, service.window_for(caller.principal.org, within))


def _overview(tx: Tx, caller: Caller, within: Range) -> OverviewRecord:
    org = caller.principal.org
    overview = read_overview(tx, caller.actor, org, within=within)
    window, known = overview.window, overview.coverage
    scope = _scope(caller, window)
    told = topic_store.read_topic_figures(tx, org.id, **scope)
    topics = topic_store.list_topics(tx, org.id, limit=_TOP, told=told, **scope)
    clusters = cluster_store.list_clusters(tx, org.id, limit=_TOP, **scope)
    topical = topic_store.topic_coverage(tx, org.id, told=told, **scope)
    return OverviewRecord(
        range=within,
        kpis=KpisRecord(**{name: kpi_record(kpi) for name, kpi in overview.kpis.items()}),
        trends=trends_record(overview),
        top_topics=[topic_record(topic) for topic in topics],
        top_failed_searches=[cluster_record(cluster) for cluster in clusters],
        coverage=CoverageRecord(
            sessions=known.sessions,
            sessions_with_intent=known.sessions_with_intent,
            scripts=known.scripts,
            scripts_with_frustration=known.scripts_with_frustration,
            intents=topical.intents,
            intents_in_topics=topical.in_topics,
            topics_refreshed_at=topical.refreshed_at,
            since=window.since,
            until=window.until,
            previous_since=window.previous_since,
            data_since=known.data_since,
        ),
    )


def _topics(tx: Tx, caller: Caller, within: Range, sort: TopicSort, limit: int) -> TopicsRecord:
    scope = _scope_of(caller, within)
    found = topic_store.list_topics(tx, caller.principal.org.id, sort=sort, limit=limit, **scope)
    return TopicsRecord(rows=[topic_record(topic) for topic in found])


def _topic(tx: Tx, caller: Caller, topic_id: str, within: Range) -> TopicDetailRecord:
    scope, org, actor = _scope_of(caller, within), caller.principal.org, caller.actor
    if not is_id(topic_id):
        raise NotFound("topic")
    topic = topic_store.get_topic(tx, org.id, topic_id, **scope)
    ids = topic_store.list_topic_sessions(tx, org.id, topic_id, limit=_SAMPLE, **scope)
    clusters = cluster_store.clusters_of_topic(tx, org.id, topic_id, **scope)
    return TopicDetailRecord(
        **topic_fields(topic),
        sample_sessions=[session_record(one) for one in sessions.list_some(tx, actor, org, ids)],
        related_failed_searches=[cluster_record(cluster) for cluster in clusters],
        lineage=[
            LineageRecord(kind=each.kind, topic_id=each.topic_id, other_id=each.other_id, at=each.at)
            for each in topic.lineage
        ],
    )


def _change_topic(tx: Tx, caller: Caller, topic_id: str, body: ChangeTopic) -> TopicDetailRecord:
    service.change_topic(tx, caller.actor, caller.principal.org, topic_id, **body.model_dump())
    return _topic(tx, caller, topic_id, "7d")


def _searches(tx: Tx, caller: Caller, within: Range, limit: int) -> ClustersRecord:
    scope = _scope_of(caller, within)
    found = cluster_store.list_clusters(tx, caller.principal.org.id, limit=limit, **scope)
    return ClustersRecord(rows=[cluster_record(cluster) for cluster in found])


def _search(tx: Tx, caller: Caller, cluster_id: str, within: Range) -> ClusterDetailRecord:
    scope, org, actor = _scope_of(caller, within), caller.principal.org, caller.actor
    if not is_id(cluster_id):
        raise NotFound("failed-search cluster")
    cluster = cluster_store.get_cluster(tx, org.id, cluster_id, **scope)
    ids = cluster_store.list_cluster_sessions(tx, org.id, cluster_id, limit=_SAMPLE, **scope)
    samples = [session_record(one) for one in sessions.list_some(tx, actor, org, ids)]
    return ClusterDetailRecord(**cluster_fields(cluster), sample_sessions=samples)


def _sessions(
    tx: Tx,
    caller: Caller,
    within: Range,
    view: View,
    intent: str | None,
    search_miss: str | None,
    limit: int,
) -> SessionsRecord:
    found = sessions.list_sessions(
        tx,
        caller.actor,
        caller.principal.org,
        within=within,
        view=view,
        intent=intent,
        search_miss=search_miss,
        limit=limit,
    )
    return SessionsRecord(rows=[session_record(session) for session in found.rows])


def _trace(tx: Tx, caller: Caller, session_id: str, after: str | None) -> SessionTraceRecord:
    return trace_record(sessions.get_trace(tx, caller.actor, caller.principal.org, session_id, after=after))


def _change_session(tx: Tx, caller: Caller, session_id: str, body: ChangeSession) -> SessionRecord:
    actor, org = caller.actor, caller.principal.org
    session = sessions.get_session(tx, actor, org, session_id)
    service.flag_session(tx, actor, org, session, flagged=body.flagged)
    return session_record(sessions.get_session(tx, actor, org, session_id))
