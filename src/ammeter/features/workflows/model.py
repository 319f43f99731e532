"""A workflow is an eval case: a prompt for a tester, run against a source, and criteria to judge it by.
Each change is a new version; a run keeps the version it ran. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

SkillMode = Literal["none", "latest", "pinned"]
RetryOn = Literal["model_error", "source_error"]
WorkflowStatus = Literal["active", "archived"]

MAX_TARGETS = 10
MAX_CRITERIA = 50
MAX_PROMPT_CHARS = 32_000
MIN_SCHEDULE_MINUTES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Who plays the tester: a model, and the skill it is given."""

    model_id: str
    skill_mode: SkillMode = "none"
    skill_version_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    id: str
    criterion_text: str
    is_required: bool = True
    assertion: Mapping[str, Any] | None = None
    """Where there is one, it decides and no model is asked; see `evals/assertions.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_turns: int = 20
    max_tool_calls: int = 50
    max_duration_seconds: int = 300
    max_cost_usd: float = 1.0
    max_output_tokens: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    max_attempts: int = 2
    backoff_seconds: float = 5
    retry_on: tuple[RetryOn, ...] = ("model_error", "source_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSchedule:
    cron: str | None = None
    timezone: str = "UTC"
    every_minutes: int | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    id: str
    workflow_id: str
    number: int
    created_at: datetime
    created_by: str
    source_id: str
    tester_prompt: str
    criteria: tuple[Criterion, ...]
    targets: tuple[Target, ...]
    auth_profile_id: str | None
    limits: Limits
    retry_policy: RetryPolicy
    tool_policy: ToolPolicy
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    id: str
    org_id: str
    source_id: str
    name: str
    description: str
    status: WorkflowStatus
    version: Version
    schedule: WorkflowSchedule | None
    schedule_id: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A workflow as a person wants it to be: every field, checked for its shape and nothing else."""

    name: str
    source_id: str
    tester_prompt: str
    description: str = ""
    auth_profile_id: str | None = None
    targets: tuple[Target, ...] = ()
    """Empty: the default model of the server."""
    criteria: tuple[Criterion, ...] = ()
    schedule: WorkflowSchedule | None = None
    limits: Limits = field(default_factory=Limits)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    tool_policy: ToolPolicy = field(default_factory=ToolPolicy)
    metadata: Mapping[str, Any] = field(default_factory=dict)
