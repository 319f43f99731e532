"""Every setting, typed, from the environment (`AMMETER_…`); nothing else reads the environment.

A wrong value, or a name that is nearly one of ours, stops the start with one clear line.
`docs/settings.md` lists them all; a test holds the two together.
"""

from ammeter.settings.client import CiSettings, ClientSettings, GithubSettings, find_proxy
from ammeter.settings.loading import load_client_settings, load_settings, seconds_in_environment
from ammeter.settings.names import PREFIX
from ammeter.settings.server import Settings

__all__ = [
    "PREFIX",
    "CiSettings",
    "ClientSettings",
    "GithubSettings",
    "Settings",
    "find_proxy",
    "load_client_settings",
    "load_settings",
    "seconds_in_environment",
]
