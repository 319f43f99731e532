"""What the upload page takes from the served bundle: the overlay of a failed-search cluster is put to what
the bundle was made from, and what is not given anew is used again.

The description stays on the server, as it may be megabytes: a form names the bundle that has it (`keeps`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.base.errors import Detail, NotFound, ValidationFailed
from ammeter.base.ids import is_id
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.insights.asked import scope_for
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.compiler.bundle import Given
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.artifacts import find_given
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.insights import cluster_store
from ammeter.features.insights.applying import applied
from ammeter.features.insights.topic_model import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    bundle: StoredBundle
    lacks: bool
    """Whether the description must be given again, and its overlay too: neither lies with the bundle."""

    @property
    def told(self) -> str:
        had_overlay = self.bundle.overlay_hash is not None
        if self.lacks and had_overlay:
            return (
                "What the served bundle was made from is not kept with it: choose its description, and put"
                " the actions of its overlay before these, or they are lost."
            )
        if self.lacks:
            return "The description of the served bundle is not kept with it: choose it below."
        stands = "It stands after the overlay that the served bundle was made with. " if had_overlay else ""
        return f"{stands}The description and the manifest of the served bundle are used again."


async def propose(visit: Visit, cluster_id: str) -> Form:
    """The form of an upload in which the searches of a cluster would find what they looked for."""
    cluster, bundle = await visit.read(_cluster, cluster_id)
    proposed = cluster.suggestion.overlay
    if proposed is None:
        raise NotFound("overlay of this failed search")
    given = await _given(visit, bundle) if bundle else None
    overlay = applied(given.overlay if given else None, proposed)
    values = {
        "source": cluster.source_id,
        "environment": cluster.environment,
        "overlay": _text(overlay),
        "manifest": _text(given.manifest) if given else "",
        "keeps": bundle.id if bundle else "",
    }
    return Form(values={name: [value] for name, value in values.items()})


async def find_kept(visit: Visit, form: Form) -> Kept | None:
    """What the form uses again; None where it stands for itself."""
    if not form.text("keeps"):
        return None
    bundle = await visit.read(_bundle, form.text("keeps"))
    given = await _given(visit, bundle)
    return Kept(bundle=bundle, lacks=given is None or given.openapi is None)


async def get_description(visit: Visit, form: Form) -> Mapping[str, Any] | None:
    """That of the bundle which the form keeps, for the source that it belongs to."""
    if not form.text("keeps"):
        return None
    bundle = await visit.read(_bundle, form.text("keeps"))
    source = await visit.read(_source_id, form.text("source"))
    if source != bundle.source_id:
        message = "another source needs its own description: choose a file, or paste it"
        raise ValidationFailed([Detail(path="$.openapi", message=message)])
    given = await _given(visit, bundle)
    return given.openapi if given else None


async def _given(visit: Visit, bundle: StoredBundle) -> Given | None:
    return await visit.house.db.run(find_given, visit.house.blobs, bundle)


def _cluster(tx: Tx, me: Me, cluster_id: str) -> tuple[Cluster, StoredBundle | None]:
    if not is_id(cluster_id):
        raise NotFound("failed-search cluster")
    cluster = cluster_store.get_cluster(tx, me.org_id, cluster_id, **scope_for(me, "90d"))
    return cluster, service.find_active(tx, cluster.source_id, cluster.environment)


def _bundle(tx: Tx, me: Me, bundle_id: str) -> StoredBundle:
    return service.get_visible(tx, me.signed_in, bundle_id)


def _source_id(tx: Tx, me: Me, named: str) -> str:
    return service.find_source(tx, me.signed_in, named).id


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
