"""SQL for sources, their auth profiles and skills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import parse_rfc3339, rfc3339
from ammeter.base.errors import Conflict
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import auth_profiles, skill_versions, skills, sources
from ammeter.features.sources.model import AuthProfile, Discovery, Skill, SkillVersion, Source

_s, _v = skills.c, skill_versions.c
_VERSIONS = select(_v.id, _v.skill_id, _s.name, _v.number, _v.text, _v.created_at, _v.created_by).select_from(
    skill_versions.join(skills, _s.id == _v.skill_id)
)


def insert_source(tx: Tx, source: Source) -> None:
    try:
        tx.execute(insert(sources).values(_row(source)))
    except IntegrityError:
        raise Conflict(f"The source slug {source.source_slug!r} is taken.") from None


def find_source(tx: Tx, org_id: str, slug_or_id: str) -> Source | None:
    if "\0" in slug_or_id:
        # PostgreSQL would not even compare it; no source is called so.
        return None
    return _BY_NAME.find(tx, org_id=org_id, named=slug_or_id)


def list_sources(tx: Tx, org_id: str, page: PageRequest) -> Page[Source]:
    chosen = select(sources).where(sources.c.org_id == org_id).order_by(sources.c.id)
    return fetch_page(tx, chosen, page, _source)


def list_active(tx: Tx, org_id: str, environment: str) -> list[Source]:
    chosen = select(sources).where(
        sources.c.org_id == org_id, sources.c.status == "active", sources.c.environment == environment
    )
    return [_source(row) for row in tx.execute(chosen.order_by(sources.c.id.desc())).mappings()]


def list_live_packages(tx: Tx) -> list[Mapping[str, Any]]:
    """What active sources of all organizations run: registry, name and version of each package."""
    configs = tx.scalars(select(sources.c.connection_config).where(sources.c.status == "active"))
    return [config["package"] for config in configs if config.get("package")]


def update_source(tx: Tx, source: Source) -> None:
    row = _row(source)
    tx.execute(update(sources).where(sources.c.id == row.pop("id")).values(row))


def set_discovery(tx: Tx, source_id: str, discovery: Discovery, at: datetime, **more: Any) -> None:
    """Only what discovery knows, so that it does not undo what a person changes meanwhile."""
    values = {"discovery": _discovery_row(discovery), "updated_at": at, **more}
    tx.execute(update(sources).where(sources.c.id == source_id).values(values))


def set_columns(tx: Tx, source_id: str, **values: Any) -> None:
    tx.execute(update(sources).where(sources.c.id == source_id).values(values))


def insert_auth_profile(tx: Tx, profile: AuthProfile) -> None:
    tx.execute(insert(auth_profiles).values(asdict(profile)))


def list_auth_profiles(tx: Tx, source_id: str) -> list[AuthProfile]:
    """The first is the source's default."""
    t = auth_profiles
    rows = tx.execute(select(t).where(t.c.source_id == source_id).order_by(t.c.id)).mappings()
    return [AuthProfile(**row) for row in rows]


def insert_skill(tx: Tx, skill: Skill) -> None:
    try:
        tx.execute(insert(skills).values(asdict(skill)))
    except IntegrityError:
        raise Conflict(f"The source has a skill {skill.name!r} already.") from None


def find_skill(tx: Tx, source_id: str, name: str) -> Skill | None:
    row = tx.execute(select(skills).where(_s.source_id == source_id, _s.name == name)).mappings()
    return next((Skill(**found) for found in row), None)


def insert_skill_version(tx: Tx, version: SkillVersion) -> None:
    row = asdict(version)
    del row["name"]
    try:
        tx.execute(insert(skill_versions).values(row))
    except IntegrityError:
        raise Conflict("The skill was given another version at the same moment; look at it first.") from None


def list_skill_versions(tx: Tx, source_id: str) -> list[SkillVersion]:
    """Newest first."""
    rows = tx.execute(_VERSIONS.where(_s.source_id == source_id).order_by(_v.id.desc())).mappings()
    return [SkillVersion(**row) for row in rows]


def find_skill_version(tx: Tx, source_id: str, version_id: str) -> SkillVersion | None:
    chosen = _VERSIONS.where(_s.source_id == source_id, _v.id == version_id)
    row = tx.execute(chosen).mappings().one_or_none()
    return SkillVersion(**row) if row else None


def _row(source: Source) -> dict[str, Any]:
    row = asdict(source)
    return row | {"categories": list(source.categories), "discovery": _discovery_row(source.discovery)}


def _source(row: Mapping[Any, Any]) -> Source:
    told = dict(row)
    told["categories"] = tuple(told["categories"])
    told["discovery"] = _discovery(told["discovery"])
    return Source(**told)


def _discovery_row(discovery: Discovery) -> dict[str, Any]:
    if discovery == Discovery():
        return {}
    row = asdict(discovery)
    row["finished_at"] = rfc3339(discovery.finished_at) if discovery.finished_at else None
    return row


def _discovery(told: Mapping[str, Any]) -> Discovery:
    if not told:
        return Discovery()
    at = told["finished_at"]
    lists = {name: tuple(told[name]) for name in ("tools", "resources", "prompts")}
    return Discovery(**{**told, **lists, "finished_at": parse_rfc3339(at) if at else None})


_BY_NAME = PointRead(
    select(sources).where(
        sources.c.org_id == bindparam("org_id"),
        (sources.c.source_slug == bindparam("named")) | (sources.c.id == bindparam("named")),
    ),
    lambda row: _source(dict(zip(sources.c.keys(), row, strict=True))),
    keep=100,
)
