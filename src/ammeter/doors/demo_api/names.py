"""What the demo is called, for those who set it up; imports nothing, so that commands start quickly."""

from __future__ import annotations

DEMO_BASE = "/demo-api"
DEMO_ORG = "demo"
DEMO_SECRET = "DEMO_API_TOKEN"  # noqa: S105 - a name, not a value
