"""What the demo's agents want of Harbour Books, in their own words; all names are invented.

A wish has the intents that state it, the searches that go with it and the operations that fulfil it. One
without operations is not to be had: its searches find nothing. Together they show every kind of gap.
"""

from __future__ import annotations

from dataclasses import dataclass

OPERATIONS: dict[str, tuple[str, str, str]] = {
    "listBooks": ("books.listBooks", "GET", "/books"),
    "createBook": ("books.createBook", "POST", "/books"),
    "searchBooks": ("books.searchBooks", "GET", "/books/search"),
    "getBook": ("books.getBook", "GET", "/books/bk_0031"),
    "updateBook": ("books.updateBook", "PATCH", "/books/bk_0031"),
    "getBookCover": ("books.getBookCover", "GET", "/books/bk_0031/cover"),
    "listBookReviews": ("reviews.listBookReviews", "GET", "/books/bk_0031/reviews"),
    "createBookReview": ("reviews.createBookReview", "POST", "/books/bk_0031/reviews"),
    "listGenres": ("books.listGenres", "GET", "/genres"),
    "listAuthors": ("authors.listAuthors", "GET", "/authors"),
    "getAuthor": ("authors.getAuthor", "GET", "/authors/au_0007"),
    "listAuthorBooks": ("authors.listAuthorBooks", "GET", "/authors/au_0007/books"),
    "listCustomers": ("customers.listCustomers", "GET", "/customers"),
    "createCustomer": ("customers.createCustomer", "POST", "/customers"),
    "getCustomer": ("customers.getCustomer", "GET", "/customers/cu_0012"),
    "updateCustomer": ("customers.updateCustomer", "PATCH", "/customers/cu_0012"),
    "listCustomerOrders": ("customers.listCustomerOrders", "GET", "/customers/cu_0012/orders"),
    "listOrders": ("orders.listOrders", "GET", "/orders"),
    "createOrder": ("orders.createOrder", "POST", "/orders"),
    "getOrder": ("orders.getOrder", "GET", "/orders/or_0104"),
    "updateOrder": ("orders.updateOrder", "PATCH", "/orders/or_0104"),
    "cancelOrder": ("orders.cancelOrder", "POST", "/orders/or_0104/cancel"),
    "getSalesReport": ("reports.getSalesReport", "GET", "/reports/sales"),
}
"""By id: name in the SDK, method, path of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    intents: tuple[str, ...]
    queries: tuple[str, ...]
    operations: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    """Beside the operations, what a search for them shows; for one that is not to be had, what is shown in
    vain."""
    missed: tuple[str, ...] = ()
    """Searches for the operations in words that the description does not have: they find nothing, and the
    agent gets there all the same."""
    label: str = ""
    """What a person has called the topic of it."""
    weight: int = 4
    fails: float = 0.08
    """How often a script fails."""
    growth: float = 1.0
    """How much more often it is wished for at the end of the three months than at their beginning."""


WISHES: tuple[Wish, ...] = (
    Wish(
        intents=(
            "Find books in stock under 20 euro",
            "List affordable books that can be bought now",
            "Show me books below 20 EUR that are available",
            "Which books in stock cost less than 20 euros?",
        ),
        queries=("list books", "books in stock price filter", "max_price_cents"),
        operations=("listBooks",),
        shown=("searchBooks", "getBook"),
        weight=10,
        fails=0.04,
    ),
    Wish(
        intents=(
            "Search the catalogue for books about sailing",
            "Find titles on lighthouses",
            "Look up books by words in the title",
            "Find a book about the sea for a gift",
        ),
        queries=("search books", "find book by title", "books search words"),
        operations=("searchBooks", "getBook"),
        shown=("listBooks",),
        weight=9,
        fails=0.05,
    ),
    Wish(
        intents=(
            "Place an order for a customer",
            "Order two copies of a book",
            "Buy a book for customer Marit Solvang",
            "Create an order with three items",
        ),
        queries=("create order", "place order", "buy book"),
        operations=("getCustomer", "createOrder"),
        shown=("listOrders", "getOrder"),
        weight=8,
        fails=0.22,
    ),
    Wish(
        intents=(
            "Cancel an order that has not been shipped",
            "Cancel order or_0104",
            "Stop the order of Joost van Dael",
        ),
        queries=("cancel order", "order cancel"),
        operations=("getOrder", "cancelOrder"),
        shown=("updateOrder",),
        label="Order cancellations",
        weight=5,
        fails=0.18,
    ),
    Wish(
        intents=(
            "Summarise sales of last month",
            "Report revenue by genre",
            "How much did the shop sell this quarter?",
            "Make the weekly sales summary",
            "Compare the turnover of this month with the last",
        ),
        queries=("sales report", "revenue by month", "reports"),
        operations=("getSalesReport",),
        shown=("listOrders",),
        missed=("turnover", "turnover figures", "quarterly turnover", "turnover this month"),
        weight=7,
        fails=0.06,
    ),
    Wish(
        intents=(
            "Read what readers say about a book",
            "Collect reviews of the newest novels",
            "Show the worst reviews of the last month",
        ),
        queries=("reviews of a book", "list reviews", "rating"),
        operations=("searchBooks", "listBookReviews"),
        shown=("createBookReview",),
        weight=6,
        fails=0.07,
    ),
    Wish(
        intents=(
            "Find the orders of a customer",
            "Show order history of Ines Calloway",
            "List all orders of customer cu_0012",
        ),
        queries=("orders of customer", "order history", "customer orders"),
        operations=("listCustomers", "listCustomerOrders"),
        shown=("listOrders",),
        weight=7,
        fails=0.06,
    ),
    Wish(
        intents=(
            "Change the delivery address of a customer",
            "Update the address of Teodor Blix",
            "Correct a customer's email",
        ),
        queries=("update customer", "change address", "customer email"),
        operations=("getCustomer", "updateCustomer"),
        shown=("createCustomer",),
        weight=4,
        fails=0.14,
    ),
    Wish(
        intents=(
            "Raise the price of all books of an author",
            "Set new prices for the autumn catalogue",
            "Adjust stock after the stocktaking",
        ),
        queries=("update book price", "change stock", "price_cents"),
        operations=("listAuthorBooks", "updateBook"),
        shown=("createBook", "listBooks"),
        weight=4,
        fails=0.12,
    ),
    Wish(
        intents=("Add a new title to the shelves", "Enter the new arrivals of this week"),
        queries=("create book", "add book"),
        operations=("listGenres", "createBook"),
        shown=("updateBook",),
        weight=3,
        fails=0.15,
    ),
    Wish(
        intents=(
            "Fetch the cover of a book for the shop window",
            "Put book covers on the poster of the month",
            "Get the cover picture of a book for the newsletter",
        ),
        queries=("book cover", "cover image"),
        operations=("searchBooks", "getBookCover"),
        shown=("getBook",),
        missed=("dust jacket", "dust jacket picture", "jacket artwork"),
        weight=3,
        fails=0.05,
    ),
    Wish(
        intents=(
            "Tell a customer how many points they have",
            "Check the loyalty points of Nadia Okafor",
            "See whether a customer has enough loyalty points",
        ),
        queries=("get customer", "customer details"),
        operations=("getCustomer",),
        shown=("listCustomers", "updateCustomer"),
        missed=("loyalty balance", "reward points", "reward points balance"),
        weight=3,
        fails=0.06,
    ),
    Wish(
        intents=("Sell a gift card", "Issue a gift voucher for 50 euro", "Redeem a gift card on an order"),
        queries=("gift card", "voucher", "create gift card", "redeem voucher code"),
        weight=4,
        growth=4.0,
    ),
    Wish(
        intents=("Refund an order in part", "Give money back for a damaged book", "Refund order or_0104"),
        queries=("refund", "refund order", "partial refund payment"),
        shown=("cancelOrder", "updateOrder"),
        weight=4,
        growth=1.5,
    ),
    Wish(
        intents=("Track the parcel of an order", "Where is the shipment of Ines Calloway?"),
        queries=("tracking number", "shipment status", "parcel tracking"),
        shown=("getOrder",),
        weight=3,
    ),
    Wish(
        intents=("Be told when an order is placed", "Subscribe to new orders"),
        queries=("webhook", "order events subscription"),
        weight=2,
        growth=2.0,
    ),
    Wish(
        intents=("Tell a visitor when the next ferry leaves", "Find the last ferry to the island"),
        queries=("ferry timetable", "ferry departures", "ferry schedule"),
        weight=2,
    ),
)

NIGHTLY = Wish(
    intents=("Nightly stock export",),
    queries=("list books",),
    operations=("listBooks",),
    shown=("getBook",),
    fails=0.01,
)
"""A program's, every night at the same hour."""
PROGRAM = ("stock-export", "1.0.0")

CONTEXTS = (
    "The user asked in chat and waits for the answer.",
    "Part of a weekly report for the shop's owner.",
    "A colleague at the till needs it now.",
    "",
)
CLIENTS = (
    ("claude-code", "2.1.4", 30),
    ("cursor", "1.9.2", 22),
    ("vscode-agent", "1.104.0", 14),
    ("harbour-helpdesk", "0.8.2", 22),
    ("till-assistant", "3.0.1", 12),
)
FAILURES = (
    ("ApiError", "409 Conflict: the book is sold out", 409),
    ("ApiError", "422: quantity must be at least 1", 422),
    ("ApiError", "404: there is no such record", 404),
    ("TypeError", "Cannot read properties of undefined (reading 'items')", None),
    ("Deadline", "The script took longer than 30 s and was ended.", None),
)
