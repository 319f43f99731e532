"""From a slug to what is served there: the row is read at every request, so that a promotion holds at once on
every node; what a bundle's bytes mean is kept by digest, as bytes never change.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ammeter.base.errors import FeatureDisabled, InsufficientRole, NotFound
from ammeter.base.ids import is_id
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.compiler.bundle import Bundle, unpack
from ammeter.engines.compiler.manifest import Manifest
from ammeter.engines.compiler.model import Card
from ammeter.engines.db.database import Tx
from ammeter.features.gateway import store
from ammeter.features.gateway.instructions import instructions
from ammeter.features.gateway.names import Tree, name_tree
from ammeter.features.gateway.served import ServedApi, served_api
from ammeter.features.orgs.model import Entitled, Role

if TYPE_CHECKING:
    from ammeter.engines.search.index import SearchIndex

DEFAULT_TIMEOUT_S = 30.0
_SLUG = re.compile(r"[a-z0-9-]{1,64}")
_ENVIRONMENT = re.compile(r"[a-z0-9-]{1,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes, for a caller who may go there."""

    org_id: str
    source_id: str
    slug: str
    environment: str
    bundle_id: str
    digest: str
    may_execute: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBundle:
    api: ServedApi
    manifest: Manifest
    cards: tuple[Card, ...]
    search: SearchIndex
    names: Tree
    sdk_js: str
    instructions: str
    timeout_s: float
    title: str
    version: str


def find_target(tx: Tx, principal: Entitled, slug: str, environment: str) -> Target:
    served = None
    if _SLUG.fullmatch(slug) and _ENVIRONMENT.fullmatch(environment):
        served = store.find_served(tx, slug, environment)
    if served is None or served.org_id != principal.org.id or not principal.may_touch(served.source_id):
        raise NotFound("source", hint="Check the slug in the address and the sources of your key.")
    if not principal.org.code_mode:
        raise FeatureDisabled("Code mode is off for this organization; its operator switches it on.")
    if served.status != "active":
        raise NotFound("source", hint="It is archived.")
    if served.bundle_id is None or served.digest is None:
        raise NotFound(
            f"active bundle in the environment {environment!r} of this source",
            hint="Upload one and promote it: ammeter bundle upload --promote.",
        )
    return Target(
        org_id=served.org_id,
        source_id=served.source_id,
        slug=slug,
        environment=environment,
        bundle_id=served.bundle_id,
        digest=served.digest,
        may_execute=principal.role >= Role.editor or served.viewers_may_execute,
    )


def find_preview(tx: Tx, principal: Entitled, slug: str, bundle_id: str) -> Target:
    """A stored bundle of the source, promoted or not, for whoever may promote it."""
    stored = None
    if _SLUG.fullmatch(slug) and is_id(bundle_id):
        stored = store.find_stored(tx, slug, bundle_id)
    if stored is None or stored.org_id != principal.org.id or not principal.may_touch(stored.source_id):
        raise NotFound("bundle", hint="Check the slug in the address and the id of the bundle.")
    if principal.role < Role.admin:
        raise InsufficientRole(
            f"To preview a bundle takes the role admin or above; yours is {principal.role.name}."
        )
    if not principal.org.code_mode:
        raise FeatureDisabled("Code mode is off for this organization; its operator switches it on.")
    if stored.status != "active":
        raise NotFound("source", hint="It is archived.")
    return Target(
        org_id=stored.org_id,
        source_id=stored.source_id,
        slug=slug,
        environment=stored.environment,
        bundle_id=bundle_id,
        digest=stored.digest,
        may_execute=True,
    )


class LiveBundles:
    """The bundles in memory, the most recently used ones; each is read once, whoever asks first."""

    def __init__(
        self, blobs: Blobs, *, capacity: int, seconds_of: Callable[[str], float | None] = lambda name: None
    ) -> None:
        self._blobs = blobs
        self._capacity = capacity
        self._seconds_of = seconds_of
        self._kept: OrderedDict[tuple[str, str], asyncio.Future[LiveBundle]] = OrderedDict()

    async def get(self, target: Target) -> LiveBundle:
        place = (target.digest, target.environment)
        future = self._kept.get(place)
        if future is None:
            future = asyncio.ensure_future(asyncio.to_thread(self._load, target))
            self._kept[place] = future
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(place)
            if future.done() and not future.cancelled() and future.exception() is None:
                return future.result()
        try:
            return await asyncio.shield(future)
        except BaseException:
            if future.done() and self._kept.get(place) is future:
                # A failure is not kept: the store may be back at the next request.
                del self._kept[place]
            raise

    def _load(self, target: Target) -> LiveBundle:
        return live_bundle(unpack(self._blobs.get(target.digest)), target.environment, self._seconds_of)


def live_bundle(bundle: Bundle, environment: str, seconds_of: Callable[[str], float | None]) -> LiveBundle:
    # Imported here: numpy is for servers that have something to search.
    from ammeter.engines.search.index import SearchIndex

    api = served_api(bundle, environment)
    named = api.manifest.script_timeout_env
    told = seconds_of(named) if named else None
    timeout_s = min(300.0, max(1.0, told)) if told is not None else DEFAULT_TIMEOUT_S
    vendor = api.manifest.vendor_name or bundle.api.title or "given"
    return LiveBundle(
        api=api,
        manifest=api.manifest,
        cards=bundle.cards,
        search=SearchIndex.load(bundle.search),
        names=name_tree(card.sdk_name for card in bundle.cards),
        sdk_js=bundle.sdk_js,
        instructions=instructions(api.manifest, vendor=vendor, index=bundle.index, timeout_s=timeout_s),
        timeout_s=timeout_s,
        title=bundle.api.title or api.manifest.vendor_name or "API",
        version=bundle.api.version or "0",
    )
