"""Blobs in an S3-compatible bucket, each one object written by one conditional PUT.

Multipart uploads and the ambient credentials of a cloud machine are absent on purpose: one PUT is
atomic, and only what the settings name is used. No fault is chained to obstore's own error, which
quotes the store's answer, and such an answer may name the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from ammeter.base.errors import SettingsError, Unavailable
from ammeter.engines.blobs import port
from ammeter.engines.blobs.port import BlobMissing, StoredBlob

if TYPE_CHECKING:
    from obstore.store import S3Credential

_REFUSED = frozenset({"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthFailure"})
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_STATUS = re.compile(r"status: (\d{3})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str = "us-east-1"
    access_key_id: str
    secret_access_key: str = field(repr=False)
    allow_http: bool = False


class S3Blobs:
    def __init__(self, bucket: Bucket) -> None:
        self._endpoint = bucket.endpoint or f"https://s3.{bucket.region}.amazonaws.com"
        self._where = f"The bucket {bucket.name!r} at {self._endpoint}"
        address = urlsplit(self._endpoint)
        if address.scheme not in {"http", "https"} or not address.hostname or "@" in address.netloc:
            raise SettingsError("The S3 endpoint is a URL such as https://s3.example.org, without keys.")
        if address.scheme == "http" and not bucket.allow_http:
            raise SettingsError(
                f"The S3 endpoint {self._endpoint} is plain HTTP. Use https, or allow HTTP for a store "
                "that is reached over a private network only."
            )
        try:
            self._store = _open_store(bucket, endpoint=self._endpoint)
        except BaseError:
            raise SettingsError(
                f"{self._where} cannot be opened: a setting is not valid, perhaps one of the "
                "AWS_CHECKSUM_ALGORITHM, AWS_SSE_… or AWS_SERVER_SIDE_ENCRYPTION variables."
            ) from None

    def put(self, data: bytes) -> str:
        digest = port.digest_of(data)
        self._create(port.path_of(digest), data)
        return digest

    def get(self, digest: str) -> bytes:
        path = self.path_of(digest)
        with self._faults():
            try:
                data = self._store.get(path).bytes().to_bytes()
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                raise BlobMissing(digest) from None
        return port.verified(data, digest)

    def has(self, digest: str) -> bool:
        path = self.path_of(digest)
        with self._faults():
            try:
                self._store.head(path)
            except FileNotFoundError:
                # A HEAD without an answer's body cannot tell a lost bucket from a missing blob.
                return False
        return True

    def path_of(self, digest: str) -> str:
        return port.path_of(digest)

    def delete(self, digest: str) -> None:
        path = self.path_of(digest)
        with self._faults():
            try:
                self._store.delete(path)
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise

    def scan(self, prefix: str = "") -> Iterator[StoredBlob]:
        port.check_prefix(prefix)
        return self._scan(prefix)

    def check(self) -> None:
        # The same object each time and never overwritten: a bucket with versioning keeps one version.
        self._create("check", b"Ammeter can write here.\n")

    def _create(self, path: str, data: bytes) -> None:
        with self._faults():
            try:
                self._store.put(path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return

    def _scan(self, prefix: str) -> Iterator[StoredBlob]:
        # obstore lists whole folders only.
        pages = self._store.list(f"sha256/{prefix[:2]}" if len(prefix) >= 2 else "sha256")
        while True:
            with self._faults():
                page = next(pages, None)
            if page is None:
                return
            for found in page:
                digest = port.digest_at(found["path"])
                if digest and digest.startswith(f"sha256:{prefix}"):
                    yield StoredBlob(
                        digest=digest, size_bytes=found["size"], stored_at=found["last_modified"]
                    )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise Unavailable(f"{self._where} cannot be used: {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    text = str(error)
    code = found.group(1) if (found := _CODE.search(text)) else None
    if code == "NoSuchBucket":
        return "there is no such bucket"
    if code in _REFUSED or isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return f"it refused the access key or what the key may do ({code or 'no reason given'})"
    if "kind: Connect" in text:
        return "it cannot be reached"
    if "kind: Timeout" in text:
        return "it did not answer in time"
    if "redirect" in text:
        return "it is in another region; check the region setting"
    status = found.group(1) if (found := _STATUS.search(text)) else None
    return f"it answered with a fault ({code or status or type(error).__name__})"


def _open_store(bucket: Bucket, *, endpoint: str) -> S3Store:
    """obstore fills every option that is not given from AWS_* variables, so each that changes where a
    request goes or how it is signed is given here. The keys come from a function because a static
    pair would be joined by AWS_SESSION_TOKEN. HTTPS_PROXY, NO_PROXY and the AWS_* variables that ask
    for encryption at rest or a checksum keep their usual meaning."""
    credential: S3Credential = {
        "access_key_id": bucket.access_key_id,
        "secret_access_key": bucket.secret_access_key,
        "token": None,
        "expires_at": None,
    }
    return S3Store(
        bucket.name,
        prefix=bucket.prefix or None,
        config={
            "endpoint": endpoint,
            "aws_endpoint_url_s3": endpoint,
            "region": bucket.region,
            "virtual_hosted_style_request": False,
            "skip_signature": False,
            "unsigned_payload": False,
            "s3_express": False,
            "request_payer": False,
            "conditional_put": "etag",
            # Not every S3-compatible store knows the bulk request.
            "disable_bulk_delete": True,
        },
        client_options={"allow_http": bucket.allow_http, "connect_timeout": "3s", "timeout": "30s"},
        retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=10)},
        credential_provider=lambda: credential,
    )
