"""Which topic an intent belongs to, and which intents make a new one. Pure: vectors in, numbers out.

A topic is the mean of its members. An intent joins the topic to whose members it is, on average, most alike,
if that is within the topic's own radius. The rest waits in a pool; intents there that are alike become a
topic when there are enough of them. What has waited long joins the topic of its neighbours. What has joined
never leaves: ids stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ammeter.engines.search.embed import Floats

ALIKE = 0.43
"""Two groups of the pool become one while their members' mean likeness is at least this."""
LEAST, MOST = 0.35, 0.45
"""No topic takes what is less like it than the first; none asks for more than the second."""
SPREAD = 2.0
"""How many standard deviations below its members' likeness a topic's radius ends."""
LEARNED = 200
"""So many members move a topic's centre; later ones join it without moving it."""
NEIGHBOURS = 5
"""So many of the nearest have a vote; most of them must be in one topic."""
_ROWS = 1_000


@dataclass(slots=True, kw_only=True)
class Centre:
    id: str
    total: Floats
    """Sum of the vectors of its first members."""
    members: int
    radius: float
    """Least mean likeness to its members of what may join."""

    @property
    def mean(self) -> Floats:
        mean: Floats = self.total / np.float32(max(self.members, 1))
        return mean


def centre_of(topic_id: str, rows: Floats) -> Centre:
    """Of a new topic with these members."""
    rows = rows[:LEARNED]
    total: Floats = rows.sum(axis=0, dtype=np.float32)
    return Centre(id=topic_id, total=total, members=len(rows), radius=_radius(rows, total))


def _radius(rows: Floats, total: Floats) -> float:
    if len(rows) < 2:
        return MOST
    # A member's likeness to the others, without itself.
    likeness = (rows @ total - 1) / (len(rows) - 1)
    return float(np.clip(likeness.mean() - SPREAD * likeness.std(), LEAST, MOST))


class Book:
    """The centres of topics or clusters, in memory, and who is nearest to whom."""

    def __init__(self, centres: Sequence[Centre], width: int) -> None:
        self.centres: list[Centre] = []
        self.moved: set[str] = set()
        """Those whose centre is another than when the book was opened."""
        self._means: Floats = np.zeros((max(64, 2 * len(centres)), width), np.float32)
        self._radii: Floats = np.zeros(len(self._means), np.float32)
        for centre in centres:
            self._append(centre)

    def add(self, centre: Centre) -> None:
        self._append(centre)
        self.moved.add(centre.id)

    def place(self, rows: Floats) -> list[str | None]:
        """The id of each row's topic, or None; those that join move the centres, after all were looked at."""
        count = len(self.centres)
        if not count or not len(rows):
            return [None] * len(rows)
        likeness = rows @ self._means[:count].T
        likeness[likeness < self._radii[:count]] = -1
        best = likeness.argmax(axis=1).tolist()
        joins = likeness.max(axis=1) >= 0
        return [self._join(at, row) if ok else None for row, at, ok in zip(rows, best, joins, strict=True)]

    def _join(self, at: int, row: Floats) -> str:
        centre = self.centres[at]
        if centre.members < LEARNED:
            centre.total = centre.total + row
            centre.members += 1
            self._means[at] = centre.mean
            self.moved.add(centre.id)
        return centre.id

    def _append(self, centre: Centre) -> None:
        at = len(self.centres)
        if at == len(self._means):
            self._means = np.concatenate([self._means, np.zeros_like(self._means)])
            self._radii = np.concatenate([self._radii, np.zeros_like(self._radii)])
        self.centres.append(centre)
        self._means[at], self._radii[at] = centre.mean, centre.radius


def by_neighbours(
    rows: Floats, own: Sequence[int], known: Floats, topics: Sequence[str | None]
) -> list[str | None]:
    """The topic that most of each row's nearest neighbours are in, or None. `own`: the place of each row
    among `known`; `topics`: those of `known`. A topic may be wide or of several parts: its mean is then far
    from what it has all around it."""
    found: list[str | None] = []
    last = min(NEIGHBOURS, len(known)) - 1
    for begin in range(0, len(rows), _ROWS):
        likeness = rows[begin : begin + _ROWS] @ known.T
        likeness[np.arange(len(likeness)), own[begin : begin + _ROWS]] = -1
        near = np.argpartition(-likeness, last, axis=1)[:, :NEIGHBOURS]
        for row, places in zip(likeness, near.tolist(), strict=True):
            votes = Counter(topics[at] for at in places if row[at] >= LEAST)
            votes.pop(None, None)
            topic, often = votes.most_common(1)[0] if votes else (None, 0)
            found.append(topic if 2 * often > NEIGHBOURS else None)
    return found


def alike_groups(rows: Floats, least: float = ALIKE) -> list[list[int]]:
    """Rows in groups by mean likeness (average linkage, by the chain of nearest neighbours): the same as
    merging the two nearest groups again and again until none are alike enough. Quadratic: some thousands
    of rows at most."""
    count = len(rows)
    likeness = (rows @ rows.T).astype(np.float32)
    np.fill_diagonal(likeness, -np.inf)
    sizes = np.ones(count, np.float32)
    groups: list[list[int] | None] = [[i] for i in range(count)]
    done: list[list[int]] = []
    chain: list[int] = []
    begin = 0
    while True:
        if not chain:
            while begin < count and groups[begin] is None:
                begin += 1
            if begin == count:
                return sorted(done)
            chain.append(begin)
        here = chain[-1]
        nearest = int(likeness[here].argmax())
        if len(chain) > 1 and likeness[here, chain[-2]] >= likeness[here, nearest]:
            nearest = chain[-2]
        if likeness[here, nearest] < least:
            # Nothing can come nearer by merging: this group is what it will be.
            done.append(_taken(groups, chain.pop()))
            likeness[here, :] = likeness[:, here] = -np.inf
        elif len(chain) > 1 and nearest == chain[-2]:
            chain = chain[:-2]
            _merge(likeness, sizes, groups, nearest, here)
        else:
            chain.append(nearest)


def _merge(
    likeness: npt.NDArray[np.float32], sizes: Floats, groups: list[list[int] | None], kept: int, gone: int
) -> None:
    together = sizes[kept] + sizes[gone]
    row = (likeness[kept] * sizes[kept] + likeness[gone] * sizes[gone]) / together
    row[kept] = -np.inf
    likeness[kept, :] = likeness[:, kept] = row
    likeness[gone, :] = likeness[:, gone] = -np.inf
    sizes[kept] = together
    taken = _taken(groups, gone)
    members = groups[kept]
    assert members is not None
    members += taken


def _taken(groups: list[list[int] | None], at: int) -> list[int]:
    members = groups[at]
    assert members is not None
    groups[at] = None
    return sorted(members)
