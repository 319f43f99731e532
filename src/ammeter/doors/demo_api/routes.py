"""Every operation of Harbour Books, by its place in the description."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ammeter.doors.demo_api.answers import (
    answer,
    cursor_page,
    day,
    flag,
    needed,
    numbered_page,
    one_of,
    sent,
    whole,
)
from ammeter.doors.demo_api.cover import cover_png
from ammeter.doors.demo_api.model import (
    GENRES,
    BookChange,
    CustomerChange,
    NewBook,
    NewCustomer,
    NewOrder,
    NewReview,
    OrderChange,
)
from ammeter.doors.demo_api.shop import Shop, get

_STATUSES = ("placed", "shipped", "cancelled")

Handler = Callable[[Request], Awaitable[Response]]


def shop_routes(shop: Shop, *, report_s: float) -> list[Route]:
    """Fixed paths stand before those with a part that varies."""
    handlers: dict[str, Handler] = {
        **_book_handlers(shop),
        **_review_handlers(shop),
        **_author_handlers(shop),
        **_customer_handlers(shop),
        **_order_handlers(shop),
        **_report_handlers(shop, report_s),
    }
    return [
        Route(place.split()[1], handler, methods=[place.split()[0]]) for place, handler in handlers.items()
    ]


def _book_handlers(shop: Shop) -> dict[str, Handler]:
    async def list_books(request: Request) -> Response:
        genre, in_stock = one_of(request, "genre", GENRES), flag(request, "in_stock")
        price = whole(request, "max_price_cents", default=10**9, most=10**6)
        author = request.query_params.get("author_id")
        rows = [
            book
            for book in shop.books.values()
            if (genre is None or book.genre == genre)
            and (in_stock is None or (book.stock > 0) == in_stock)
            and (author is None or book.author_id == author)
            and book.price_cents <= price
        ]
        return answer(cursor_page(request, rows))

    async def search_books(request: Request) -> Response:
        limit = whole(request, "limit", default=10, most=50)
        found = shop.find_books(needed(request, "q"))
        items = [{"book": book, "score": score} for book, score in found[:limit]]
        return answer({"items": items, "total": len(found)})

    async def get_book(request: Request) -> Response:
        return answer(get(shop.books, "book", request.path_params["book_id"]))

    async def create_book(request: Request) -> Response:
        return answer(shop.add_book(await sent(request, NewBook)), 201)

    async def update_book(request: Request) -> Response:
        change = await sent(request, BookChange)
        return answer(shop.change_book(request.path_params["book_id"], change))

    async def get_cover(request: Request) -> Response:
        book = get(shop.books, "book", request.path_params["book_id"])
        return Response(cover_png(book.id), media_type="image/png")

    async def list_genres(request: Request) -> Response:
        counted = [
            {"genre": genre, "books": sum(book.genre == genre for book in shop.books.values())}
            for genre in GENRES
        ]
        return answer(counted)

    return {
        "GET /books": list_books,
        "POST /books": create_book,
        "GET /books/search": search_books,
        "GET /books/{book_id}": get_book,
        "PATCH /books/{book_id}": update_book,
        "GET /books/{book_id}/cover": get_cover,
        "GET /genres": list_genres,
    }


def _review_handlers(shop: Shop) -> dict[str, Handler]:
    async def list_reviews(request: Request) -> Response:
        book = get(shop.books, "book", request.path_params["book_id"])
        rows = [review for review in shop.reviews.values() if review.book_id == book.id]
        return answer(numbered_page(request, rows))

    async def create_review(request: Request) -> Response:
        review = await sent(request, NewReview)
        return answer(shop.add_review(request.path_params["book_id"], review), 201)

    async def delete_review(request: Request) -> Response:
        shop.remove_review(request.path_params["book_id"], request.path_params["review_id"])
        return Response(status_code=204)

    return {
        "GET /books/{book_id}/reviews": list_reviews,
        "POST /books/{book_id}/reviews": create_review,
        "DELETE /books/{book_id}/reviews/{review_id}": delete_review,
    }


def _author_handlers(shop: Shop) -> dict[str, Handler]:
    async def list_authors(request: Request) -> Response:
        return answer(numbered_page(request, list(shop.authors.values())))

    async def get_author(request: Request) -> Response:
        return answer(get(shop.authors, "author", request.path_params["author_id"]))

    async def list_author_books(request: Request) -> Response:
        author = get(shop.authors, "author", request.path_params["author_id"])
        return answer([book for book in shop.books.values() if book.author_id == author.id])

    return {
        "GET /authors": list_authors,
        "GET /authors/{author_id}": get_author,
        "GET /authors/{author_id}/books": list_author_books,
    }


def _customer_handlers(shop: Shop) -> dict[str, Handler]:
    async def list_customers(request: Request) -> Response:
        email = request.query_params.get("email")
        rows = [person for person in shop.customers.values() if email in (None, person.email)]
        return answer(numbered_page(request, rows))

    async def create_customer(request: Request) -> Response:
        return answer(shop.add_customer(await sent(request, NewCustomer)), 201)

    async def get_customer(request: Request) -> Response:
        return answer(get(shop.customers, "customer", request.path_params["customer_id"]))

    async def update_customer(request: Request) -> Response:
        change = await sent(request, CustomerChange)
        return answer(shop.change_customer(request.path_params["customer_id"], change))

    async def list_customer_orders(request: Request) -> Response:
        customer = get(shop.customers, "customer", request.path_params["customer_id"])
        rows = [order for order in shop.orders.values() if order.customer_id == customer.id]
        return answer(numbered_page(request, rows))

    return {
        "GET /customers": list_customers,
        "POST /customers": create_customer,
        "GET /customers/{customer_id}": get_customer,
        "PATCH /customers/{customer_id}": update_customer,
        "GET /customers/{customer_id}/orders": list_customer_orders,
    }


def _order_handlers(shop: Shop) -> dict[str, Handler]:
    async def list_orders(request: Request) -> Response:
        status, since = one_of(request, "status", _STATUSES), day(request, "placed_after")
        rows = [
            order
            for order in shop.orders.values()
            if status in (None, order.status) and (since is None or order.placed_at >= since)
        ]
        return answer(cursor_page(request, rows))

    async def create_order(request: Request) -> Response:
        return answer(shop.place_order(await sent(request, NewOrder)), 201)

    async def get_order(request: Request) -> Response:
        return answer(get(shop.orders, "order", request.path_params["order_id"]))

    async def update_order(request: Request) -> Response:
        change = await sent(request, OrderChange)
        return answer(shop.change_order(request.path_params["order_id"], change))

    async def cancel_order(request: Request) -> Response:
        return answer(shop.cancel_order(request.path_params["order_id"]))

    return {
        "GET /orders": list_orders,
        "POST /orders": create_order,
        "GET /orders/{order_id}": get_order,
        "PATCH /orders/{order_id}": update_order,
        "POST /orders/{order_id}/cancel": cancel_order,
    }


def _report_handlers(shop: Shop, report_s: float) -> dict[str, Handler]:
    async def sales_report(request: Request) -> Response:
        first = day(request, "from") or datetime(2026, 1, 1, tzinfo=UTC)
        last = day(request, "to") or datetime(2027, 1, 1, tzinfo=UTC)
        # Slow on purpose: agents should meet an operation that takes its time.
        await asyncio.sleep(report_s)
        rows = shop.sales(first, last)
        report: dict[str, Any] = {
            "from": first.date().isoformat(),
            "to": last.date().isoformat(),
            "revenue_cents": sum(row["revenue_cents"] for row in rows),
            "by_genre": rows,
        }
        return answer(report)

    return {"GET /reports/sales": sales_report}
