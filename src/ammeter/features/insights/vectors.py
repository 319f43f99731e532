"""Forms as vectors of length one: mostly what they mean, a little which words they use.

The words' share makes texts comparable whose language the embedding does not know, and keeps apart what
means nearly the same (`yes` and `no`). The same text gives the same vector on every machine and in every
release that keeps the table; centres are stored as these vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ammeter.engines.search.embed import Floats, packaged_embedding, unit_rows
from ammeter.engines.search.words import STOP_WORDS, words

WORD_WIDTH = 256
WORD_SHARE = 0.2
_MARKS = 4
_CHUNK = 2_000


def width() -> int:
    return packaged_embedding().width + WORD_WIDTH


def vectors_of(texts: Sequence[str]) -> Floats:
    """One row per text; zeros where a text has no words at all."""
    out = np.zeros((len(texts), width()), np.float32)
    for begin in range(0, len(texts), _CHUNK):
        out[begin : begin + _CHUNK] = _vectors(texts[begin : begin + _CHUNK])
    return out


def to_bytes(vector: Floats) -> bytes:
    return vector.astype("<f4").tobytes()


def from_bytes(stored: bytes) -> Floats | None:
    """None where the bytes are of another table than this program's."""
    if len(stored) != 4 * width():
        return None
    found: Floats = np.frombuffer(stored, "<f4").astype(np.float32)
    return found


def _vectors(texts: Sequence[str]) -> Floats:
    meaning = unit_rows(packaged_embedding().sums(texts)) * np.float32(np.sqrt(1 - WORD_SHARE))
    marks = np.zeros((len(texts), WORD_WIDTH), np.float32)
    for row, text in enumerate(texts):
        said = set(words(text))
        for word in (said - STOP_WORDS) or said:
            places, signs = _marks_of(word)
            marks[row, places] += signs
    return unit_rows(np.concatenate([meaning, unit_rows(marks) * np.float32(np.sqrt(WORD_SHARE))], axis=1))


@lru_cache(maxsize=20_000)
def _marks_of(word: str) -> tuple[npt.NDArray[np.int64], Floats]:
    """Four places of 256, each with a sign: two words hardly share two of them."""
    draws = [zlib.crc32(f"{number} {word}".encode()) for number in range(_MARKS)]
    places = np.unique(np.array([draw % WORD_WIDTH for draw in draws], np.int64))
    signs = np.array([1.0 if draws[0] >> (8 + place % 16) & 1 else -1.0 for place in places], np.float32)
    return places, signs
