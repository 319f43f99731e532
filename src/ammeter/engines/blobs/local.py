"""Blobs in a folder: `sha256/ab/abcd…` holds whole blobs only, `incoming/` what is being written.

obstore's local store is not used: it neither syncs the file before linking it nor the folder after,
so a power cut could lose a blob that was acknowledged, or leave it empty. Locks are absent; a rename
is the only thing that makes a blob visible, and writers of one path write the same bytes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from ammeter.base.errors import SettingsError, Unavailable
from ammeter.engines.blobs import port
from ammeter.engines.blobs.port import BlobMissing, StoredBlob

# A writer that is still alive after a day is stuck; its file would be left by a kill -9 all the same.
_ABANDONED_AFTER_S = 86_400

_REASONS = {
    errno.ENOSPC: "its disk is full",
    errno.EDQUOT: "its disk quota is used up",
    errno.EFBIG: "the file would be larger than this process may write",
    errno.EROFS: "its disk is mounted read-only",
    errno.EACCES: "this user may not read or write there",
    errno.EPERM: "this user may not read or write there",
    errno.ENOENT: "the folder is not there; is its disk mounted?",
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EIO: "its disk reports a fault",
    errno.EMFILE: "this process has too many files open",
    errno.ENFILE: "this machine has too many files open",
}


class LocalBlobs:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        try:
            # Only here: a root that vanishes later is a lost disk, not a folder to make anew.
            made = [folder for folder in (root, *root.parents) if not folder.exists()]
            root.mkdir(parents=True, exist_ok=True)
            for folder in made:
                _sync_folder(folder.parent)
            self._incoming.mkdir(exist_ok=True)
            (root / "sha256").mkdir(exist_ok=True)
            _sync_folder(root)
            self._sweep_incoming()
        except OSError as error:
            raise SettingsError(f"The blob folder {root} cannot be used: {_reason(error)}.") from error

    def put(self, data: bytes) -> str:
        digest = port.digest_of(data)
        target = self._root / port.path_of(digest)
        with self._faults():
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                self._write(data, target)
            # Also when it was there: another writer may have renamed it and not yet synced.
            _sync_folder(target.parent)
            _sync_folder(target.parent.parent)
        return digest

    def get(self, digest: str) -> bytes:
        path = self._root / self.path_of(digest)
        with self._faults():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                self._root.stat()
                raise BlobMissing(digest) from None
        return port.verified(data, digest)

    def has(self, digest: str) -> bool:
        path = self._root / self.path_of(digest)
        with self._faults():
            try:
                path.stat()
            except FileNotFoundError:
                self._root.stat()
                return False
        return True

    def path_of(self, digest: str) -> str:
        return port.path_of(digest)

    def delete(self, digest: str) -> None:
        path = self._root / self.path_of(digest)
        with self._faults():
            try:
                path.unlink()
            except FileNotFoundError:
                self._root.stat()

    def scan(self, prefix: str = "") -> Iterator[StoredBlob]:
        port.check_prefix(prefix)
        return self._scan(prefix)

    def check(self) -> None:
        with self._faults():
            probe = self._incoming / f"check-{uuid4().hex}"
            probe.touch(mode=0o600, exist_ok=False)
            probe.unlink()

    def _write(self, data: bytes, target: Path) -> None:
        incoming = self._incoming / f"{target.name}-{uuid4().hex}"
        try:
            with open(os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                _sync(file.fileno())
            incoming.rename(target)
        except OSError:
            with suppress(OSError):
                incoming.unlink(missing_ok=True)
            raise

    def _scan(self, prefix: str) -> Iterator[StoredBlob]:
        with self._faults():
            folders = sorted(os.listdir(self._root / "sha256"))
        for folder in folders:
            if not (folder.startswith(prefix[:2]) and len(folder) == 2):
                continue
            with self._faults():
                names = sorted(os.listdir(self._root / "sha256" / folder))
            for name in names:
                digest = port.digest_at(f"sha256/{folder}/{name}")
                if digest and name.startswith(prefix) and (blob := self._find(digest)):
                    yield blob

    def _find(self, digest: str) -> StoredBlob | None:
        with self._faults():
            try:
                found = (self._root / port.path_of(digest)).stat()
            except FileNotFoundError:
                return None  # deleted since its folder was listed
        stored_at = datetime.fromtimestamp(found.st_mtime, UTC)
        return StoredBlob(digest=digest, size_bytes=found.st_size, stored_at=stored_at)

    def _sweep_incoming(self) -> None:
        """Remove what writers that were killed left behind."""
        oldest = time.time() - _ABANDONED_AFTER_S
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(f"The blob folder {self._root} cannot be used: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0, error.strerror or type(error).__name__)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _sync(folder)
    finally:
        os.close(folder)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        # There fsync stops at the drive's own cache.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)
