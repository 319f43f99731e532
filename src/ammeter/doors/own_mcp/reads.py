"""Tools that read runs and insights, so that an owner's agent can ask what to fix. Each is one GET of the
REST API, asked within the process with the caller's own key: the same roles, checks and records, always."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from starlette.types import ASGIApp, Message

from ammeter.base.errors import AmmeterError, Detail
from ammeter.base.text import did_you_mean
from ammeter.doors.http.edge import Notes, notes_of
from ammeter.doors.own_mcp.visit import OwnVisit

_RANGES = ["24h", "7d", "30d", "90d"]
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 200, "description": "At most so many."}
_RANGE = {"type": "string", "enum": _RANGES, "description": "How far back; default 7d."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A tool that is a GET: where, and its arguments by name, with their schemas; those in the path are
    required."""

    path: str
    title: str
    description: str
    arguments: dict[str, dict[str, Any]]

    @property
    def required(self) -> list[str]:
        return [name for name in self.arguments if f"{{{name}}}" in self.path]

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.arguments,
            "required": self.required,
            "additionalProperties": False,
        }


def _id(what: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 63, "description": what}


READS: dict[str, Read] = {
    "list_runs": Read(
        path="/runs",
        title="Search runs",
        description="Runs of eval cases, newest first: status, outcome, score, why it failed, cost."
        " Filter by status=fail to see what to fix.",
        arguments={
            "range": {"type": "string", "enum": ["24h", "7d", "30d"], "description": "Default 24h."},
            "workflowId": _id("Only of this case."),
            "status": {"type": "string", "enum": ["running", "pass", "fail", "partial"]},
            "classification": {"type": "string", "description": "Such as source_unreachable."},
            "search": {"type": "string", "maxLength": 200, "description": "Words that must all occur."},
            "sort": {"type": "string", "description": "Such as -startedAt, score or -costUsd."},
            "page": {"type": "integer", "minimum": 1},
            "pageSize": {"type": "integer", "minimum": 1, "maximum": 200},
        },
    ),
    "get_run": Read(
        path="/runs/{runId}",
        title="Read a run",
        description="One run: outcome, score, the evaluator's summary, error, cost.",
        arguments={"runId": _id("Id of the run.")},
    ),
    "get_run_evaluation": Read(
        path="/runs/{runId}/evaluation",
        title="Read a run's evaluation",
        description="What became of each criterion, with reasoning and excerpts of the trace as evidence.",
        arguments={"runId": _id("Id of the run.")},
    ),
    "list_run_tool_calls": Read(
        path="/runs/{runId}/tool-calls",
        title="List a run's tool calls",
        description="Every MCP tool call of a run: arguments, result, whether it failed, duration.",
        arguments={"runId": _id("Id of the run.")},
    ),
    "get_insights_overview": Read(
        path="/insights/overview",
        title="Read the insights overview",
        description="Headline figures of what agents did with the hosted APIs, trends, top topics and top"
        " failed searches.",
        arguments={"range": _RANGE},
    ),
    "list_topics": Read(
        path="/insights/topics",
        title="List topics",
        description="What agents want, recurring; unmet demand and frustration show what to build or mend.",
        arguments={
            "range": _RANGE,
            "sort": {"type": "string", "enum": ["volume", "frustration", "trend"]},
            "limit": _LIMIT,
        },
    ),
    "get_topic": Read(
        path="/insights/topics/{topicId}",
        title="Read a topic",
        description="A topic with sample sessions and related failed searches.",
        arguments={"topicId": _id("Id of the topic.")},
    ),
    "list_failed_searches": Read(
        path="/insights/searches",
        title="List failed searches",
        description="SDK searches that found nothing of use, in clusters, each with a suggestion: an alias,"
        " documentation or a missing capability.",
        arguments={"range": _RANGE, "limit": _LIMIT},
    ),
    "get_failed_search": Read(
        path="/insights/searches/{clusterId}",
        title="Read a failed-search cluster",
        description="A cluster of failed searches and sample sessions.",
        arguments={"clusterId": _id("Id of the cluster.")},
    ),
    "list_sessions": Read(
        path="/insights/sessions",
        title="List agent sessions",
        description="Sessions of agents at the hosted endpoints; view=high_frustration shows who struggled.",
        arguments={
            "range": _RANGE,
            "view": {"type": "string", "enum": ["all", "high_frustration", "repeat", "flagged"]},
            "intent": {"type": "string", "description": "Exact intent label."},
            "search_miss": {"type": "string", "description": "Exact text of a failed search."},
            "limit": _LIMIT,
        },
    ),
    "get_session_trace": Read(
        path="/insights/sessions/{sessionId}/trace",
        title="Read a session's trace",
        description="Everything an agent did in one session: scripts, calls, searches, errors.",
        arguments={"sessionId": _id("Id of the session.")},
    ),
}


class WrongArgument(AmmeterError):
    """Which, and what it takes."""

    code = "validation_failed"


class ReadRefused(AmmeterError):
    """What the GET answered with, in its own words."""

    def __init__(self, error: dict[str, Any], retry_after_s: int | None) -> None:
        told = [Detail(path=each["path"], message=each["message"]) for each in error["details"]]
        super().__init__(str(error["message"]), details=told)
        self.code = str(error["code"])
        self.retry_after_s = retry_after_s


async def ask(rest: ASGIApp, base: str, visit: OwnVisit, read: Read, given: dict[str, Any]) -> Any:
    """The record that the GET answers with; AmmeterError where it refuses."""
    for name in given:
        if name not in read.arguments:
            told = ", ".join(read.arguments) or "none"
            raise WrongArgument(f"The argument {name}: it takes {told}.{did_you_mean(name, read.arguments)}")
    if missing := [name for name in read.required if not isinstance(given.get(name), str)]:
        raise WrongArgument(f"The argument {missing[0]}: this is required, as text.")
    path = base + read.path.format(**{name: quote(given[name], safe="") for name in read.required})
    query = {name: value for name, value in given.items() if name not in read.required and value is not None}
    outer = visit.request.scope
    scope = {
        **outer,
        "method": "GET",
        "root_path": base,
        "path": path,
        "raw_path": path.encode(),
        "query_string": urlencode(query).encode(),
        "headers": [(name, value) for name, value in outer["headers"] if name in (b"authorization", b"host")],
        "ammeter": Notes(notes_of(outer).request_id),
    }
    answer = bytearray()
    status, retry_after_s = 0, None

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, retry_after_s
        status = message.get("status", status)
        for name, text in message.get("headers", ()):
            if name.lower() == b"retry-after":
                retry_after_s = int(text)
        answer.extend(message.get("body", b""))

    await rest(scope, receive, send)
    value = json.loads(bytes(answer))
    if status >= 400:
        raise ReadRefused(value["error"], retry_after_s)
    return value
