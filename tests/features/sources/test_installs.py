"""Packages go from this machine once no active source names them and nobody has used them for days."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from ammeter.base.clock import now
from ammeter.engines.egress.guard import Guard
from ammeter.engines.hosting.host import Hosting
from ammeter.features.sources import installs
from tests.evaluating import add_source
from tests.household import Household


def test_only_packages_of_active_sources_stay(household: Household, tmp_path: Path) -> None:
    hosting = Hosting(tmp_path, tool_environment={}, confinement="off", guard=lambda: Guard(()))
    for i, status in enumerate(("active", "archived")):
        package = {"registry": "pypi", "name": "notes", "version": f"1.{i}"}
        made = add_source(household.house, household.org.id, "", connection_config={"package": package})
        changed = household.call("PATCH", f"/mcp-servers/{made.id}", json={"status": status})
        assert changed.status_code == 200
        (tmp_path / "pypi" / "notes" / f"1.{i}").mkdir(parents=True)
    add_source(household.house, household.org.id, "https://notes.example/mcp")

    def left_after(days: float, keep_days: int = 30) -> list[str]:
        installs.prune(household.house.db, hosting, keep_days=keep_days, at=now() + timedelta(days=days))
        return sorted(os.listdir(tmp_path / "pypi" / "notes"))

    assert left_after(29) == ["1.0", "1.1"]
    assert left_after(4_000, keep_days=0) == ["1.0", "1.1"]
    assert left_after(31) == ["1.0"]
