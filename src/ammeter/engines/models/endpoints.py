"""Which models a server can reach: the three vendors it has a key for, and endpoints that its operator names.

A model id is `provider/name`. An endpoint is anything that speaks OpenAI's chat completions: it has a base
URL, perhaps a key, perhaps a list of names, and a mode: `tools`, or `constrained` where it cannot call tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

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


class _Told(BaseModel):
    """One endpoint as an operator writes it."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)

    base_url: str = Field(pattern=r"^https?://\S+$")
    key: str = Field("", pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*)?$")
    names: list[str] = Field(default=[])
    mode: Literal["tools", "constrained"] = "tools"
    input_usd_per_million: float | None = Field(None, ge=0)
    output_usd_per_million: float | None = Field(None, ge=0)


def read_endpoints(text: str, environment: Mapping[str, str]) -> dict[str, Endpoint]:
    """Endpoints by provider from a JSON object, keys from the variables they name; ValueError in words."""
    if not text:
        return {}
    try:
        told = TypeAdapter(dict[str, _Told]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(
            f"{place}: {first['msg']}; write an object such as"
            ' {"local": {"baseUrl": "http://127.0.0.1:8080/v1", "key": "env:LOCAL_KEY"}}'
        ) from None
    return {provider: _endpoint(one, environment) for provider, one in told.items()}


def _endpoint(told: _Told, environment: Mapping[str, str]) -> Endpoint:
    price = None
    if told.input_usd_per_million is not None and told.output_usd_per_million is not None:
        price = Price(
            input_per_million=told.input_usd_per_million, output_per_million=told.output_usd_per_million
        )
    key = environment.get(told.key.removeprefix("env:"), "") if told.key else ""
    return Endpoint(base_url=told.base_url, key=key, names=tuple(told.names), mode=told.mode, price=price)


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
