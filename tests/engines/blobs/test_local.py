"""What only a folder can suffer: lost, read-only, full, and the leavings of killed writers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ammeter.base.errors import SettingsError, Unavailable
from ammeter.engines.blobs.open import open_blobs

REPO = Path(__file__).parents[3]
ABSENT = "sha256:" + "ab" * 32

PUT = """
import sys
from ammeter.base.errors import AmmeterError
from ammeter.engines.blobs.open import open_blobs
{before}
try:
    blobs = open_blobs(sys.argv[1])
    blobs.check()
    blobs.put(b"x" * 100_000)
except AmmeterError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def put_elsewhere(url: str, *, before: str = "", unprivileged: bool = False) -> str:
    """What a process of its own says when it opens the store and puts a blob."""
    as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [
            *(as_user if unprivileged and os.geteuid() == 0 else []),
            sys.executable,
            "-B",
            "-c",
            PUT.format(before=before),
            url,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=REPO,
    )
    return done.stdout.strip()


def test_a_missing_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    url = (tmp_path / "a b" / "ü").as_uri()
    digest = open_blobs(url).put(b"hello")
    assert open_blobs(url).get(digest) == b"hello"
    assert (tmp_path / "a b" / "ü" / open_blobs(url).path_of(digest)).read_bytes() == b"hello"


def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SettingsError, match="a file stands where a folder should be"):
        open_blobs((tmp_path / "file" / "blobs").as_uri())


def test_a_folder_that_may_not_be_written_stops_the_start(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    said = put_elsewhere((open_folder / "blobs").as_uri(), unprivileged=True)
    assert said.startswith("SettingsError The blob folder")
    assert "this user may not read or write there" in said


def test_a_folder_that_turned_read_only_is_unavailable(open_folder: Path) -> None:
    open_blobs(open_folder.as_uri())
    open_folder.chmod(0o755)
    (open_folder / "incoming").chmod(0o555)
    said = put_elsewhere(open_folder.as_uri(), unprivileged=True)
    assert said.startswith("Unavailable The blob folder")
    assert "this user may not read or write there" in said


def test_a_blob_too_large_for_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))"
    said = put_elsewhere(tmp_path.as_uri(), before=limit)
    assert said.startswith("Unavailable The blob folder")
    assert "larger than this process may write" in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_vanished_is_unavailable_and_not_made_anew(tmp_path: Path) -> None:
    root = tmp_path / "blobs"
    blobs = open_blobs(root.as_uri())
    blobs.put(b"hello")
    shutil.rmtree(root)
    for call in (
        blobs.check,
        lambda: blobs.put(b"x"),
        lambda: blobs.get(ABSENT),
        lambda: blobs.has(ABSENT),
        lambda: blobs.delete(ABSENT),
        lambda: list(blobs.scan()),
    ):
        with pytest.raises(Unavailable, match="is its disk mounted"):
            call()
    assert not root.exists()


def test_leavings_of_killed_writers_are_swept_when_old(tmp_path: Path) -> None:
    open_blobs(tmp_path.as_uri())
    old, young = tmp_path / "incoming" / "old", tmp_path / "incoming" / "young"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (0, 0))
    blobs = open_blobs(tmp_path.as_uri())
    assert not old.exists()
    assert young.exists()
    assert list(blobs.scan()) == []


def test_blobs_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path.as_uri())
    stored = tmp_path / blobs.path_of(blobs.put(b"hello"))
    assert stored.stat().st_mode & 0o777 == 0o600
