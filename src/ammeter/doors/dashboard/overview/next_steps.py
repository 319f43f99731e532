"""What to do next, told from what the overview shows: the few steps that would help most. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ammeter.doors.dashboard.insights.asked import RangeChoice
from ammeter.features.evals.model import Run
from ammeter.features.insights.model import Overview
from ammeter.features.insights.topic_model import Cluster, InventedName, Topic

_MOST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    title: str
    about: str
    """What it is about, in the words of agents; may be empty."""
    text: str
    href: str
    action: str


def next_steps(
    *,
    within: RangeChoice,
    overview: Overview | None,
    topics: Sequence[Topic],
    clusters: Sequence[Cluster],
    invented: Sequence[InventedName],
    runs: Sequence[Run],
    has_cases: bool,
) -> list[NextStep]:
    found = [*_failing(runs), *_words(within, clusters), *_unmet(within, topics)]
    found += _missing(within, clusters)
    if overview is not None:
        found += _strained(within, overview)
    found += _names(within, invented)
    if not has_cases and topics:
        found.append(
            NextStep(
                title="Test what agents want",
                about=topics[0].label,
                text="Nothing is tested yet. The topic with most sessions makes a good first eval case.",
                href=f"/topics/{topics[0].id}/draft",
                action="Draft an eval case",
            )
        )
    return found[:_MOST]


def _failing(runs: Sequence[Run]) -> list[NextStep]:
    newest: dict[str, Run] = {}
    for run in runs:
        newest.setdefault(run.workflow_id, run)
    failed = [run for run in newest.values() if run.status == "fail"]
    return [
        NextStep(
            title="Look at a run that failed",
            about=run.workflow_name,
            text="The latest run of this eval case did not pass.",
            href=f"/runs/{run.id}",
            action="See the run",
        )
        for run in failed[:1]
    ]


def _words(within: RangeChoice, clusters: Sequence[Cluster]) -> list[NextStep]:
    for cluster in clusters:
        replay = cluster.suggestion.replay
        if cluster.suggestion.overlay is not None and replay is not None:
            text = (
                f"An overlay with the words of agents is ready: {replay.hits_after:,} of {replay.searches:,}"
                f" stored searches would find the operation, {replay.hits_before:,} do now."
            )
            return [
                NextStep(
                    title="Add the words that agents use",
                    about=cluster.label,
                    text=text,
                    href=within.address(f"/failed-searches/{cluster.id}"),
                    action="See the overlay",
                )
            ]
    return []


def _unmet(within: RangeChoice, topics: Sequence[Topic]) -> list[NextStep]:
    for topic in topics:
        if topic.is_unmet_demand:
            return [
                NextStep(
                    title="Meet a demand",
                    about=topic.label,
                    text=f"{_many(topic.sessions, 'session')} wanted it, and few got an answer.",
                    href=within.address(f"/topics/{topic.id}"),
                    action="See the topic",
                )
            ]
    return []


def _missing(within: RangeChoice, clusters: Sequence[Cluster]) -> list[NextStep]:
    for cluster in clusters:
        if cluster.gap_kind == "capability":
            return [
                NextStep(
                    title="Consider a new operation",
                    about=cluster.label,
                    text=f"{_many(cluster.searches, 'search')} asked for it, and no operation does it.",
                    href=within.address(f"/failed-searches/{cluster.id}"),
                    action="See the searches",
                )
            ]
    return []


def _strained(within: RangeChoice, overview: Overview) -> list[NextStep]:
    strained = overview.kpis["high_frustration_sessions"]
    if not strained.value:
        return []
    return [
        NextStep(
            title="Read where agents struggled",
            about="",
            text=f"{strained.value:,.0f} of {strained.n:,} sessions were strained.",
            href=within.address("/sessions", view="high_frustration"),
            action="See the sessions",
        )
    ]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def _names(within: RangeChoice, invented: Sequence[InventedName]) -> list[NextStep]:
    return [
        NextStep(
            title="See which names agents make up",
            about=one.name,
            text=f"{_many(one.sessions, 'session')} used this name; it does not exist.",
            href=within.address("/failed-searches/invented-names"),
            action="See the names",
        )
        for one in invented[:1]
    ]
