"""A static embedding: a text is the sum of the vectors of its word pieces, of length one.

The table is package data (see data/README.md) and is read once per process. A sum of table rows in order
gives the same bits everywhere, so that an index built twice is the same file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files

import numpy as np
import numpy.typing as npt

from ammeter.engines.search.words import MAX_WORD_CHARS, fold, split_case

Floats = npt.NDArray[np.float32]

_PIECE = re.compile(r"\w+|[^\w\s]")
_SEPARATORS = re.compile(r"[_/\-{}.:<>\"']+")
_REMEMBERED_WORDS = 50_000


@dataclass(slots=True, kw_only=True)
class Embedding:
    vectors: npt.NDArray[np.int8]
    scales: Floats
    pieces: Mapping[str, int]
    _ids: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    def sums(self, texts: Sequence[str]) -> Floats:
        """One row per text, not yet of length one; zeros where no piece of it is known."""
        out = np.zeros((len(texts), self.width), np.float32)
        for row, text in enumerate(texts):
            ids = [i for word in _PIECE.findall(fold(text).lower().replace("_", " ")) for i in self._of(word)]
            if ids:
                out[row] = (self.vectors[ids].astype(np.float32) * self.scales[ids, None]).sum(axis=0)
        return out

    def query(self, text: str) -> Floats:
        spaced = " ".join(_SEPARATORS.sub(" ", split_case(text)).split())
        row: Floats = unit_rows(self.sums([spaced]))[0]
        return row

    def _of(self, word: str) -> tuple[int, ...]:
        found = self._ids.get(word)
        if found is None:
            found = self._split(word)
            if len(self._ids) < _REMEMBERED_WORDS:
                self._ids[word] = found
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        """Longest known piece first, as the table was trained; nothing where a piece is unknown."""
        if len(word) > MAX_WORD_CHARS:
            return ()
        ids: list[int] = []
        begin = 0
        while begin < len(word):
            mark = "##" if begin else ""
            for end in range(len(word), begin, -1):
                piece = self.pieces.get(mark + word[begin:end])
                if piece is not None:
                    ids.append(piece)
                    begin = end
                    break
            else:
                return ()
        return tuple(ids)


@cache
def packaged_embedding() -> Embedding:
    with as_file(files(__package__) / "data" / "api_static.npz") as path, np.load(path) as table:
        names = table["vocab"].tobytes().decode().split("\n")
        return Embedding(
            vectors=table["q"],
            scales=table["sc"].astype(np.float32),
            pieces={name: i for i, name in enumerate(names)},
        )


def quantized(rows: Floats) -> npt.NDArray[np.int8]:
    """Each row by its own largest value; its length is of no interest, only its direction."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1).astype(np.float32)
    small: npt.NDArray[np.int8] = np.rint(rows / scale[:, None] * np.float32(127)).astype(np.int8)
    return small


def unit_rows(rows: npt.NDArray[np.float32] | npt.NDArray[np.int8]) -> Floats:
    wide = rows.astype(np.float32)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    units: Floats = wide / np.maximum(lengths, np.float32(1e-9))
    return units
