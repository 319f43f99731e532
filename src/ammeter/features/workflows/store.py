"""SQL for workflows and their versions. Rows in, values out; no rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Select, bindparam, insert, select, update

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import workflow_versions, workflows
from ammeter.features.workflows.model import (
    Criterion,
    Limits,
    RetryPolicy,
    Target,
    ToolPolicy,
    Version,
    Workflow,
    WorkflowSchedule,
)

_VERSION = [column.label(f"v_{column.name}") for column in workflow_versions.c]
_FIELDS = [column.name for column in (*workflows.c, *_VERSION)]


def insert_workflow(tx: Tx, workflow: Workflow) -> None:
    tx.execute(insert(workflows).values(_row(workflow)))
    insert_version(tx, workflow.version)


def update_workflow(tx: Tx, workflow: Workflow) -> None:
    row = _row(workflow)
    tx.execute(update(workflows).where(workflows.c.id == row.pop("id")).values(row))


def insert_version(tx: Tx, version: Version) -> None:
    tx.execute(insert(workflow_versions).values(asdict(version)))


def lock_workflow(tx: Tx, workflow_id: str) -> None:
    """Until the transaction ends nobody else changes the workflow or dispatches it."""
    _LOCKED.find(tx, workflow_id=workflow_id)


def find_workflow(tx: Tx, org_id: str, workflow_id: str) -> Workflow | None:
    return _BY_ID.find(tx, workflow_id=workflow_id, org_id=org_id)


def find_version(tx: Tx, version_id: str) -> Version | None:
    row = tx.execute(select(*_VERSION).where(workflow_versions.c.id == version_id)).mappings().one_or_none()
    return _version(row) if row else None


def list_versions(tx: Tx, workflow_id: str, page: PageRequest) -> Page[Version]:
    """Newest first."""
    chosen = select(*_VERSION).where(workflow_versions.c.workflow_id == workflow_id)
    return fetch_page(tx, chosen.order_by(workflow_versions.c.number.desc()), page, _version)


def list_archived(tx: Tx, org_id: str) -> list[Workflow]:
    """Newest first."""
    chosen = _workflows().where(workflows.c.org_id == org_id, workflows.c.status == "archived")
    return [_workflow(row) for row in tx.execute(chosen.order_by(workflows.c.id.desc())).mappings()]


def list_workflows(tx: Tx, org_id: str, source_ids: Collection[str]) -> list[Workflow]:
    """Active ones of these sources, oldest first."""
    query = (
        _workflows()
        .where(
            workflows.c.org_id == org_id,
            workflows.c.status == "active",
            workflows.c.source_id.in_(source_ids),
        )
        .order_by(workflows.c.id)
    )
    return [_workflow(row) for row in tx.execute(query).mappings()]


def _workflows() -> Select[Any]:
    return select(workflows, *_VERSION).join(
        workflow_versions, workflow_versions.c.id == workflows.c.version_id
    )


def _row(workflow: Workflow) -> dict[str, Any]:
    row = {name: getattr(workflow, name) for name in workflows.c.keys() if name != "version_id"}  # noqa: SIM118
    schedule = workflow.schedule
    return {**row, "version_id": workflow.version.id, "schedule": asdict(schedule) if schedule else None}


def _workflow(row: Mapping[Any, Any]) -> Workflow:
    names = [name for name in workflows.c.keys() if name not in ("version_id", "schedule")]  # noqa: SIM118
    schedule = WorkflowSchedule(**row["schedule"]) if row["schedule"] else None
    return Workflow(**{name: row[name] for name in names}, schedule=schedule, version=_version(row))


def _version(row: Mapping[Any, Any]) -> Version:
    plain = {name: row[f"v_{name}"] for name in workflow_versions.c.keys()}  # noqa: SIM118
    return Version(**{**plain, **_parts(plain)})


def _parts(plain: Mapping[str, Any]) -> dict[str, Any]:
    retry, tools = plain["retry_policy"], plain["tool_policy"]
    return {
        "criteria": tuple(Criterion(**criterion) for criterion in plain["criteria"]),
        "targets": tuple(Target(**target) for target in plain["targets"]),
        "limits": Limits(**plain["limits"]),
        "retry_policy": RetryPolicy(**{**retry, "retry_on": tuple(retry["retry_on"])}),
        "tool_policy": ToolPolicy(
            allow=None if tools["allow"] is None else tuple(tools["allow"]),
            deny=tuple(tools["deny"]),
            read_only=tools["read_only"],
        ),
    }


_LOCKED = PointRead(
    select(workflows.c.id).where(workflows.c.id == bindparam("workflow_id")).with_for_update(),
    lambda row: str(row[0]),
)
_BY_ID = PointRead(
    _workflows().where(workflows.c.id == bindparam("workflow_id"), workflows.c.org_id == bindparam("org_id")),
    lambda row: _workflow(dict(zip(_FIELDS, row, strict=True))),
    keep=100,
)
