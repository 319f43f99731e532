from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import zlib

import numpy as np
import pytest

from ammeter.engines.search.blob import DamagedIndex
from ammeter.engines.search.embed import Embedding
from ammeter.engines.search.index import SearchIndex, build_index
from tests.engines.search.shop import SHOP, card

BLOB = build_index(SHOP)
PAYLOAD = 38


def forged(name: str, raw: bytes, shape: object, claimed: int | None = None) -> bytes:
    """The blob with one part replaced and the checksum made right again."""
    size = int.from_bytes(BLOB[PAYLOAD : PAYLOAD + 4], "little")
    at = PAYLOAD + 4 + size
    head, body = [], b""
    for part, own_shape, raw_bytes, packed_bytes in json.loads(BLOB[PAYLOAD + 4 : at]):
        packed = BLOB[at : at + packed_bytes]
        at += packed_bytes
        if part == name:
            packed = zlib.compress(raw)
            head.append([part, shape, len(raw) if claimed is None else claimed, len(packed)])
        else:
            head.append([part, own_shape, raw_bytes, packed_bytes])
        body += packed
    header = json.dumps(head).encode()
    payload = len(header).to_bytes(4, "little") + header + body
    return BLOB[:6] + hashlib.sha256(payload).digest() + payload


def test_the_same_cards_give_the_same_bytes() -> None:
    assert build_index(SHOP) == BLOB


def test_another_process_gives_the_same_bytes() -> None:
    program = (
        "import hashlib; from ammeter.engines.search.index import build_index;"
        "from tests.engines.search.shop import SHOP;"
        "print(hashlib.sha256(build_index(SHOP)).hexdigest())"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout.strip() == hashlib.sha256(BLOB).hexdigest()


@pytest.mark.parametrize(
    "blob", [b"", b"AMSX", b"PK\x03\x04" * 20, BLOB[:-1], BLOB + b"x", BLOB[:100]], ids=len
)
def test_something_else_or_a_part_of_it_is_refused(blob: bytes) -> None:
    with pytest.raises(DamagedIndex, match="Compile the bundle again"):
        SearchIndex.load(blob)


def test_every_flipped_byte_is_noticed() -> None:
    chance = random.Random(3)
    for at in chance.sample(range(len(BLOB)), 60):
        damaged = BLOB[:at] + bytes([BLOB[at] ^ 0x40]) + BLOB[at + 1 :]
        with pytest.raises(DamagedIndex):
            SearchIndex.load(damaged)


def test_a_newer_version_is_named() -> None:
    with pytest.raises(DamagedIndex, match="version 9, this Ammeter reads 1"):
        SearchIndex.load(BLOB[:4] + (9).to_bytes(2, "little") + BLOB[6:])


@pytest.mark.parametrize(
    ("name", "raw", "shape"),
    [
        ("documents", np.full(10, 60_000, np.uint16).tobytes(), ["<u2", 10]),
        ("counts", b"", ["<u2", 0]),
        ("vectors", b"\x01" * 11, ["|i1", 11]),
        ("vectors", b"[]", None),
        ("impacts", b"\x01\x02", ["|O8", 2]),
        ("impacts", b"\x01", ["|u1", -5]),
        ("terms", b'{"a": 1}', None),
        ("terms", b"[" * 100_000, None),
        ("terms", b"[1, 2]", None),
        ("sdk_names", b'["one"]', None),
        ("paths", b"\xff\xfe", None),
        ("deprecated", b"", ["|u1", 0]),
        ("titles", b"\x00", 7),
    ],
)
def test_a_forged_part_is_refused_even_with_a_right_checksum(name: str, raw: bytes, shape: object) -> None:
    with pytest.raises(DamagedIndex):
        SearchIndex.load(forged(name, raw, shape))


def test_a_part_is_not_unpacked_beyond_the_size_it_claims() -> None:
    with pytest.raises(DamagedIndex, match="another size"):
        SearchIndex.load(forged("terms", b" " * 10_000_000, None, claimed=10))
    with pytest.raises(DamagedIndex, match="claims"):
        SearchIndex.load(forged("terms", b"[]", None, claimed=10**12))


def test_vectors_of_another_table_are_refused() -> None:
    narrow = Embedding(vectors=np.ones((2, 8), np.int8), scales=np.ones(2, np.float32), pieces={"user": 0})
    with pytest.raises(DamagedIndex, match="8 numbers, not 256"):
        SearchIndex.load(build_index(SHOP, narrow))


def test_texts_of_any_kind_survive() -> None:
    odd = card("get", "/größe/{id}", "größe", "Liefert die Größe \ud800 𝒳 \x00", sdk_name="größe.größe")
    index = SearchIndex.load(build_index((odd,)))
    assert index.search("grosse größe").hits[0].sdk_name == "größe.größe"


def test_an_index_is_small() -> None:
    many = [
        card("get", f"/shelf{n}/{{id}}", f"getShelf{n}", f"Get shelf {n} of aisle {n % 7}")
        for n in range(300)
    ]
    assert len(build_index(many)) < 120_000
