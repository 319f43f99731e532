"""Failed searches in clusters of paraphrases. Pure.

One failed search is enough for a cluster: it is a question that stayed open. A cluster keeps its id; later
searches join the one they are most like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ammeter.engines.search.embed import Floats
from ammeter.features.insights.topics import Book, Centre

PARAPHRASE = 0.56
"""Least mean likeness to a cluster's members of a search that joins it."""


def place_searches(book: Book, rows: Floats, new_id: Callable[[], str]) -> Sequence[tuple[str, bool]]:
    """The cluster of each search, and whether it is new; one after another, as one may be like the last."""
    found: list[tuple[str, bool]] = []
    for at in range(len(rows)):
        row = rows[at : at + 1]
        one = book.place(row)[0]
        if one is None:
            centre = Centre(id=new_id(), total=row[0].copy(), members=1, radius=PARAPHRASE)
            book.add(centre)
            found.append((centre.id, True))
        else:
            found.append((one, False))
    return found
