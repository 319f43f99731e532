"""The shop itself, in memory: it starts with the seed, takes orders and forgets all of it at the next start.

Whatever it refuses is a ShopError with the status and the words of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from ammeter.doors.demo_api import seed
from ammeter.doors.demo_api.model import (
    Book,
    BookChange,
    Customer,
    CustomerChange,
    NewBook,
    NewCustomer,
    NewOrder,
    NewReview,
    Order,
    OrderChange,
    OrderItem,
    Review,
)

T = TypeVar("T")

_MOST_ROWS = 5_000


class ShopError(Exception):
    def __init__(
        self, status: int, code: str, message: str, fields: Sequence[Mapping[str, str]] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = list(fields)


class Shop:
    def __init__(self) -> None:
        self.authors = seed.authors()
        self.books = seed.books()
        self.customers = seed.customers()
        self.orders = seed.orders(self.books, self.customers)
        self.reviews = seed.reviews(self.books, self.customers)
        self._last = {
            "bk": len(self.books),
            "cu": len(self.customers),
            "or": len(self.orders),
            "re": len(self.reviews),
        }

    def add_book(self, new: NewBook) -> Book:
        self._known("author_id", self.authors, new.author_id)
        if any(book.isbn == new.isbn for book in self.books.values()):
            raise ShopError(409, "isbn_taken", f"There is a book with the ISBN {new.isbn} already.")
        return _add(self.books, Book(id=self._new_id("bk"), **new.model_dump()))

    def change_book(self, book_id: str, change: BookChange) -> Book:
        book = get(self.books, "book", book_id)
        self.books[book_id] = book.model_copy(update=_given(change))
        return self.books[book_id]

    def find_books(self, words: str) -> list[tuple[Book, float]]:
        """Books with these words in title, author or genre, best first."""
        wanted = words.lower().split()
        found = []
        for book in self.books.values():
            title = book.title.lower()
            rest = f"{self.authors[book.author_id].name} {book.genre}".lower()
            score = sum(2.0 * (word in title) + 1.0 * (word in rest) for word in wanted)
            if score:
                found.append((book, round(score / (3 * len(wanted)), 3)))
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))

    def add_customer(self, new: NewCustomer) -> Customer:
        self._free_email(new.email)
        made = Customer(id=self._new_id("cu"), loyalty_points=0, joined_at=_now(), **new.model_dump())
        return _add(self.customers, made)

    def change_customer(self, customer_id: str, change: CustomerChange) -> Customer:
        customer = get(self.customers, "customer", customer_id)
        if change.email is not None and change.email != customer.email:
            self._free_email(change.email)
        self.customers[customer_id] = customer.model_copy(update=_given(change))
        return self.customers[customer_id]

    def place_order(self, new: NewOrder) -> Order:
        self._known("customer_id", self.customers, new.customer_id)
        wanted: dict[str, int] = {}
        for n, item in enumerate(new.items):
            self._known(f"items[{n}].book_id", self.books, item.book_id)
            wanted[item.book_id] = wanted.get(item.book_id, 0) + item.quantity
        short = [
            {"field": f"items[{n}].quantity", "message": f"{self.books[item.book_id].stock} in stock"}
            for n, item in enumerate(new.items)
            if wanted[item.book_id] > self.books[item.book_id].stock
        ]
        if short:
            raise ShopError(422, "out_of_stock", "There are not enough copies; see fields.", short)
        items = [
            OrderItem(
                book_id=item.book_id,
                quantity=item.quantity,
                unit_price_cents=self.books[item.book_id].price_cents,
            )
            for item in new.items
        ]
        at = _now()
        order = Order(
            id=self._new_id("or"),
            customer_id=new.customer_id,
            status="placed",
            items=items,
            total_cents=sum(item.quantity * item.unit_price_cents for item in items),
            note=new.note,
            placed_at=at,
            updated_at=at,
        )
        _add(self.orders, order)
        self._take(items, sign=-1)
        return order

    def change_order(self, order_id: str, change: OrderChange) -> Order:
        return self._settle(order_id, "changed", note=change.note)

    def cancel_order(self, order_id: str) -> Order:
        order = self._settle(order_id, "cancelled", status="cancelled")
        self._take(order.items, sign=1)
        return order

    def add_review(self, book_id: str, new: NewReview) -> Review:
        get(self.books, "book", book_id)
        self._known("customer_id", self.customers, new.customer_id)
        review = Review(id=self._new_id("re"), book_id=book_id, written_at=_now(), **new.model_dump())
        return _add(self.reviews, review)

    def remove_review(self, book_id: str, review_id: str) -> None:
        get(self.books, "book", book_id)
        if get(self.reviews, "review", review_id).book_id != book_id:
            raise _missing("review", review_id)
        del self.reviews[review_id]

    def sales(self, first: datetime, last: datetime) -> list[dict[str, Any]]:
        """Copies and money by genre, of orders that were not cancelled."""
        sold: dict[str, dict[str, Any]] = {}
        for order in self.orders.values():
            if order.status == "cancelled" or not first <= order.placed_at < last:
                continue
            for item in order.items:
                genre = self.books[item.book_id].genre
                row = sold.setdefault(genre, {"genre": genre, "copies": 0, "revenue_cents": 0})
                row["copies"] += item.quantity
                row["revenue_cents"] += item.quantity * item.unit_price_cents
        return sorted(sold.values(), key=lambda row: -int(row["revenue_cents"]))

    def _new_id(self, prefix: str) -> str:
        # Counted apart from the rows: the id of a removed one is not given again.
        self._last[prefix] += 1
        return f"{prefix}_{self._last[prefix]:04}"

    def _settle(self, order_id: str, what: str, **values: Any) -> Order:
        order = get(self.orders, "order", order_id)
        if order.status != "placed":
            message = f"The order {order_id} is {order.status}; only a placed order can be {what}."
            raise ShopError(409, "order_settled", message)
        self.orders[order_id] = order.model_copy(update={**values, "updated_at": _now()})
        return self.orders[order_id]

    def _take(self, items: Sequence[OrderItem], *, sign: int) -> None:
        for item in items:
            book = self.books[item.book_id]
            self.books[book.id] = book.model_copy(update={"stock": book.stock + sign * item.quantity})

    def _known(self, field: str, rows: Mapping[str, Any], row_id: str) -> None:
        if row_id not in rows:
            fields = [{"field": field, "message": f"there is no {row_id!r}"}]
            raise ShopError(
                422, "invalid", "The request names something that is not there; see fields.", fields
            )

    def _free_email(self, email: str) -> None:
        if any(customer.email == email for customer in self.customers.values()):
            raise ShopError(409, "email_taken", f"There is a customer with the address {email} already.")


def get(rows: Mapping[str, T], kind: str, row_id: str) -> T:
    if row_id not in rows:
        raise _missing(kind, row_id)
    return rows[row_id]


def _missing(kind: str, row_id: str) -> ShopError:
    return ShopError(404, "not_found", f"There is no {kind} {row_id!r}.")


def _add(rows: dict[str, Any], row: T) -> T:
    if len(rows) >= _MOST_ROWS:
        raise ShopError(409, "full", "The demo's shelves are full; it starts anew with the server.")
    rows[row.id] = row  # type: ignore[attr-defined]
    return row


def _given(change: BookChange | CustomerChange) -> dict[str, Any]:
    return {name: value for name, value in change.model_dump().items() if value is not None}


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
