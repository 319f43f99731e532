"""What Harbour Books has on its shelves when the demo starts: always the same books, people and orders."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random

from ammeter.doors.demo_api.model import Author, Book, Customer, Order, OrderItem, Review

_OPENED_AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

_AUTHORS = """
Ines Calderon|1961|Portugal|Writes about lighthouse keepers and the people who miss them.
Tomas Lindqvist|1974|Sweden|A former ferry captain who turned to crime novels.
Amara Okafor|1983|Nigeria|Known for sea voyages that go wrong in instructive ways.
Greta Hollander|1950|Netherlands|Historian of dikes, polders and stubborn farmers.
Haruto Mori|1979|Japan|Cooks, fishes and writes about both.
Siobhan Kerr|1968|Ireland|Poet of rain.
Luca Ferrante|1990|Italy|Young adult adventures on very old ships.
Nadia Rahmani|1971|Morocco|Science writer; tides, plankton and the moon.
Pavel Dvorak|1958|Czechia|Writes about the sea from a country without one.
Elena Vasquez|1986|Chile|Field guides, drawn by hand.
Magnus Thorsen|1945|Norway|Polar diaries, his own and other people's.
Priya Nair|1981|India|Family sagas of a spice port.
"""

_BOOKS = """
The Lamp at Cabo Raso|1|fiction|2004|312|1490
A Keeper's Winter|1|fiction|2011|268|1390
Letters Nobody Rowed Ashore|1|fiction|2019|344|1690
The Last Ferry to Visby|2|crime|2008|402|1290
Cold Anchorage|2|crime|2012|388|1290
The Harbour Master's Alibi|2|crime|2016|421|1490
Fog Signal|2|crime|2022|367|1790
Eleven Days to Lagos|3|adventure|2014|296|1390
The Wrong Current|3|adventure|2018|331|1590
Salt on the Ledger|3|fiction|2023|352|1890
Below Sea Level|4|history|1992|512|2490
A Short History of Long Walls|4|history|2001|288|1990
Who Moved the River|4|history|2015|376|2290
One Knife, One Fish|5|cooking|2013|224|2690
Broth|5|cooking|2017|196|2390
The Quiet Market|5|cooking|2021|240|2890
Seventeen Kinds of Rain|6|poetry|1999|96|1090
Tidewrack|6|poetry|2010|112|1190
The Umbrella Psalms|6|poetry|2020|104|1290
The Boy Who Stole a Schooner|7|young-adult|2016|288|990
Return of the Schooner|7|young-adult|2018|304|990
Schooner's End|7|young-adult|2021|336|1190
Why the Sea Goes Out|8|science|2009|264|1890
Plankton: A Love Story|8|science|2015|232|1790
The Moon's Long Arm|8|science|2022|298|2190
An Ocean, Imagined|9|fiction|1988|178|1090
Postcards to the Baltic|9|fiction|1996|204|1190
Shells of the Southern Coast|10|nature|2012|416|3290
Birds That Follow Boats|10|nature|2017|384|3190
A Pocket Guide to Driftwood|10|nature|2023|160|1490
White Log|11|travel|1979|340|1690
The Ice Remembers|11|travel|1994|366|1790
Sledge Dogs I Have Known|11|travel|2003|212|1490
Pepper and Monsoon|12|fiction|2010|528|1790
The House on Jetty Road|12|fiction|2015|476|1690
Cardamom Accounts|12|fiction|2020|498|1890
Knots for Nervous Sailors|7|adventure|2019|144|890
Maps of Places That Moved|4|history|2019|320|2790
The Night Pilot|2|crime|2005|355|1190
Gull Street|1|fiction|2007|240|1290
"""

_CUSTOMERS = """
Ada Brandt|Hamburg
Bruno Sato|Lisbon
Chiara Novak|Trieste
Dov Larsen|Bergen
Esi Mensah|Accra
Finn O'Dowd|Galway
Gita Rao|Kochi
Hugo Marchetti|Genoa
Isla Petrov|Varna
Jonas Weiss|Rostock
Kaya Demir|Izmir
Leila Haddad|Tangier
Mateo Rios|Valparaiso
Noor Aziz|Karachi
Oskar Lund|Gothenburg
Paloma Cruz|Cadiz
"""

_OPINIONS = (
    (5, "Read it twice before the ferry docked."),
    (4, "Slow in the middle, like the tide it describes."),
    (5, "My father stole my copy. I bought another."),
    (3, "Fine, but I expected more boats."),
    (4, "Made me want to learn to row."),
    (2, "The map at the front is upside down."),
)


def authors() -> dict[str, Author]:
    rows = [line.split("|") for line in _AUTHORS.split("\n") if line]
    made = [
        Author(id=f"au_{n:04}", name=name, born_in=int(born), country=country, about=about)
        for n, (name, born, country, about) in enumerate(rows, 1)
    ]
    return {author.id: author for author in made}


def books() -> dict[str, Book]:
    chance = Random(8321)  # noqa: S311 - the same shelves every time, not a secret
    made = []
    for n, line in enumerate((line for line in _BOOKS.split("\n") if line), 1):
        title, author, genre, year, pages, price = line.split("|")
        made.append(
            Book(
                id=f"bk_{n:04}",
                title=title,
                author_id=f"au_{int(author):04}",
                isbn=_isbn(n),
                genre=genre,
                price_cents=int(price),
                stock=chance.choice((0, 1, 2, 4, 7, 12, 25)),
                pages=int(pages),
                published_on=date(int(year), chance.randint(1, 12), chance.randint(1, 28)),
            )
        )
    return {book.id: book for book in made}


def customers() -> dict[str, Customer]:
    rows = [line.split("|") for line in _CUSTOMERS.split("\n") if line]
    made = [
        Customer(
            id=f"cu_{n:04}",
            name=name,
            email=f"{name.split()[0].lower()}@{city.lower()}.example",
            city=city,
            loyalty_points=n * 35 % 400,
            joined_at=_OPENED_AT + timedelta(days=3 * n),
        )
        for n, (name, city) in enumerate(rows, 1)
    ]
    return {customer.id: customer for customer in made}


def orders(shelf: dict[str, Book], people: dict[str, Customer]) -> dict[str, Order]:
    chance = Random(2026)  # noqa: S311
    made = []
    for n in range(1, 61):
        chosen = chance.sample(sorted(shelf), k=chance.randint(1, 3))
        placed_at = _OPENED_AT + timedelta(days=2 * n, minutes=chance.randint(0, 480))
        items = [
            OrderItem(book_id=book, quantity=chance.randint(1, 2), unit_price_cents=shelf[book].price_cents)
            for book in chosen
        ]
        made.append(
            Order(
                id=f"or_{n:04}",
                customer_id=chance.choice(sorted(people)),
                status="cancelled" if n % 11 == 0 else "shipped" if n <= 48 else "placed",
                items=items,
                total_cents=sum(item.quantity * item.unit_price_cents for item in items),
                note="Please wrap it." if n % 9 == 0 else None,
                placed_at=placed_at,
                updated_at=placed_at + timedelta(hours=20),
            )
        )
    return {order.id: order for order in made}


def reviews(shelf: dict[str, Book], people: dict[str, Customer]) -> dict[str, Review]:
    chance = Random(42)  # noqa: S311
    made: list[Review] = []
    for book in sorted(shelf):
        for person in chance.sample(sorted(people), k=chance.randint(0, 5)):
            stars, text = chance.choice(_OPINIONS)
            made.append(
                Review(
                    id=f"re_{len(made) + 1:04}",
                    book_id=book,
                    customer_id=person,
                    stars=stars,
                    text=text,
                    written_at=_OPENED_AT + timedelta(days=chance.randint(40, 160)),
                )
            )
    return {review.id: review for review in made}


def _isbn(n: int) -> str:
    digits = f"978000{n:06}"
    check = -sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10
    return f"{digits}{check}"
