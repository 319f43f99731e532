"""`docs/settings.md` as the code has it. Written anew with: python -m tests.architecture.settings_page"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import AliasChoices, SecretStr
from pydantic_settings import BaseSettings

from ammeter.settings import PREFIX, CiSettings, ClientSettings, Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """# Settings

Every setting comes from the environment. A wrong value, or a name that is nearly one of these, stops the
start with one line. `ammeter serve` also takes `--host` and `--port`. This page is written from the code,
and a test holds it there.

"""

_CLIENT = """
## Commands that speak to a server

`ammeter bundle …` runs anywhere, and needs none of the settings above.

"""

_CI = """
Where an upload comes from is read from the variables of GitHub Actions, GitLab CI and Bitbucket Pipelines:
"""


def settings_page() -> str:
    return _HEAD + _table(Settings) + _CLIENT + _table(ClientSettings) + _CI + _ci_variables() + ".\n"


def _table(kind: type[BaseSettings]) -> str:
    rows = [
        f"| `{PREFIX}{name.upper()}` | {_shown(field.default)} | {field.description} |"
        for name, field in kind.model_fields.items()
    ]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows, ""])


def _ci_variables() -> str:
    words = []
    for field in CiSettings.model_fields.values():
        assert isinstance(field.validation_alias, AliasChoices)
        words.append(" or ".join(f"`{choice}`" for choice in field.validation_alias.choices))
    return ";\n".join(words)


def _shown(value: Any) -> str:
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    if plain in ("", (), None):
        return "empty"
    return f"`{str(plain).lower() if isinstance(plain, bool) else plain}`"


if __name__ == "__main__":
    PAGE.write_text(settings_page())
