"""A small shop's API as cards: what the search tests ask about."""

from __future__ import annotations

from typing import Any

from ammeter.engines.compiler.model import Card, Method


def card(method: Method, path: str, operation_id: str, summary: str = "", **more: Any) -> Card:
    group = path.strip("/").partition("/")[0] or "root"
    given: dict[str, Any] = {
        "sdk_name": f"{group}.{operation_id}",
        "tags": (group,),
        "description": "",
        "deprecated": False,
        "parameter_texts": (),
        "body_fields": (),
        "body_types": (),
        "response_fields": (),
        "response_types": (),
        "enums": (),
    }
    return Card(
        operation_id=operation_id,
        method=method,
        path=path,
        summary=summary,
        signature="",
        example=None,
        **(given | more),
    )


SHOP = (
    card("get", "/users", "listUsers", "List users", response_fields=("id", "email_address", "created_at")),
    card("post", "/users", "createUser", "Create a user", body_fields=(("email_address", "Where to write"),)),
    card("get", "/users/{user_id}", "getUser", "Get a user", response_fields=("id", "email_address")),
    card("delete", "/users/{user_id}", "deleteUser", "Delete a user"),
    card(
        "get",
        "/orders",
        "listOrders",
        "List orders",
        parameter_texts=(("shippedAfter", "Only orders shipped after this day"),),
        response_fields=("id", "total_amount"),
    ),
    card(
        "post",
        "/orders",
        "placeOrder",
        "Place an order",
        description="Buys everything in the basket.",
        body_fields=(("basketId", ""), ("giftWrapping", "")),
    ),
    card("get", "/orders/{order_id}", "getOrder", "Get an order", response_fields=("trackingNumber",)),
    card(
        "post", "/orders/{order_id}/refunds", "refundOrder", "Refund an order", body_fields=(("reason", ""),)
    ),
    card("get", "/products/search", "searchProducts", "Search products", response_fields=("id", "price")),
    card("get", "/products/{product_id}/reviews", "listReviews", "List reviews of a product"),
    card("put", "/organizations/{org}/settings", "setSettings", "Update organization settings"),
)
