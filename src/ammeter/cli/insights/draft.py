"""`ammeter insights draft`: a workflow file made of what a session or a topic tells; over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.remote import path_of
from ammeter.features.insights.drafts import Story, draft_workflow, session_story, topic_story

_BASE = "/api/service/v1/insights"
_RANGE = "90d"


def draft(
    session: Annotated[str | None, typer.Option(help="Id of a session.", show_default=False)] = None,
    topic: Annotated[str | None, typer.Option(help="Id of a topic.", show_default=False)] = None,
    out: Annotated[str, typer.Option("--out", help="File to write; - for standard output.")] = "-",
    url: Url = None,
    key: Key = None,
) -> None:
    """Write a draft of a workflow: the prompt from the intent, the criteria from what happened."""
    if (session is None) == (topic is None):
        raise typer.BadParameter("give either --session or --topic")
    remote = connect(url, key)
    if session is not None:
        story = session_story(remote.get(f"{_BASE}/sessions{path_of(session)}/trace"))
    else:
        story = topic_story(remote.get(f"{_BASE}/topics{path_of(topic or '')}", range=_RANGE))
    text = workflow_text(story)
    if out == "-":
        typer.echo(text, nl=False)
        return
    try:
        # Never over a file that somebody may have worked on.
        with Path(out).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {out}: {error.strerror}", param_hint="--out") from None
    typer.echo(f"Wrote {out}; read it, then: ammeter workflow create {out}")


def workflow_text(story: Story) -> str:
    # Imported here: writing YAML is for those who want some.
    import yaml

    made: dict[str, Any] = draft_workflow(story)
    text: str = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=100)
    return text
