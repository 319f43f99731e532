"""What every blob store promises, on a folder and on a real S3 server."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from ammeter.base.clock import now
from ammeter.engines.blobs.port import BlobDamaged, BlobMissing, Blobs, MalformedDigest
from tests.engines.blobs.sides import Side

REPO = Path(__file__).parents[3]
ABSENT = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"hello", bytes(8_000_000)], ids=["empty", "zero byte", "text", "8 MB"]
)
def test_what_is_put_comes_back_by_its_sha256_digest(blobs: Blobs, data: bytes) -> None:
    digest = blobs.put(data)
    assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert blobs.get(digest) == data
    assert blobs.has(digest)


def test_equal_content_is_stored_once_and_not_rewritten(blobs: Blobs) -> None:
    digest = blobs.put(b"same")
    [first] = blobs.scan()
    assert blobs.put(b"same") == digest
    assert list(blobs.scan()) == [first]


def test_an_existing_blob_is_left_as_it_is(side: Side, blobs: Blobs) -> None:
    digest = blobs.put(b"same")
    side.overwrite(blobs.path_of(digest), b"marked")
    blobs.put(b"same")
    with pytest.raises(BlobDamaged):
        blobs.get(digest)


def test_many_writers_of_equal_and_other_content_do_not_disturb_each_other(side: Side) -> None:
    def put_all(blobs: Blobs) -> list[str]:
        return [blobs.put(b"%d" % n * 10_000) for n in range(20)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(put_all, [side.open() for _ in range(8)]))
    blobs = side.open()
    assert all(answer == answers[0] for answer in answers)
    assert sorted(answers[0]) == [blob.digest for blob in blobs.scan()]
    assert all(blobs.get(digest) for digest in answers[0])


def test_a_missing_blob_is_named_with_its_path(blobs: Blobs) -> None:
    assert not blobs.has(ABSENT)
    with pytest.raises(BlobMissing, match=rf"{ABSENT} is not in the store; expected at sha256/ab/abab"):
        blobs.get(ABSENT)


@pytest.mark.parametrize("damage", [b"", b"hell", b"hello!", b"HELLO"])
def test_damaged_content_is_detected(side: Side, blobs: Blobs, damage: bytes) -> None:
    digest = blobs.put(b"hello")
    side.overwrite(blobs.path_of(digest), damage)
    with pytest.raises(BlobDamaged, match=f"Blob {digest} is damaged"):
        blobs.get(digest)


def test_a_damaged_blob_can_be_deleted_and_made_anew(side: Side, blobs: Blobs) -> None:
    digest = blobs.put(b"hello")
    side.overwrite(blobs.path_of(digest), b"damage")
    blobs.delete(digest)
    assert not blobs.has(digest)
    blobs.put(b"hello")
    assert blobs.get(digest) == b"hello"


def test_deleting_what_is_not_there_is_fine(blobs: Blobs) -> None:
    blobs.delete(ABSENT)


def test_the_path_is_the_digest_spread_over_folders(blobs: Blobs) -> None:
    assert blobs.path_of(ABSENT) == f"sha256/ab/{'ab' * 32}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        "sha256:" + "AB" * 32,
        "sha256:" + "ab" * 31,
        "sha256:" + "ab" * 33,
        "md5:" + "ab" * 16,
        "ab" * 32,
        ABSENT + "\n",
        "sha256:" + "../" * 21 + "x",
        "../../../../etc/passwd",
        "sha256/ab/" + "ab" * 32,
        "sha256:" + "٣" * 64,
    ],
)
def test_text_that_is_no_digest_never_reaches_the_store(blobs: Blobs, text: str) -> None:
    for method in (blobs.get, blobs.has, blobs.delete, blobs.path_of):
        with pytest.raises(MalformedDigest, match="is no digest"):
            method(text)


def test_a_scan_gives_every_blob_in_order_with_size_and_time(blobs: Blobs) -> None:
    started_at = now().replace(microsecond=0)
    sizes = {blobs.put(b"x" * n): n for n in range(120)}
    found = list(blobs.scan())
    assert [blob.digest for blob in found] == sorted(sizes)
    assert {blob.digest: blob.size_bytes for blob in found} == sizes
    assert all(
        started_at - timedelta(seconds=1) <= blob.stored_at <= now() + timedelta(seconds=1) for blob in found
    )


@pytest.mark.parametrize("length", [1, 2, 5, 64])
def test_a_scan_can_be_narrowed_by_leading_digits(blobs: Blobs, length: int) -> None:
    digests = [blobs.put(b"%d" % n) for n in range(60)]
    prefix = digests[0].removeprefix("sha256:")[:length]
    wanted = sorted(digest for digest in digests if digest.startswith(f"sha256:{prefix}"))
    assert [blob.digest for blob in blobs.scan(prefix)] == wanted


def test_a_scan_of_an_empty_store_is_empty(blobs: Blobs) -> None:
    assert list(blobs.scan()) == []


@pytest.mark.parametrize("prefix", ["..", "AB", "sha256:ab", "g", "a/b"])
def test_a_scan_refuses_a_prefix_that_is_not_hex(blobs: Blobs, prefix: str) -> None:
    with pytest.raises(MalformedDigest):
        blobs.scan(prefix)


def test_a_scan_skips_what_is_no_blob(side: Side, blobs: Blobs) -> None:
    digest = blobs.put(b"hello")
    side.overwrite(blobs.path_of(digest) + ".bak", b"a copy made by hand")
    assert [blob.digest for blob in blobs.scan()] == [digest]


def test_a_blob_deleted_during_a_scan_does_not_stop_it(blobs: Blobs) -> None:
    for n in range(60):
        blobs.put(b"%d" % n)
    for blob in blobs.scan():
        blobs.delete(blob.digest)
    assert list(blobs.scan()) == []


def test_check_passes_again_and_again_and_leaves_no_blob(blobs: Blobs) -> None:
    blobs.check()
    blobs.check()
    assert list(blobs.scan()) == []


@pytest.mark.parametrize("acknowledged", [1, 2, 3, 4, 30])
def test_a_killed_writer_loses_nothing_it_acknowledged_and_shows_no_half_blob(
    side: Side, acknowledged: int
) -> None:
    command = [sys.executable, "-m", "tests.engines.blobs.sides", json.dumps(side.options)]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        digests = [writer.stdout.readline().strip() for _ in range(acknowledged)]
        writer.kill()
        # What was still in the pipe was acknowledged too; a line cut short was not.
        digests += [line.strip() for line in writer.stdout if line.endswith("\n")]
    blobs = side.open()
    assert len(digests) >= acknowledged
    assert all(blobs.get(digest) for digest in digests)
    visible = [blob.digest for blob in blobs.scan()]
    assert set(digests) <= set(visible)
    assert all(blobs.get(digest) for digest in visible)
