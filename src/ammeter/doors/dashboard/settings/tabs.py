"""The pages of the settings side by side, and what of them a role is shown."""

from __future__ import annotations

from ammeter.doors.dashboard.visit import Visit
from ammeter.features.orgs.model import Role

Tab = tuple[str, str, bool]

_TABS = (
    ("Organization", "/settings", Role.viewer),
    ("Members", "/settings/members", Role.viewer),
    ("API keys", "/settings/keys", Role.admin),
    ("Secrets", "/settings/secrets", Role.admin),
    ("Models", "/settings/models", Role.viewer),
    ("Features", "/settings/features", Role.viewer),
    ("Usage", "/settings/usage", Role.viewer),
    ("Audit log", "/settings/audit", Role.admin),
    ("Your profile", "/settings/profile", Role.viewer),
)


def tabs(visit: Visit) -> tuple[Tab, ...]:
    here = visit.request.url.path
    return tuple((label, path, path == here) for label, path, role in _TABS if visit.may(role))
