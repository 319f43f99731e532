"""From insight to test: what agents wanted and what became of it in, a draft of a workflow out. Pure.

The prompt is the agents' own intent; the criteria are made of what happened, so that a run of the workflow
says whether it has got better. A person is meant to read it before it is created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MOST_NAMED = 5
_NAME_CHARS = 80
_LEAST_CALLS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is known of a session or a topic."""

    origin: str
    """`session` or `topic`."""
    origin_id: str
    source_id: str
    intents: Sequence[str]
    contexts: Sequence[str] = ()
    operations: Sequence[str] = ()
    """Called with success, most used first."""
    failures: Sequence[str] = ()
    """Of scripts, in words."""
    failed_searches: Sequence[str] = ()
    invented_names: Sequence[str] = ()
    tool_calls: int | None = None
    """How many it took; None where many sessions are meant."""
    is_unmet_demand: bool = False


def draft_workflow(story: Story) -> dict[str, Any]:
    """The body of `POST /workflows`, without a model: the organization's default is used."""
    intent = story.intents[0] if story.intents else "Say what this API can do"
    return {
        "name": f"Draft: {intent}"[:_NAME_CHARS].rstrip(),
        "description": f"Drafted from the {story.origin} {story.origin_id}; read it before you rely on it.",
        "mcpServerId": story.source_id,
        "testerPrompt": _prompt(intent, story),
        "criteria": _criteria(intent, story),
        "metadata": {"draftedFrom": {story.origin: story.origin_id}},
    }


def _prompt(intent: str, story: Story) -> str:
    lines = [intent.rstrip(".?! ") + "."]
    lines += [context for context in story.contexts[:1] if context]
    others = [other for other in story.intents[1:_MOST_NAMED] if other != intent]
    if others and story.origin == "session":
        lines.append("Then: " + "; ".join(others) + ".")
    lines.append("Use the tools of the server, and say at the end what you did and what came of it.")
    return "\n".join(lines)


def _criteria(intent: str, story: Story) -> list[dict[str, Any]]:
    found = [_criterion(f"The request is fulfilled, and the answer shows it: {intent}", required=True)]
    if story.is_unmet_demand or (story.failed_searches and not story.operations):
        found = [
            _criterion(
                "The request is fulfilled; or, where the API cannot do it, the answer says so plainly and"
                " names what it can do instead",
                required=True,
            )
        ]
    found += [
        _criterion(
            f"A script calls {name}",
            assertion={"kind": "tool_result_contains", "tool": "execute_script", "text": name},
        )
        for name in story.operations[:_MOST_NAMED]
    ]
    found += [
        _criterion(f"No script ends with this error, which agents ran into: {words}")
        for words in _each_once(story.failures)[:_MOST_NAMED]
    ]
    found += [
        _criterion(
            f"Searching for “{query}”, or in other words for the same, leads to an operation that is used"
        )
        for query in _each_once(story.failed_searches)[:_MOST_NAMED]
    ]
    if story.invented_names:
        names = ", ".join(_each_once(story.invented_names)[:_MOST_NAMED])
        found.append(_criterion(f"No script uses a name that does not exist, such as {names}", required=True))
    if story.tool_calls is not None:
        most = max(_LEAST_CALLS, story.tool_calls)
        found.append(
            _criterion(
                f"It takes no more than {most} tool calls",
                assertion={"kind": "max_tool_calls", "value": most},
            )
        )
    return found


def _criterion(
    text: str, *, required: bool = False, assertion: dict[str, Any] | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"criterionText": text, "isRequired": required}
    return made if assertion is None else {**made, "assertion": assertion}


def _each_once(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))


def session_story(trace: Mapping[str, Any]) -> Story:
    """Of a session's trace as the REST API tells it."""
    session = trace["session"]
    scripts = [event for event in trace["events"] if event["kind"] == "script"]
    calls = [call for row in trace["tool_calls"] for call in row["upstream_calls"]]
    return Story(
        origin="session",
        origin_id=session["id"],
        source_id=session["source_id"],
        intents=session["intents"],
        contexts=[event["context"] for event in scripts if event["context"]],
        operations=_each_once([call["operation_id"] for call in calls if call["outcome"] == "ok"]),
        failures=[event["error_message"] for event in scripts if event["error_message"]],
        failed_searches=[search["query"] for search in trace["searches"] if search["failed"]],
        invented_names=[name for event in scripts for name in event["invented_names"]],
        tool_calls=len(trace["tool_calls"]),
    )


def topic_story(topic: Mapping[str, Any]) -> Story:
    """Of a topic's detail as the REST API tells it."""
    samples, clusters = topic["sample_sessions"], topic["related_failed_searches"]
    sources = [row["source_id"] for row in (*samples, *clusters)]
    return Story(
        origin="topic",
        origin_id=topic["id"],
        source_id=sources[0] if sources else "",
        intents=[topic["label"], *topic["example_intents"]],
        operations=[row["operation_id"] for row in topic["top_operations"]],
        failed_searches=[query for cluster in clusters for query in cluster["example_queries"]],
        is_unmet_demand=topic["is_unmet_demand"],
    )
