"""How topics come from each other, and which are one thing that recurs. Pure.

No id ever changes hands: a topic that is merged into another keeps its own, and so does the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from ammeter.engines.search.embed import unit_rows
from ammeter.features.insights.topics import Centre

SAME = 0.90
"""Two topics whose centres point so nearly the same way are one."""
BESIDE = 0.72
"""A new topic whose centre is so near to an older one's has grown out of it."""
MIN_RECURRENCES = 8
_SHORTEST = timedelta(minutes=1)
_REGULAR_SHARE = 0.8


def merges(centres: Sequence[Centre], kept: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of a topic and the older one that it goes into; none of `kept` goes. Ids sort by age."""
    if len(centres) < 2:
        return []
    ordered = sorted(centres, key=lambda centre: centre.id)
    rows = unit_rows(np.stack([centre.total for centre in ordered]))
    likeness = np.triu(rows @ rows.T, k=1)
    gone: dict[str, str] = {}
    for older, younger in np.argwhere(likeness >= SAME).tolist():
        old, young = ordered[older].id, ordered[younger].id
        if young not in kept and young not in gone:
            gone[young] = gone.get(old, old)
    return list(gone.items())


def grown_out_of(new: Centre, centres: Sequence[Centre]) -> str | None:
    """The older topic that a new one lies beside."""
    if not centres:
        return None
    rows = unit_rows(np.stack([new.total, *(centre.total for centre in centres)]))
    likeness = rows[1:] @ rows[0]
    nearest = int(likeness.argmax())
    return centres[nearest].id if likeness[nearest] >= BESIDE else None


def is_recurring(times: Sequence[datetime]) -> bool:
    """Whether the same thing, asked for at these times by one key, comes at regular intervals as a program's
    does. People are not that punctual."""
    if len(times) < MIN_RECURRENCES:
        return False
    gaps = [after - before for before, after in pairwise(sorted(times))]
    usual = sorted(gaps)[len(gaps) // 2]
    if usual < _SHORTEST:
        return False
    regular = sum(0.8 * usual <= gap <= 1.2 * usual for gap in gaps)
    return regular >= _REGULAR_SHARE * len(gaps)
