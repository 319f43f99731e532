"""Endpoints as an operator writes them."""

from __future__ import annotations

import pytest

from ammeter.engines.models.endpoints import Reachable, read_endpoints
from ammeter.engines.models.prices import Price


def test_endpoints_are_read_with_their_keys_and_prices() -> None:
    text = """{"local": {"baseUrl": "http://127.0.0.1:8080/v1", "names": ["qwen3"], "mode": "constrained"},
               "house": {"baseUrl": "https://models.example/v1", "key": "env:HOUSE_KEY",
                         "inputUsdPerMillion": 0.2, "outputUsdPerMillion": 0.8}}"""
    made = read_endpoints(text, {"HOUSE_KEY": "k", "OTHER": "x"})
    assert (made["local"].mode, made["local"].names, made["local"].key) == ("constrained", ("qwen3",), "")
    assert (made["house"].key, made["house"].price) == (
        "k",
        Price(input_per_million=0.2, output_per_million=0.8),
    )
    assert Reachable(vendor_keys={"openai": "o", "google": ""}, endpoints=made).secrets == ["o", "k"]
    assert read_endpoints("", {}) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Invalid JSON"),
        ("[]", "object"),
        ('{"local": {}}', "local.baseUrl: Field required"),
        ('{"local": {"baseUrl": "ftp://x"}}', "local.baseUrl"),
        ('{"local": {"baseUrl": "http://x/v1", "key": "sk-123"}}', "local.key"),
        ('{"local": {"baseUrl": "http://x/v1", "mod": "tools"}}', "local.mod"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_without_its_value(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        read_endpoints(text, {})
    assert "sk-123" not in str(error.value)
