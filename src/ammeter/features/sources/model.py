"""A source: what is tested or served, how it is met, and what was found there. Values only.

`source_slug` is the name its hosted endpoint is reached by. An auth profile says with which credentials, by
reference; a skill is an instruction text of the source, in versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

TransportType = Literal["streamable_http", "sse", "stdio_hosted"]
TargetKind = Literal["mcp", "cli"]
SourceStatus = Literal["active", "archived"]
NetworkMode = Literal["none", "allowlist", "open"]
AuthType = Literal["none", "bearer_token", "api_key_header", "basic", "oauth2_client_credentials"]
JobStatus = Literal["queued", "running", "succeeded", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What the last look at a source gave. After a failed one, what an earlier one found is still there."""

    status: JobStatus | None = None
    """None where nobody has looked yet."""
    finished_at: datetime | None = None
    error: str | None = None
    server_info: Mapping[str, Any] | None = None
    protocol_version: str | None = None
    instructions: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    """name, title, description, input_schema, annotations"""
    resources: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    id: str
    org_id: str
    name: str
    source_slug: str | None
    environment: str
    status: SourceStatus
    created_at: datetime
    updated_at: datetime
    viewers_may_execute: bool = False
    """Whether a viewer's key may run scripts at the hosted endpoint, not only search."""
    transport_type: TransportType = "streamable_http"
    target_kind: TargetKind = "mcp"
    base_url: str | None = None
    """None for processes, and for a source that is served here: see `targets.base_url_of`."""
    connection_config: Mapping[str, Any] = field(default_factory=dict)
    """HTTP kinds: headers, timeoutSeconds. Hosted kinds: command, package, args, env, workingFiles."""
    network_policy: Mapping[str, Any] = field(default_factory=dict)
    """mode and allow, of hosted kinds."""
    categories: tuple[str, ...] = ()
    categories_by_person: bool = False
    """Whether a person chose them; then discovery proposes none."""
    discovery: Discovery = field(default_factory=Discovery)
    discovery_job_id: str | None = None
    provisioning_job_id: str | None = None

    @property
    def is_hosted(self) -> bool:
        """Whether it runs as a process here."""
        return self.transport_type == "stdio_hosted" or self.target_kind == "cli"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthProfile:
    id: str
    org_id: str
    source_id: str
    name: str
    auth_type: AuthType
    auth_config: Mapping[str, Any]
    """Names and references, never values."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    id: str
    org_id: str
    source_id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    id: str
    skill_id: str
    name: str
    """Of its skill."""
    number: int
    text: str
    created_at: datetime
    created_by: str
