"""Scripts of different shapes, as agents write them against Harbour Books, each with what it must come to.

Expected values are worked out from the shop's own seed. Scripts that change something do so to things that
they made themselves, and no other script looks at those: they run in any order, beside each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ammeter.doors.demo_api.shop import Shop

SHOP = Shop()
BOOKS = list(SHOP.books.values())
SHIPPED = [order for order in SHOP.orders.values() if order.status == "shipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    code: str
    result: Any = None
    error: dict[str, str] | None = None
    """Words that each field of the error has in it."""
    calls: int | None = None
    check: Callable[[dict[str, Any]], bool] = lambda answer: True
    """Of the whole tool result."""


def reads() -> dict[str, Example]:
    by_author = [book.title for book in BOOKS if book.author_id == "au_0002"]
    cheap = [b.id for b in BOOKS if b.genre == "crime" and b.stock > 0 and b.price_cents <= 1500]
    return {
        "one thing": Example(
            code='return (await shop.books.getBook({ book_id: "bk_0003" })).title',
            result=SHOP.books["bk_0003"].title,
            calls=1,
        ),
        "fields of a list": Example(
            code="""
const page = await shop.books.listBooks({ limit: 3 });
return page.items.map(({ id, title }) => ({ id, title }));""",
            result=[{"id": book.id, "title": book.title} for book in BOOKS[:3]],
            calls=1,
        ),
        "the API filters": Example(
            code="""
const { items } = await shop.books.listBooks({ genre: "crime", in_stock: true, max_price_cents: 1500 });
return items.map(b => b.id);""",
            result=cheap,
            calls=1,
        ),
        "cursor pages with for await": Example(
            code="""
const ids = [];
for await (const order of shop.orders.listOrders({ status: "shipped", limit: 20 })) ids.push(order.id);
return { count: ids.length, last: ids.at(-1) };""",
            result={"count": len(SHIPPED), "last": SHIPPED[-1].id},
            calls=-(-len(SHIPPED) // 20),
        ),
        "numbered pages with for await": Example(
            code="""
let born = [];
for await (const author of shop.authors.listAuthors({ per_page: 5 })) born.push(author.born_in);
return Math.min(...born);""",
            result=min(author.born_in for author in SHOP.authors.values()),
        ),
        "pages by hand": Example(
            code="""
const all = [];
let cursor;
do {
  const page = await shop.orders.listOrders({ status: "shipped", limit: 15, ...(cursor ? { cursor } : {}) });
  all.push(...page.items);
  cursor = page.next_cursor;
} while (cursor);
return all.length;""",
            result=len(SHIPPED),
        ),
        "an early end of pages": Example(
            code="""
for await (const book of shop.books.listBooks({ limit: 5 })) {
  if (book.pages > 400) return book.title;
}
return null;""",
            result=next(book.title for book in BOOKS if book.pages > 400),
        ),
        "calls at once": Example(
            code="""
const ids = ["bk_0001", "bk_0002", "bk_0003", "bk_0004", "bk_0005"];
const books = await Promise.all(ids.map(book_id => shop.books.getBook({ book_id })));
return books.reduce((sum, b) => sum + b.price_cents, 0);""",
            result=sum(book.price_cents for book in BOOKS[:5]),
            calls=5,
        ),
        "some calls may fail": Example(
            code="""
const tried = await Promise.allSettled(
  ["bk_0001", "bk_9999"].map(book_id => shop.books.getBook({ book_id })));
return tried.map(t => t.status === "fulfilled" ? t.value.id : t.reason.status);""",
            result=["bk_0001", 404],
            calls=2,
        ),
        "search, then look closer": Example(
            code="""
const hits = await shop.books.searchBooks({ q: "lamp", limit: 1 });
const book = hits.items[0].book;
const author = await shop.authors.getAuthor({ author_id: book.author_id });
return `${book.title} by ${author.name}`;""",
            result=f"{BOOKS[0].title} by {SHOP.authors[BOOKS[0].author_id].name}",
            calls=2,
        ),
        "TypeScript with types": Example(
            code="""
interface Row { title: string; euros: number }
type Maybe<T> = T | null;
const books: Array<{ title: string; price_cents: number }> =
  await shop.authors.listAuthorBooks({ author_id: "au_0002" });
const rows: Row[] = books.map((b): Row => ({ title: b.title, euros: b.price_cents / 100 }));
const dearest: Maybe<Row> = rows.sort((a, b) => b.euros - a.euros)[0] ?? null;
return { titles: rows.map(r => r.title as string).sort(), euros: dearest!.euros } satisfies object;""",
            result={
                "titles": sorted(by_author),
                "euros": max(b.price_cents for b in BOOKS if b.author_id == "au_0002") / 100,
            },
        ),
        "helpers of its own": Example(
            code="""
const sum = (xs) => xs.reduce((a, b) => a + b, 0);
async function totals(id) {
  const page = await shop.customers.listCustomerOrders({ customer_id: id, per_page: 50 });
  return sum(page.items.map(o => o.total_cents));
}
class Best { constructor() { this.of = null; this.cents = -1 }
  offer(of, cents) { if (cents > this.cents) Object.assign(this, { of, cents }) } }
const best = new Best();
for (const id of ["cu_0001", "cu_0002", "cu_0003"]) best.offer(id, await totals(id));
return { of: best.of, cents: best.cents };""",
            result=_best_customer(),
            calls=3,
        ),
    }


def shapes() -> dict[str, Example]:
    sold: Counter[str] = Counter()
    for order in SHIPPED:
        for item in order.items:
            sold[item.book_id] += item.quantity
    first = SHIPPED[0]
    return {
        "an aggregation": Example(
            code="""
const sold = new Map();
for await (const o of shop.orders.listOrders({ status: "shipped", limit: 100 }))
  for (const i of o.items) sold.set(i.book_id, (sold.get(i.book_id) ?? 0) + i.quantity);
return [...sold].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 3);""",
            result=[list(pair) for pair in sorted(sold.items(), key=lambda p: (-p[1], p[0]))[:3]],
        ),
        "a Map and a Set as the result": Example(
            code="""
const { items } = await shop.books.listBooks({ author_id: "au_0002" });
return { genres: new Set(items.map(b => b.genre)), pages: new Map(items.map(b => [b.id, b.pages])) };""",
            result={
                "genres": list(dict.fromkeys(b.genre for b in BOOKS if b.author_id == "au_0002")),
                "pages": {b.id: b.pages for b in BOOKS if b.author_id == "au_0002"},
            },
        ),
        "dates": Example(
            code="""
const o = await shop.orders.getOrder({ order_id: "or_0001" });
const placed = new Date(o.placed_at), updated = new Date(o.updated_at);
return { hours: (updated - placed) / 36e5, day: placed.toISOString().slice(0, 10),
         weekday: placed.getUTCDay() };""",
            result={
                "hours": (first.updated_at - first.placed_at).total_seconds() / 3600,
                "day": first.placed_at.date().isoformat(),
                "weekday": (first.placed_at.weekday() + 1) % 7,
            },
        ),
        "money as people write it": Example(
            code="""
const b = await shop.books.getBook({ book_id: "bk_0001" });
return [(b.price_cents / 100).toLocaleString("en-US"), (1234.5).toFixed(2), "€" + b.price_cents / 100];""",
            result=["14.9", "1234.50", "€14.9"],
        ),
        "nested data": Example(
            code="""
const customers = (await shop.customers.listCustomers({ per_page: 2 })).items;
return Object.fromEntries(await Promise.all(customers.map(async c => [c.name, {
  city: c.city?.toUpperCase() ?? "?",
  orders: (await shop.customers.listCustomerOrders({ customer_id: c.id })).items
    .map(({ id, items: [{ book_id }] }) => ({ id, book_id })),
}])));""",
            result=_nested(),
            calls=3,
        ),
        "an early return": Example(
            code="""
const genres = await shop.books.listGenres();
if (!genres.some(g => g.genre === "romance")) return "no such genre";
return await shop.books.listBooks({ genre: "romance" });""",
            result="no such genre",
            calls=1,
        ),
        "a slow report": Example(
            code="""
const r = await shop.reports.getSalesReport({ from: "2026-01-01", to: "2026-05-01" });
return { cents: r.revenue_cents, best: r.by_genre[0].genre };""",
            result=_report(),
            calls=1,
        ),
        "a cover as a picture": Example(
            code='return await shop.books.getBookCover({ book_id: "bk_0001" })',
            check=lambda answer: (
                answer["content"][1]["type"] == "image"
                and answer["content"][1]["mimeType"] == "image/png"
                and answer["structuredContent"]["result"]["file"] == "attached as file 1"
            ),
            calls=1,
        ),
        "logs beside a result": Example(
            code='console.log("looking", { at: ["bk_0001"] }); console.error("hm"); return 1',
            result=1,
            check=lambda answer: (
                answer["structuredContent"]["logs"][0].startswith("looking")
                and answer["structuredContent"]["logs"][1] == "[error] hm"
            ),
        ),
        "far too much": Example(
            code="""
const books = [];
for await (const b of shop.books.listBooks({ limit: 100 })) books.push(b);
return Array(20).fill(books);""",
            check=lambda answer: (
                len(answer["content"][0]["text"]) < 30_000
                and "are shown" in answer["structuredContent"]["truncated"][0]
            ),
        ),
    }


def writes() -> dict[str, Example]:
    return {
        "from a customer to a cancelled order": Example(
            code="""
const tag = Date.now().toString(36) + Math.random().toString(36).slice(2);
const who = await shop.customers.createCustomer({ name: "Quinn Arden", email: `${tag}@harbour.example` });
const isbn = String(Math.floor(Math.random() * 1e13)).padStart(13, "0");
const book = await shop.books.createBook({ title: "Quiet " + tag, author_id: "au_0010", genre: "poetry",
  price_cents: 1000, pages: 10, isbn, published_on: "2026-05-01", stock: 3 });
const order = await shop.orders.createOrder({ customer_id: who.id,
  items: [{ book_id: book.id, quantity: 2 }] });
const left = (await shop.books.getBook({ book_id: book.id })).stock;
const noted = await shop.orders.updateOrder({ order_id: order.id, note: "Wrap it." });
const gone = await shop.orders.cancelOrder({ order_id: order.id });
const again = (await shop.books.getBook({ book_id: book.id })).stock;
return [order.total_cents, left, noted.note, gone.status, again];""",
            result=[2000, 1, "Wrap it.", "cancelled", 3],
            calls=7,
        ),
        "a review that comes and goes": Example(
            code="""
const made = await shop.reviews.createBookReview({ book_id: "bk_0040", customer_id: "cu_0001", stars: 5,
  text: "Read it twice." });
const gone = await shop.reviews.deleteBookReview({ book_id: "bk_0040", review_id: made.id });
return [made.stars, gone ?? "nothing"];""",
            result=[5, "nothing"],
            calls=2,
        ),
        "a conflict, looked at": Example(
            code="""
try {
  await shop.orders.cancelOrder({ order_id: "or_0001" });
} catch (e) {
  return { status: e.status, code: e.code, is: e instanceof Error };
}""",
            result={"status": 409, "code": "order_settled", "is": True},
            calls=1,
        ),
        "what was wrong, field by field": Example(
            code="""
try {
  await shop.orders.createOrder({ customer_id: "cu_0001", items: [{ book_id: "bk_0001", quantity: 20 },
    { book_id: "bk_0001", quantity: 20 }] });
} catch (e) {
  if (e.status !== 422) throw e;
  return [e.code, e.body.error.fields.map(f => f.field)];
}""",
            result=["out_of_stock", ["items[0].quantity", "items[1].quantity"]],
            calls=1,
        ),
        "a retry that gives up": Example(
            code="""
let tries = 0;
async function retry(work, times) {
  for (let wait = 1; ; wait *= 2) {
    try { tries++; return await work() }
    catch (e) { if (tries >= times) return e.status; await new Promise(r => setTimeout(r, wait)) }
  }
}
const status = await retry(() => shop.books.getBook({ book_id: "bk_9999" }), 3);
return { status, tries };""",
            result={"status": 404, "tries": 3},
            calls=3,
        ),
    }


def mistakes() -> dict[str, Example]:
    return {
        "a 404 that nobody catches": Example(
            code='return await shop.books.getBook({ book_id: "bk_9999" })',
            error={"name": "ApiError", "message": "answered 404", "hint": "Check the ids"},
            calls=1,
        ),
        "a forgotten await": Example(
            code="const page = shop.books.listBooks({ limit: 2 });\nreturn page.items.map(b => b.id);",
            error={"message": "undefined", "hint": "not awaited"},
        ),
        "a call that nobody waits for": Example(
            code='shop.books.getBook({ book_id: "bk_0001" });\nreturn "done"',
            check=lambda answer: (
                answer["structuredContent"]["result"] == "done"
                and "were not awaited" in str(answer["structuredContent"].get("diagnostics"))
            ),
        ),
        "a name near the right one": Example(
            code='return await shop.books.getBooks({ book_id: "bk_0001" })',
            error={
                "name": "unknown_name",
                "message": "Did you mean shop.books.getBook",
                "hint": "search_sdk",
            },
            calls=0,
        ),
        "an argument near the right one": Example(
            code='return await shop.books.getBook({ bookId: "bk_0001" })',
            error={"name": "TypeError", "message": "book_id", "hint": "search_sdk"},
            check=lambda answer: answer["structuredContent"]["calls"][0]["outcome"] == "refused",
        ),
        "the network by hand": Example(
            code='return await fetch("https://harbour.example/books")',
            error={"message": "fetch", "hint": "There is no network in the sandbox"},
            calls=0,
        ),
        "a missing brace": Example(
            code="const books = [1, 2;\nreturn books",
            error={"name": "SyntaxError", "hint": "does not parse"},
            calls=0,
        ),
    }


def _best_customer() -> dict[str, Any]:
    totals = {
        customer: sum(o.total_cents for o in SHOP.orders.values() if o.customer_id == customer)
        for customer in ("cu_0001", "cu_0002", "cu_0003")
    }
    best = max(totals, key=lambda customer: totals[customer])
    return {"of": best, "cents": totals[best]}


def _nested() -> dict[str, Any]:
    return {
        person.name: {
            "city": (person.city or "?").upper(),
            "orders": [
                {"id": order.id, "book_id": order.items[0].book_id}
                for order in SHOP.orders.values()
                if order.customer_id == person.id
            ][:10],
        }
        for person in list(SHOP.customers.values())[:2]
    }


def _report() -> dict[str, Any]:
    rows = SHOP.sales(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC))
    return {"cents": sum(row["revenue_cents"] for row in rows), "best": rows[0]["genre"]}


EXAMPLES = {**reads(), **shapes(), **writes(), **mistakes()}
