"""`ammeter insights export`: telemetry of an organization as lines of JSON, straight from the database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated

import typer

from ammeter import __version__
from ammeter.base.clock import now
from ammeter.cli.house import OrgSlug, opened, operator
from ammeter.engines.db.database import Database
from ammeter.features.insights.export import Format, lines
from ammeter.features.orgs import audit, service
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event

_PAGE = 200


def export(
    org: OrgSlug,
    form: Annotated[Format, typer.Option("--format", help="jsonl: events; otlp: OTLP logs.")] = "jsonl",
    days: Annotated[int, typer.Option(min=1, max=3650, help="How many days back.")] = 90,
) -> None:
    """Print telemetry as lines of JSON, the oldest first; secrets were taken out before it was stored."""
    until = now()
    since = until - timedelta(days=days)
    with opened() as house:
        with house.db.write() as tx:
            org_id = service.get_org(tx, org).id
            audit.record(tx, operator(), org_id, "telemetry.export", org_id, format=form, days=days)
        for page in _pages(house.db, org_id, since, until):
            for line in lines(page, form, version=__version__):
                sys.stdout.write(line + "\n")


def _pages(db: Database, org_id: str, since: datetime, until: datetime) -> Iterator[list[Event]]:
    """Each page is read by itself: a long export holds no transaction open."""
    after = None
    while True:
        with db.read() as tx:
            page = store.list_org_events(tx, org_id, since=since, until=until, after=after, limit=_PAGE)
        if not page:
            return
        yield page
        after = (page[-1].at, page[-1].id)
