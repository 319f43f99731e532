"""The area of bundles. Uploading comes before reading one: its address looks like an id's."""

from __future__ import annotations

from ammeter.doors.dashboard.bundles import upload, versions
from ammeter.doors.dashboard.site import Area, Entry

AREA = Area(
    entry=Entry(section="Build", label="Bundles", path="/bundles", icon="bundle"),
    views=(*upload.VIEWS, *versions.VIEWS),
)
