"""The area of the settings."""

from __future__ import annotations

from ammeter.doors.dashboard.settings import audit, keys, members, organization, profile, secrets
from ammeter.doors.dashboard.site import Area, Entry

AREA = Area(
    entry=Entry(section="Manage", label="Settings", path="/settings", icon="settings"),
    views=(
        *organization.VIEWS,
        *members.VIEWS,
        *keys.VIEWS,
        *secrets.VIEWS,
        *audit.VIEWS,
        *profile.VIEWS,
    ),
)
