"""From insight to test: a draft of an eval case made of a topic or a session, read and then created."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import Detail, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.insights.asked import scope_for, with_analytics
from ammeter.doors.dashboard.render import said
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, sessions, topic_store
from ammeter.features.insights.drafts import Story, draft_workflow
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.model import Role
from ammeter.features.workflows.model import MAX_PROMPT_CHARS, Criterion, Draft, Workflow
from ammeter.features.workflows.service import PreflightRejected, Surroundings, create_workflow

_SAMPLE = 10
Tell = Callable[[Tx, Me, str], Story]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCriterion:
    key: str
    """Stands for its text in the form."""
    text: str
    is_required: bool
    assertion: str
    """How it is checked without a model, in words; empty where the judge marks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPage:
    origin: str
    origin_id: str
    label: str
    name: str
    prompt: str
    criteria: tuple[DraftCriterion, ...]
    yaml: str
    form: Form

    @property
    def path(self) -> str:
        return f"/{self.origin}s/{self.origin_id}"


async def show_topic_draft(visit: Visit) -> Response:
    return await _show(visit, _topic_story, Form())


async def show_session_draft(visit: Visit) -> Response:
    return await _show(visit, _session_story, Form())


async def create_from_topic(visit: Visit) -> Response:
    return await _create(visit, _topic_story)


async def create_from_session(visit: Visit) -> Response:
    return await _create(visit, _session_story)


async def _create(visit: Visit, tell: Tell) -> Response:
    form = await visit.form()
    try:
        made = await visit.write(_write, tell, visit.part("id"), form, visit.house.workflow_surroundings)
    except (ValidationFailed, PreflightRejected) as fault:
        return await _show(visit, tell, form.refused(fault, {"$.testerPrompt": "prompt"}), status=422)
    return visit.go(f"/cases/{made.id}", said=f"{said(made.name)} is made; read it, then run it.")


async def _show(visit: Visit, tell: Tell, form: Form, status: int = 200) -> Response:
    story = await visit.read(tell, visit.part("id"))
    page = _page(story, form)
    return visit.page("insights/templates/draft.html", page, title="Draft of an eval case", status=status)


def _page(story: Story, form: Form) -> DraftPage:
    # Imported here: writing YAML is for those who want some.
    import yaml

    made = draft_workflow(story)
    return DraftPage(
        origin=story.origin,
        origin_id=story.origin_id,
        label=story.intents[0] if story.intents else "",
        name=made["name"],
        prompt=made["testerPrompt"],
        criteria=tuple(
            DraftCriterion(
                key=_key(each["criterionText"]),
                text=each["criterionText"],
                is_required=each["isRequired"],
                assertion=_assertion_words(each.get("assertion")),
            )
            for each in made["criteria"]
        ),
        yaml=yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=100),
        form=form,
    )


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _assertion_words(assertion: dict[str, Any] | None) -> str:
    match assertion:
        case {"kind": "tool_result_contains", "text": text}:
            return f"a tool's result contains {text}"
        case {"kind": "max_tool_calls", "value": value}:
            return f"at most {value} tool calls"
    return ""


def _write(tx: Tx, me: Me, tell: Tell, origin_id: str, form: Form, around: Surroundings) -> Workflow:
    story = tell(tx, me, origin_id)
    made, kept = draft_workflow(story), set(form.all("criterion"))
    prompt = form.text("prompt")
    if not prompt or len(prompt) > MAX_PROMPT_CHARS or "\0" in prompt:
        message = f"a prompt of 1 to {MAX_PROMPT_CHARS:,} characters is needed"
        raise ValidationFailed([Detail(path="$.testerPrompt", message=message)])
    draft = Draft(
        name=checked(Name, form.text("name"), "$.name"),
        description=made["description"],
        source_id=made["mcpServerId"],
        tester_prompt=prompt,
        criteria=tuple(
            Criterion(
                id=new_id(),
                criterion_text=each["criterionText"],
                is_required=each["isRequired"],
                assertion=each.get("assertion"),
            )
            for each in made["criteria"]
            if _key(each["criterionText"]) in kept
        ),
        metadata=made["metadata"],
    )
    return create_workflow(tx, me.actor, me.org_id, draft, around)


def _topic_story(tx: Tx, me: Me, topic_id: str) -> Story:
    scope = scope_for(me, "90d")
    if not is_id(topic_id):
        raise NotFound("topic")
    topic = topic_store.get_topic(tx, me.org_id, topic_id, **scope)
    ids = topic_store.list_topic_sessions(tx, me.org_id, topic_id, limit=_SAMPLE, **scope)
    samples = sessions.list_some(tx, me.actor, me.org, ids)
    clusters = cluster_store.clusters_of_topic(tx, me.org_id, topic_id, **scope)
    source_ids = [one.source_id for one in samples] + [one.source_id for one in clusters]
    return Story(
        origin="topic",
        origin_id=topic.id,
        source_id=source_ids[0] if source_ids else "",
        intents=[topic.label, *topic.example_intents],
        operations=[row.operation_id for row in topic.top_operations],
        failed_searches=[query for cluster in clusters for query in cluster.example_queries],
        is_unmet_demand=topic.is_unmet_demand,
    )


def _session_story(tx: Tx, me: Me, session_id: str) -> Story:
    trace = sessions.get_trace(tx, me.actor, me.org, session_id)
    scripts = [event for event in trace.events if event.kind == "script"]
    calls = [call for event in trace.events for call in event.calls]
    used = [call["operationId"] for call in calls if call.get("outcome") == "ok" and call.get("operationId")]
    return Story(
        origin="session",
        origin_id=session_id,
        source_id=trace.session.source_id,
        intents=trace.session.intents,
        contexts=[event.context for event in scripts if event.context],
        operations=list(dict.fromkeys(used)),
        failures=[event.error_message for event in scripts if event.error_message],
        failed_searches=[fate.event.query or "" for fate in trace.searches if fate.failed],
        invented_names=[name for event in scripts for name in event.invented],
        tool_calls=sum(event.kind != "initialize" for event in trace.events),
    )


_TO = "make a draft of an eval case"
VIEWS = (
    View(path="/topics/{id}/draft", handle=with_analytics(show_topic_draft), role=Role.editor, to=_TO),
    View(path="/topics/{id}/draft", method="POST", handle=create_from_topic, role=Role.editor, to=_TO),
    View(path="/sessions/{id}/draft", handle=with_analytics(show_session_draft), role=Role.editor, to=_TO),
    View(path="/sessions/{id}/draft", method="POST", handle=create_from_session, role=Role.editor, to=_TO),
)
