"""Packages that no source needs any more: taken from this machine once nobody has used them for some days."""

from __future__ import annotations

from datetime import datetime, timedelta

from ammeter.engines.db.database import Database
from ammeter.engines.hosting.host import Hosting
from ammeter.engines.hosting.port import Package
from ammeter.features.sources import store


def prune(db: Database, hosting: Hosting, *, keep_days: int, at: datetime) -> int:
    """How many went. With 0 days all of them stay."""
    if not keep_days:
        return 0
    with db.read() as tx:
        told = store.list_live_packages(tx)
    named = [Package(registry=one["registry"], name=one["name"], version=one.get("version")) for one in told]
    return hosting.prune(named, at - timedelta(days=keep_days))
