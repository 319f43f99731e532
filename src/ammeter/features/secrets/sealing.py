"""Sealing: AES-256-GCM under a key that is never in the database.

A KeyRing holds one or more keys; the first seals, all open. It comes from a setting, or from a file
readable by its owner alone that the first start makes. A sealed value is bound to its organization
and name, so that a row copied elsewhere does not open.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ammeter.base.errors import Conflict, SettingsError, Unavailable

log = logging.getLogger("ammeter.secrets")

_KEY_BYTES = 32
_NONCE_BYTES = 12


class KeyRing:
    def __init__(self, keys: Sequence[bytes], *, file: Path | None = None) -> None:
        self._keys = {key_id_of(key): key for key in keys}
        self._file = file

    @property
    def current_id(self) -> str:
        return next(iter(self._keys))

    @property
    def file(self) -> Path | None:
        """Where the keys are kept, if it is a file of ours and not a setting."""
        return self._file

    def knows(self, key_id: str) -> bool:
        if key_id not in self._keys:
            self._read_anew()
        return key_id in self._keys

    def seal(self, value: str, *, bound_to: str) -> tuple[str, bytes]:
        """The id of the key used, and the sealed value."""
        self._read_anew()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        key_id = self.current_id
        return key_id, nonce + AESGCM(self._keys[key_id]).encrypt(nonce, value.encode(), bound_to.encode())

    def open(self, key_id: str, sealed: bytes, *, bound_to: str) -> str:
        if not self.knows(key_id):
            raise Unavailable(f"The sealing key {key_id} that this secret needs is not on this server.")
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self._keys[key_id]).decrypt(nonce, ciphertext, bound_to.encode()).decode()
        except (InvalidTag, ValueError):
            raise Unavailable(f"The sealed secret {bound_to} is damaged; set it again.") from None

    def derived(self, purpose: str) -> tuple[bytes, ...]:
        """A key for another purpose from each of ours, the current one's first: all nodes have the same,
        and none of them tells anything of the key it came from."""
        self._read_anew()
        return tuple(_derive(key, purpose) for key in self._keys.values())

    @contextmanager
    def rotating(self) -> Iterator[None]:
        """Keeps other processes from rotating the same file: keys that one adds, the other would drop."""
        assert self._file is not None, "keys from a setting are rotated by whoever sets it"
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict("The sealing keys are being rotated already; wait for that to end.") from None
            yield
        finally:
            os.close(folder)

    def add_current(self) -> None:
        """Put a fresh key in front of the file's keys; they still open what they sealed."""
        assert self._file is not None
        self._keep([secrets.token_bytes(_KEY_BYTES), *_read(self._file)], self._file)

    def drop_oldest(self) -> None:
        """Forget all keys but the current one and the one before: a write that was under way in
        another process during the rotation may still be sealed under that."""
        assert self._file is not None
        self._keep(_read(self._file)[:2], self._file)

    def _keep(self, keys: Sequence[bytes], file: Path) -> None:
        _write(file, keys)
        self._keys = {key_id_of(key): key for key in keys}

    def _read_anew(self) -> None:
        """Another process may have rotated the keys since this one read them."""
        if self._file is None:
            return
        try:
            self._keys = {key_id_of(key): key for key in _read(self._file)}
        except SettingsError as error:
            log.error("sealing keys lost: %s", error.message)
            raise Unavailable("The server's sealing keys cannot be read; its log says why.") from None


def open_key_ring(*, setting: str, file: Path) -> KeyRing:
    """The ring that the setting spells, else the file's, made if it is not there."""
    if setting:
        words = [word for word in setting.split(",") if word.strip()]
        return KeyRing([_decode(word, "AMMETER_SEALING_KEYS") for word in words or [""]])
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _make(file)
    except OSError as error:
        raise SettingsError(f"The sealing key file {file} cannot be made: {error.strerror}.") from None
    return KeyRing(_read(file), file=file)


def key_id_of(key: bytes) -> str:
    return hashlib.sha256(b"ammeter sealing key" + key).hexdigest()[:16]


def _derive(key: bytes, purpose: str) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"ammeter " + purpose.encode()).derive(key)


def _make(file: Path) -> None:
    # Linked into place whole: of several first starts at once, one wins and all read its key.
    draft = file.with_name(f"{file.name}.{os.getpid()}-{secrets.token_hex(4)}")
    _write(draft, [secrets.token_bytes(_KEY_BYTES)])
    try:
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(file: Path) -> list[bytes]:
    try:
        if file.stat().st_mode & 0o077:
            raise SettingsError(f"{file} can be read by others; run: chmod 600 {file}")
        lines = file.read_bytes().split()
    except OSError as error:
        raise SettingsError(f"The sealing key file {file} cannot be read: {error.strerror}.") from None
    if not lines:
        raise SettingsError(f"The sealing key file {file} is empty; restore it from a backup.")
    return [_decode(line, str(file)) for line in lines]


def _write(file: Path, keys: Sequence[bytes]) -> None:
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.writelines(base64.b64encode(key).decode() + "\n" for key in keys)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _decode(word: str | bytes, where: str) -> bytes:
    try:
        key = base64.b64decode(word.strip(), validate=True)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise SettingsError(
            f"{where}: each sealing key is 32 bytes in base64; make one with: openssl rand -base64 32"
        )
    return key
