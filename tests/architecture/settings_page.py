"""`docs/settings.md` as the code has it. Written anew with: python -m tests.architecture.settings_page"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ammeter.settings import PREFIX, Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """# Settings

Every setting comes from the environment. A wrong value, or a name that is nearly one of these, stops the
start with one line. `ammeter serve` also takes `--host` and `--port`. This page is written from the code,
and a test holds it there.

| variable | default | meaning |
|---|---|---|
"""


def settings_page() -> str:
    rows = [
        f"| `{PREFIX}{name.upper()}` | {_shown(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _shown(value: Any) -> str:
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    if plain in ("", (), None):
        return "empty"
    return f"`{str(plain).lower() if isinstance(plain, bool) else plain}`"


if __name__ == "__main__":
    PAGE.write_text(settings_page())
