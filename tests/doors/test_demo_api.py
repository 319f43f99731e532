"""Harbour Books, the demo's API: it does what its description says, for whoever has the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import validate
from starlette.testclient import TestClient

from ammeter.asgi import build_app
from ammeter.cli.first import demo_owner
from ammeter.doors.demo_api.app import DemoApp, demo_description
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_SECRET
from ammeter.doors.http.edge import Notes
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.manifest import Manifest
from ammeter.features.orgs import service
from ammeter.wiring import House
from tests.household import make_settings, opened_house

DESCRIPTION: dict[str, Any] = yaml.safe_load(demo_description())
TOKEN = "shop-token"
OPERATIONS = {
    (method.upper(), path): operation
    for path, item in DESCRIPTION["paths"].items()
    for method, operation in item.items()
    if method != "parameters"
}


class Shop:
    """A shop of the test's own; every answer is held to the description."""

    def __init__(self) -> None:
        async def find_token() -> str | None:
            return TOKEN

        self.app = DemoApp(find_token, report_s=0)
        self._client = TestClient(self._noted)

    async def _noted(self, scope: Any, receive: Any, send: Any) -> None:
        scope["ammeter"] = Notes("request")
        await self.app(scope, receive, send)

    def __call__(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        answer = self._client.request(method, path, headers={"authorization": f"Bearer {TOKEN}"}, **more)
        assert answer.status_code == status, answer.text
        told = described(method, path)["responses"][str(status)]
        told = resolve(told)
        if "content" not in told:
            assert answer.content == b""
            return None
        [(kind, content)] = told["content"].items()
        assert answer.headers["content-type"] == kind
        if kind != "application/json":
            return answer.content
        schema = {**content["schema"], "components": DESCRIPTION["components"]}
        Draft202012Validator(schema).validate(answer.json())
        return answer.json()


def resolve(value: dict[str, Any]) -> dict[str, Any]:
    found: Any = DESCRIPTION
    for step in value.get("$ref", "").split("/")[1:]:
        found = found[step]
    return found if "$ref" in value else value


def described(method: str, path: str) -> dict[str, Any]:
    steps = path.partition("?")[0].split("/")
    fixed_first = sorted(OPERATIONS, key=lambda place: "{" in place[1])
    for place in fixed_first:
        parts = place[1].split("/")
        pairs = zip(parts, steps, strict=False)
        if (place[0], len(parts)) == (method, len(steps)) and all(
            p in (s, f"{{{p[1:-1]}}}") for p, s in pairs
        ):
            found: dict[str, Any] = OPERATIONS[place]
            return found
    raise AssertionError(f"{method} {path} is not described")


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_the_description_is_valid_and_compiles_without_a_finding() -> None:
    validate(DESCRIPTION)
    compiled = compile_description(Description(openapi=demo_description(), manifest=Manifest()))
    assert compiled.findings == ()
    assert compiled.bundle is not None
    assert len(compiled.bundle.api.operations) == len(OPERATIONS) == 24
    kinds = {op.sdk_name: op.pagination.kind for op in compiled.bundle.api.operations if op.pagination}
    assert kinds["books.listBooks"] == kinds["orders.listOrders"] == "cursor"
    assert kinds["authors.listAuthors"] == kinds["customers.listCustomers"] == "page"


def test_every_operation_is_described_and_every_described_one_is_there(shop: Shop) -> None:
    routes = {(method, route.path) for route in shop.app.routes for method in route.methods or set()}
    assert {place for place in routes if place[0] != "HEAD"} == set(OPERATIONS)


def test_the_shelves_are_the_same_at_every_start(shop: Shop) -> None:
    for path in ("/books?limit=100", "/orders?limit=100", "/customers?per_page=50", "/authors?per_page=50"):
        assert shop("GET", path) == Shop()("GET", path)


def test_cursor_pages_give_every_row_once(shop: Shop) -> None:
    seen, path = [], "/books?limit=7"
    while True:
        page = shop("GET", path)
        seen += [book["id"] for book in page["items"]]
        if page["next_cursor"] is None:
            break
        path = f"/books?limit=7&cursor={page['next_cursor']}"
    assert seen == [book["id"] for book in shop("GET", "/books?limit=100")["items"]]
    assert len(seen) == len(set(seen)) == 40


def test_numbered_pages_give_every_row_once(shop: Shop) -> None:
    pages = [shop("GET", f"/authors?page={n}&per_page=5") for n in (1, 2, 3, 4)]
    assert [len(page["items"]) for page in pages] == [5, 5, 2, 0]
    assert [page["has_more"] for page in pages] == [True, True, False, False]
    assert {(page["total"], page["total_pages"]) for page in pages} == {(12, 3)}
    assert len({author["id"] for page in pages for author in page["items"]}) == 12


def test_books_are_filtered_found_added_and_changed(shop: Shop) -> None:
    crime = shop("GET", "/books?genre=crime&in_stock=true&max_price_cents=1300&author_id=au_0002")["items"]
    assert crime
    assert all(b["genre"] == "crime" and b["stock"] and b["price_cents"] <= 1300 for b in crime)
    assert all(book["stock"] == 0 for book in shop("GET", "/books?in_stock=false")["items"])
    hits = shop("GET", "/books/search?q=Schooner+ferrante&limit=2")
    assert (len(hits["items"]), hits["total"]) == (2, 4)
    assert "Schooner" in hits["items"][0]["book"]["title"]
    assert shop("GET", "/books/search?q=zeppelin")["total"] == 0
    new = {
        "title": "The Long Pier",
        "author_id": "au_0001",
        "genre": "fiction",
        "price_cents": 1590,
        "pages": 280,
        "isbn": "9780000009999",
        "published_on": "2026-05-01",
    }
    made = shop("POST", "/books", 201, json=new)
    assert shop("GET", f"/books/{made['id']}") == made == {**new, "id": "bk_0041", "stock": 0}
    assert shop("POST", "/books", 409, json=new)["error"]["code"] == "isbn_taken"
    assert shop("PATCH", f"/books/{made['id']}", json={"stock": 3})["stock"] == 3
    assert made["id"] in [book["id"] for book in shop("GET", "/authors/au_0001/books")]
    assert shop("GET", "/authors/au_0001")["name"] == "Ines Calderon"
    counted = {row["genre"]: row["books"] for row in shop("GET", "/genres")}
    assert sum(counted.values()) == 41


def test_a_cover_is_an_image_of_its_own(shop: Shop) -> None:
    one, two = shop("GET", "/books/bk_0001/cover"), shop("GET", "/books/bk_0002/cover")
    assert one.startswith(b"\x89PNG\r\n\x1a\n")
    assert one != two


def test_an_order_takes_copies_and_a_cancelled_one_gives_them_back(shop: Shop) -> None:
    book = shop("GET", "/books?in_stock=true")["items"][0]
    item = {"book_id": book["id"], "quantity": 1}
    order = shop("POST", "/orders", 201, json={"customer_id": "cu_0001", "items": [item]})
    assert (order["status"], order["total_cents"]) == ("placed", book["price_cents"])
    assert shop("GET", f"/books/{book['id']}")["stock"] == book["stock"] - 1
    noted = shop("PATCH", f"/orders/{order['id']}", json={"note": "Wrap it."})
    assert shop("GET", f"/orders/{order['id']}") == noted
    assert noted["note"] == "Wrap it."
    last = shop("GET", "/customers/cu_0001/orders?per_page=50")["items"][-1]
    assert last == noted
    assert shop("POST", f"/orders/{order['id']}/cancel")["status"] == "cancelled"
    assert shop("GET", f"/books/{book['id']}")["stock"] == book["stock"]
    for answer in (
        shop("POST", f"/orders/{order['id']}/cancel", 409),
        shop("PATCH", f"/orders/{order['id']}", 409, json={"note": None}),
    ):
        assert answer["error"]["code"] == "order_settled"
    many = {"customer_id": "cu_0001", "items": [{"book_id": book["id"], "quantity": 15}] * 2}
    refused = shop("POST", "/orders", 422, json=many)["error"]
    assert refused["code"] == "out_of_stock"
    assert [field["field"] for field in refused["fields"]] == ["items[0].quantity", "items[1].quantity"]
    assert all(o["status"] == "placed" for o in shop("GET", "/orders?status=placed")["items"])
    assert all(o["placed_at"] >= "2026-04" for o in shop("GET", "/orders?placed_after=2026-04-01")["items"])


def test_customers_and_reviews_come_change_and_go(shop: Shop) -> None:
    new = {"name": "Quinn Arden", "email": "quinn@harbour.example"}
    made = shop("POST", "/customers", 201, json=new)
    assert shop("POST", "/customers", 409, json=new)["error"]["code"] == "email_taken"
    assert shop("PATCH", f"/customers/{made['id']}", json={"city": "Oban"})["city"] == "Oban"
    taken = {"email": "ada@hamburg.example"}
    assert shop("PATCH", f"/customers/{made['id']}", 409, json=taken)["error"]["code"] == "email_taken"
    assert shop("GET", f"/customers?email={new['email']}")["items"] == [
        shop("GET", f"/customers/{made['id']}")
    ]
    review = {"customer_id": made["id"], "stars": 5, "text": "Read it twice."}
    written = shop("POST", "/books/bk_0001/reviews", 201, json=review)
    assert shop("GET", "/books/bk_0001/reviews?per_page=50")["items"][-1] == written
    shop("DELETE", f"/books/bk_0002/reviews/{written['id']}", 404)
    shop("DELETE", f"/books/bk_0001/reviews/{written['id']}", 204)
    shop("DELETE", f"/books/bk_0001/reviews/{written['id']}", 404)
    assert shop("POST", "/books/bk_0001/reviews", 201, json=review)["id"] != written["id"]


def test_the_sales_report_leaves_cancelled_orders_out(shop: Shop) -> None:
    report = shop("GET", "/reports/sales")
    sold = [order for order in shop("GET", "/orders?limit=100")["items"] if order["status"] != "cancelled"]
    assert report["revenue_cents"] == sum(order["total_cents"] for order in sold)
    assert sum(row["revenue_cents"] for row in report["by_genre"]) == report["revenue_cents"]
    assert shop("GET", "/reports/sales?from=2030-01-01&to=2030-02-01")["by_genre"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/books?limit=0", None, "limit"),
        ("GET", "/books?limit=101", None, "limit"),
        ("GET", "/books?limit=ten", None, "limit"),
        ("GET", "/books?cursor=%C3%BC", None, "cursor"),
        ("GET", "/books?genre=romance", None, "genre"),
        ("GET", "/books?in_stock=1", None, "in_stock"),
        ("GET", "/books/search?q=%20", None, "q"),
        ("GET", "/orders?placed_after=soon", None, "placed_after"),
        ("GET", "/authors?page=0", None, "page"),
        ("POST", "/orders", {"customer_id": "cu_9999", "items": [{"book_id": "bk_0001"}]}, "customer_id"),
        ("POST", "/orders", {"customer_id": "cu_0001", "items": [{"book_id": "x"}]}, "items[0].book_id"),
        ("POST", "/orders", {"customer_id": "cu_0001", "items": []}, "items"),
        ("POST", "/customers", {"name": "x", "email": "nobody"}, "email"),
        ("PATCH", "/books/bk_0001", {"stok": 1}, "stok"),
        ("PATCH", "/books/bk_0001", {"stock": "1"}, "stock"),
        ("POST", "/books/bk_0001/reviews", {"customer_id": "cu_0001", "stars": 6, "text": "x"}, "stars"),
    ],
)
def test_what_is_not_valid_is_named(shop: Shop, method: str, path: str, body: Any, field: str) -> None:
    error = shop(method, path, 422, **({"json": body} if body else {}))["error"]
    assert [wrong["field"] for wrong in error["fields"]] == [field]


@pytest.mark.parametrize(
    "place",
    [
        *("GET /books/x", "GET /books/x/cover", "GET /books/x/reviews", "GET /authors/x"),
        *("GET /authors/x/books", "GET /customers/x", "GET /customers/x/orders", "GET /orders/x"),
        "POST /orders/x/cancel",
    ],
)
def test_what_is_not_there_is_a_404(shop: Shop, place: str) -> None:
    method, path = place.split()
    assert shop(method, path, 404)["error"]["code"] == "not_found"


@pytest.fixture
def demo(house: House) -> Iterator[tuple[TestClient, str]]:
    """A server with the demo, and the token of its shop."""
    settings = house.settings.model_copy(update={"demo": True})
    with opened_house(settings) as opened:
        assert demo_owner(opened) is not None
        with opened.db.read() as tx:
            token = opened.secrets.reveal(tx, service.get_org(tx, "demo").id, DEMO_SECRET)
        with TestClient(build_app(opened), base_url="http://127.0.0.1") as client:
            yield client, token


def test_the_demo_answers_to_its_token_alone(demo: tuple[TestClient, str]) -> None:
    client, token = demo
    path = f"{DEMO_BASE}/books/bk_0001"
    assert client.get(path, headers={"authorization": f"Bearer {token}"}).json()["id"] == "bk_0001"
    for header in (
        {},
        {"authorization": "Bearer no"},
        {"authorization": token},
        {"authorization": "Bearer é"},
    ):
        sent = [(name.encode(), value.encode("latin-1")) for name, value in header.items()]
        refused = client.get(path, headers=sent)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
        assert refused.headers["www-authenticate"] == "Bearer"
        assert token not in refused.text
    known = {"authorization": f"Bearer {token}"}
    assert client.get(f"{DEMO_BASE}/boats", headers=known).json()["error"]["code"] == "not_found"
    assert client.delete(f"{DEMO_BASE}/books", headers=known).status_code == 405
    assert client.post(f"{DEMO_BASE}/books", headers=known, content=b"{").status_code == 400


def test_a_server_without_the_demo_has_no_shop(tmp_path: Any) -> None:
    with opened_house(make_settings("", tmp_path)) as house:
        client = TestClient(build_app(house), base_url="http://127.0.0.1")
        assert client.get(f"{DEMO_BASE}/books").json()["error"]["message"] == "No such path."
