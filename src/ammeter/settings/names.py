"""What all settings share: how their names begin, and what an address may look like."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

PREFIX = "AMMETER_"
_ORIGIN = re.compile(r"(?i)https?://[^\s/?#@]+/?")


def is_origin(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # A wrong port shows only when it is asked for.
        return bool(_ORIGIN.fullmatch(url) and parts.hostname and parts.port != 0)
    except ValueError:
        return False
