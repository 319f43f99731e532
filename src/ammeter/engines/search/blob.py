"""The index as bytes: a mark, a version, a checksum, then named parts, each an array or lines of text.

The same index gives the same bytes. Nothing that is read is trusted: sizes are known before anything is
unpacked, and every number that is later used as a place is checked to be one.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ammeter.base.errors import AmmeterError
from ammeter.engines.search.postings import Postings

MARK = b"AMSX"
VERSION = 1
MAX_OPERATIONS = 100_000
MAX_PART_BYTES = 256 * 1024**2
_HEAD_BYTES = len(MARK) + 2 + 32 + 4

Array = npt.NDArray[Any]


class DamagedIndex(AmmeterError):
    """A search index that cannot be read; compiling the bundle again makes a new one."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The search index of this bundle cannot be read: {why}. Compile the bundle again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    operation_ids: tuple[str, ...]
    sdk_names: tuple[str, ...]
    methods: tuple[str, ...]
    paths: tuple[str, ...]
    deprecated: npt.NDArray[np.bool_]
    postings: Postings
    vectors: npt.NDArray[np.int8]


def to_bytes(contents: Contents) -> bytes:
    postings, count = contents.postings, len(contents.operation_ids)
    place = np.uint16 if count <= 0xFFFF else np.uint32
    parts: dict[str, Array | Sequence[str]] = {
        "operation_ids": contents.operation_ids,
        "sdk_names": contents.sdk_names,
        "methods": contents.methods,
        "paths": contents.paths,
        "deprecated": np.packbits(contents.deprecated),
        "terms": postings.terms,
        "counts": postings.counts.astype(place),
        # Steps are small where places are not, and wrap around at a new term.
        "documents": np.diff(postings.documents.astype(place), prepend=place(0)),
        "impacts": postings.impacts,
        "titles": np.packbits(postings.titles),
        "surface": np.minimum(postings.surface, 0xFFFF).astype(np.uint16),
        "vectors": contents.vectors,
    }
    head, body = [], b""
    for name, part in parts.items():
        raw = _planes(part) if isinstance(part, np.ndarray) else json.dumps(part).encode()
        packed = zlib.compress(raw, 9)
        shape = [part.dtype.str, *part.shape] if isinstance(part, np.ndarray) else None
        head.append([name, shape, len(raw), len(packed)])
        body += packed
    header = json.dumps(head, separators=(",", ":")).encode()
    payload = len(header).to_bytes(4, "little") + header + body
    return MARK + VERSION.to_bytes(2, "little") + hashlib.sha256(payload).digest() + payload


def from_bytes(blob: bytes) -> Contents:
    if len(blob) < _HEAD_BYTES or not blob.startswith(MARK):
        raise DamagedIndex("it does not begin like one")
    version = int.from_bytes(blob[4:6], "little")
    if version != VERSION:
        raise DamagedIndex(f"it is of version {version}, this Ammeter reads {VERSION}")
    if hashlib.sha256(blob[38:]).digest() != blob[6:38]:
        raise DamagedIndex("its checksum is wrong")
    try:
        return _contents(_unpacked(blob))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        raise DamagedIndex(f"{type(error).__name__}: {error}") from error


def _unpacked(blob: bytes) -> dict[str, Any]:
    at = _HEAD_BYTES + int.from_bytes(blob[38:42], "little")
    parts: dict[str, Any] = {}
    for name, shape, raw_bytes, packed_bytes in json.loads(blob[_HEAD_BYTES:at]):
        if not 0 <= raw_bytes <= MAX_PART_BYTES:
            raise ValueError(f"{name} claims {raw_bytes} bytes")
        raw = zlib.decompressobj().decompress(blob[at : at + packed_bytes], raw_bytes + 1)
        at += packed_bytes
        if len(raw) != raw_bytes:
            raise ValueError(f"{name} has another size than it says")
        parts[name] = json.loads(raw) if shape is None else _from_planes(raw, shape)
    if at != len(blob):
        raise ValueError("bytes are left over")
    return parts


def _contents(parts: Mapping[str, Any]) -> Contents:
    ids, terms = _lines(parts, "operation_ids"), _lines(parts, "terms")
    count = len(ids)
    if count > MAX_OPERATIONS:
        raise ValueError(f"{count} operations")
    place = "<u2" if count <= 0xFFFF else "<u4"
    documents = np.cumsum(_array(parts, "documents", place), dtype=place).astype(np.int64)
    counts = _array(parts, "counts", place, len(terms)).astype(np.int64)
    if counts.sum() != len(documents) or (len(documents) and documents.max() >= count):
        raise ValueError("postings lead nowhere")
    vectors = parts["vectors"]
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.int8 or vectors.shape[:-1] != (count,):
        raise ValueError("vectors do not fit the operations")
    return Contents(
        operation_ids=ids,
        sdk_names=_lines(parts, "sdk_names", count),
        methods=_lines(parts, "methods", count),
        paths=_lines(parts, "paths", count),
        deprecated=_bits(parts, "deprecated", count),
        postings=Postings(
            terms=terms,
            counts=counts,
            documents=documents,
            impacts=_array(parts, "impacts", "|u1", len(documents)),
            titles=_bits(parts, "titles", len(documents)),
            surface=_array(parts, "surface", "<u2", len(terms)).astype(np.int64),
        ),
        vectors=vectors,
    )


def _planes(array: Array) -> bytes:
    """Low bytes first, then high bytes: small numbers pack better so."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def _from_planes(raw: bytes, shape: Sequence[Any]) -> Array:
    kind, *sides = shape
    if kind not in ("|u1", "|i1", "<u2", "<u4"):
        raise ValueError(f"an array of {kind}")
    dtype = np.dtype(kind)
    planes = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
    array: Array = np.ascontiguousarray(planes.T).view(dtype).reshape(sides)
    return array


def _lines(parts: Mapping[str, Any], name: str, length: int | None = None) -> tuple[str, ...]:
    lines = parts[name]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"{name} is not a list of texts")
    if length is not None and len(lines) != length:
        raise ValueError(f"{name} has {len(lines)} entries, not {length}")
    return tuple(lines)


def _array(parts: Mapping[str, Any], name: str, kind: str, length: int | None = None) -> Array:
    array = parts[name]
    if not isinstance(array, np.ndarray) or array.dtype.str != kind or array.ndim != 1:
        raise TypeError(f"{name} is not a row of {kind}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} has {len(array)} entries, not {length}")
    return array


def _bits(parts: Mapping[str, Any], name: str, length: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(_array(parts, name, "|u1", (length + 7) // 8), count=length).astype(bool)
