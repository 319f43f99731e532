"""Skills: instruction texts of a source, each in versions. A version never changes."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id, new_id
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.sources import store
from ammeter.features.sources.model import Skill, SkillVersion, Source

SkillText = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


def add_skill_version(tx: Tx, actor: Actor, source: Source, *, name: str, text: str) -> SkillVersion:
    """The next version of the source's skill of this name, which is made where there is none."""
    actor.need(Role.editor, to="add a skill")
    name, text = checked(Name, name, "$.name"), checked(SkillText, text, "$.text")
    at = now()
    skill = store.find_skill(tx, source.id, name)
    if skill is None:
        skill = Skill(id=new_id(), org_id=source.org_id, source_id=source.id, name=name, created_at=at)
        store.insert_skill(tx, skill)
    numbers = [each.number for each in store.list_skill_versions(tx, source.id) if each.skill_id == skill.id]
    version = SkillVersion(
        id=new_id(),
        skill_id=skill.id,
        name=name,
        number=max(numbers, default=0) + 1,
        text=text,
        created_at=at,
        created_by=actor.name,
    )
    store.insert_skill_version(tx, version)
    audit.record(tx, actor, source.org_id, "skill.add", version.id, name=name, number=version.number)
    return version


def list_skill_versions(tx: Tx, source: Source) -> list[SkillVersion]:
    """All versions of all skills of the source, newest first."""
    return store.list_skill_versions(tx, source.id)


def find_latest_skill_version(tx: Tx, source: Source) -> SkillVersion | None:
    """The newest version among the skills of the source: what `skillMode: latest` means."""
    return next(iter(store.list_skill_versions(tx, source.id)), None)


def get_skill_version(tx: Tx, source: Source, version_id: str) -> SkillVersion:
    found = store.find_skill_version(tx, source.id, version_id) if is_id(version_id) else None
    if found is None:
        raise NotFound("skill version")
    return found
