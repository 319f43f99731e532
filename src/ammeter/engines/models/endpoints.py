"""Which models a server can reach: the three vendors it has a key for, and endpoints that its operator names.

A model id is `provider/name`. An endpoint is anything that speaks OpenAI's chat completions: it has a base
URL, perhaps a key, perhaps a list of names, and a mode: `tools`, or `constrained` where it cannot call tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ammeter.base.text import did_you_mean
from ammeter.engines.models.port import provider_of
from ammeter.engines.models.prices import Price
from ammeter.engines.models.scripted import REPLAY, SCRIPTED

VENDORS = ("openai", "anthropic", "google")
BUILTIN = (SCRIPTED, REPLAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    base_url: str
    key: str = ""
    names: tuple[str, ...] = ()
    mode: Literal["tools", "constrained"] = "tools"
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """Keys by vendor, endpoints by the name that comes before the slash."""

    vendor_keys: Mapping[str, str]
    endpoints: Mapping[str, Endpoint]

    def problem(self, model_id: str) -> str | None:
        """Why a model cannot be used here, and what to do; None where it can."""
        provider, _, name = model_id.partition("/")
        if provider == "builtin":
            known = ", ".join(BUILTIN)
            return None if model_id in BUILTIN else f"there is no model {model_id!r}; built in are {known}"
        if not name:
            return f"{model_id!r} is not a model id; write provider/name, such as openai/gpt-5 or {SCRIPTED}"
        if (endpoint := self.endpoints.get(provider)) is not None:
            if endpoint.names and name not in endpoint.names:
                hint = did_you_mean(name, endpoint.names)
                return f"the endpoint {provider!r} has no model {name!r}.{hint}"
            return None
        if provider in VENDORS:
            if self.vendor_keys.get(provider):
                return None
            return (
                f"this server has no key for {provider}; its operator can set"
                f" AMMETER_{provider.upper()}_API_KEY, or use {SCRIPTED}, which needs none"
            )
        providers = [*VENDORS, "builtin", *self.endpoints]
        return f"there is no provider {provider!r}.{did_you_mean(provider, providers)}"

    @property
    def secrets(self) -> list[str]:
        """What must never be seen in a trace."""
        keys = [*self.vendor_keys.values(), *(endpoint.key for endpoint in self.endpoints.values())]
        return [key for key in keys if key]


def same_vendor(one: str, other: str) -> bool:
    return provider_of(one) == provider_of(other) and provider_of(one) != "builtin"
