"""Who: organizations, people, members, roles, keys, and who changed what. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal, Protocol, cast

from ammeter.base.errors import InsufficientRole

Region = Literal["us", "eu"]


RoleName = Literal["viewer", "editor", "admin", "owner"]


class Role(IntEnum):
    """Each role may do what the ones before it may."""

    viewer = 1
    editor = 2
    admin = 3
    owner = 4

    @property
    def word(self) -> RoleName:
        return cast(RoleName, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    id: str
    slug: str
    name: str
    region: Region
    mcp_analytics: bool
    code_mode: bool
    included_runs: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Runs of one calendar month; `included` is None where they are unlimited."""

    period_start: datetime
    period_end: datetime
    included: int | None
    used: int

    @property
    def remaining(self) -> int | None:
        return None if self.included is None else max(0, self.included - self.used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    id: str
    org_id: str
    person_id: str
    email: str
    name: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret, which nobody can read back."""

    id: str
    org_id: str
    key_id: str
    name: str
    role: Role
    source_ids: tuple[str, ...] | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_live(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something, in which role, and from where. Every change is written down with it."""

    kind: Literal["key", "member", "operator"]
    name: str
    role: Role
    origin: str
    request_id: str | None = None
    source_ids: tuple[str, ...] | None = None
    """The only sources the actor may touch; None: all of its organization."""

    def need(self, role: Role, *, to: str) -> None:
        if self.role < role:
            raise InsufficientRole(f"To {to} takes the role {role.name} or above; yours is {self.role.name}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whose request this is: a live key and its organization."""

    org: Organization
    key: ApiKey

    @property
    def role(self) -> Role:
        return self.key.role

    def may_touch(self, source_id: str) -> bool:
        return self.key.source_ids is None or source_id in self.key.source_ids


class Entitled(Protocol):
    """Whoever acts within an organization, by a key or signed in: its role, and the sources it reaches."""

    @property
    def org(self) -> Organization: ...

    @property
    def role(self) -> Role: ...

    def may_touch(self, source_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    org: Organization
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A person at the dashboard: who it is, where they are a member, and the organization they look at."""

    session_id: str
    person_id: str
    email: str
    name: str
    seen_at: datetime
    memberships: tuple[Membership, ...]
    chosen: Membership

    @property
    def org(self) -> Organization:
        return self.chosen.org

    @property
    def role(self) -> Role:
        return self.chosen.role

    def may_touch(self, source_id: str) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    id: str
    org_id: str | None
    at: datetime
    actor_kind: str
    actor: str
    origin: str
    request_id: str | None
    action: str
    target: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """What is asked of the audit log; what is empty is not asked."""

    actor: str = ""
    action: str = ""
    """One such as `key.mint`, or all that begin with a word and its dot: `key.`"""
    target: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """Before this instant."""
    oldest_first: bool = False
