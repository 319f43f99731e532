"""The one place where parts are put together: settings in, a House out.

No part finds another by itself; who needs something gets it here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ammeter.engines.buckets import Buckets, Policy
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.features.orgs.keys import LastUsed
from ammeter.features.secrets.sealing import open_key_ring
from ammeter.features.secrets.service import Secrets
from ammeter.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    settings: Settings
    db: Database
    secrets: Secrets
    buckets: Buckets
    api_policy: Policy
    last_used: LastUsed

    def close(self) -> None:
        self.last_used.flush()
        self.db.close()


def open_house(settings: Settings) -> House:
    """Connect, migrate, check the sealing keys. Every process starts here, commands too."""
    db = Database(settings.database, threads=settings.database_threads)
    migrate(db)
    ring = open_key_ring(
        setting=settings.sealing_keys.get_secret_value(), file=settings.data_dir / "sealing.key"
    )
    secrets = Secrets(ring)
    with db.read() as tx:
        secrets.check(tx)
    return House(
        settings=settings,
        db=db,
        secrets=secrets,
        buckets=Buckets(db),
        api_policy=Policy(name="api", burst=settings.rate_api_burst, per_second=settings.rate_api_per_second),
        last_used=LastUsed(db),
    )
