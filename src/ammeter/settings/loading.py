"""From the environment to settings, or to one clear line about what is wrong with it."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings

from ammeter.base.errors import SettingsError
from ammeter.base.logs import blank_secrets
from ammeter.base.text import nearest
from ammeter.settings.client import ClientSettings
from ammeter.settings.names import PREFIX
from ammeter.settings.server import Settings

_NOT_SETTINGS = ("AMMETER_TEST_",)

S = TypeVar("S", Settings, ClientSettings)


def load_settings(**overrides: Any) -> Settings:
    """Settings from the environment, command-line values first; SettingsError in one line."""
    return _load(Settings, overrides)


def seconds_in_environment(name: str) -> float | None:
    """The number in a variable that a manifest names as its script timeout; None where there is none."""
    try:
        seconds = float(os.environ.get(name, ""))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None


def load_client_settings(**overrides: Any) -> ClientSettings:
    return _load(ClientSettings, overrides)


def _load(kind: type[S], overrides: dict[str, Any]) -> S:
    _refuse_near_misses()
    try:
        return kind(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = PREFIX + str(first["loc"][0]).upper()
        given = blank_secrets(repr(first["input"]))
        shown = "" if _is_secret(kind, str(first["loc"][0])) else f" (it is {given})"
        reason = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{name}: {reason}{shown}. See docs/settings.md.") from None


def _is_secret(kind: type[BaseSettings], field: str) -> bool:
    return kind.model_fields[field].annotation is SecretStr


def _refuse_near_misses() -> None:
    known = {PREFIX + name.upper() for kind in (Settings, ClientSettings) for name in kind.model_fields}
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known and not name.startswith(_NOT_SETTINGS):
            meant = nearest(name, known)
            if meant:
                raise SettingsError(f"{name} is not a setting. Did you mean {meant}?")
