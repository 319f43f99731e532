"""What a turn costs: tokens and a model id in, US dollars out, or None where no price is known.

Prices come from the package genai-prices, offline, and from what an operator says of an endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from ammeter.engines.models.port import provider_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens, as an operator states them."""

    input_per_million: float
    output_per_million: float


def cost_usd(
    model_id: str, *, input_tokens: int, output_tokens: int, stated: Price | None = None
) -> float | None:
    if stated is not None:
        return (input_tokens * stated.input_per_million + output_tokens * stated.output_per_million) / 1e6
    # Imported here: its table of prices costs a start time that only runs with models need.
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        name = model_id.partition("/")[2]
        return float(calc_price(usage, name, provider_id=provider_of(model_id)).total_price)
    except LookupError:
        return None
