"""What an importer gives: workflows as the REST API takes them, and everything that could not be carried
over, each with its place and the reason. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ammeter.features.workflows.model import MAX_CRITERIA, MAX_PROMPT_CHARS

MAX_NAME_CHARS = 200
MAX_CRITERION_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    where: str
    what: str
    why: str


class NotTheFormat(Exception):
    """The file is none of this tool's, in words."""


@dataclass(slots=True)
class Imported:
    workflows: list[dict[str, Any]] = field(default_factory=list)
    left_behind: list[LeftBehind] = field(default_factory=list)

    def leave(self, where: str, what: str, why: str) -> None:
        self.left_behind.append(LeftBehind(where=where, what=what, why=why))

    def add(
        self,
        where: str,
        *,
        name: str,
        prompt: str,
        criteria: list[dict[str, Any]],
        models: list[str],
        description: str = "",
        limits: dict[str, Any] | None = None,
    ) -> None:
        """A workflow, if it can be one; what is too much of it is left behind."""
        if not prompt.strip():
            self.leave(where, "the case", "its prompt is empty")
            return
        if len(prompt) > MAX_PROMPT_CHARS:
            self.leave(
                where, "the case", f"its prompt has {len(prompt):,} characters; {MAX_PROMPT_CHARS:,} fit"
            )
            return
        if len(criteria) > MAX_CRITERIA:
            over = len(criteria) - MAX_CRITERIA
            self.leave(where, f"{over} criteria", f"a workflow has at most {MAX_CRITERIA}")
        made: dict[str, Any] = {"name": self._free_name(name), "testerPrompt": prompt}
        if description:
            made["description"] = description
        if models:
            made["testerModelIds"] = models
        if criteria:
            made["criteria"] = criteria[:MAX_CRITERIA]
        if limits:
            made["limits"] = limits
        self.workflows.append(made)

    def _free_name(self, name: str) -> str:
        plain = " ".join("".join(c if c.isprintable() else " " for c in name).split())[:MAX_NAME_CHARS]
        taken = {workflow["name"] for workflow in self.workflows}
        number, free = 1, plain or "Imported case"
        while free in taken:
            number += 1
            free = f"{plain[: MAX_NAME_CHARS - 8]} ({number})"
        return free


def criterion(text: str, assertion: dict[str, Any] | None = None, *, required: bool = True) -> dict[str, Any]:
    made: dict[str, Any] = {
        "criterionText": " ".join(text.split())[:MAX_CRITERION_CHARS],
        "isRequired": required,
    }
    return made if assertion is None else made | {"assertion": assertion}
