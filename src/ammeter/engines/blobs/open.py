"""From the address in the settings to a blob store: `file:///folder` or `s3://bucket/prefix`.

The environment is absent: whatever a store needs comes in as an argument.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from ammeter.base.errors import SettingsError
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.blobs.s3 import Bucket, S3Blobs


def open_blobs(
    url: str,
    *,
    endpoint: str | None = None,
    region: str = "us-east-1",
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    allow_http: bool = False,
) -> Blobs:
    """The store at `url`; `SettingsError` where the address or an option cannot be right. A folder is
    made and tried here, a bucket only when it is used."""
    parts = urlsplit(url)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise SettingsError("The blob store's URL has no user, query or fragment; give keys apart from it.")
    if parts.scheme == "file" and parts.netloc in {"", "localhost"} and parts.path.strip("/"):
        return LocalBlobs(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        if not access_key_id or not secret_access_key:
            raise SettingsError(
                f"The blob store {url} needs an access key id and a secret access key; "
                f"{'the id' if not access_key_id else 'the secret'} is not set."
            )
        return S3Blobs(
            Bucket(
                name=parts.netloc,
                prefix=unquote(parts.path).strip("/"),
                endpoint=endpoint,
                region=region,
                access_key_id=access_key_id,
                secret_access_key=secret_access_key,
                allow_http=allow_http,
            )
        )
    raise SettingsError(f"The blob store's URL {url!r} is neither file:///folder nor s3://bucket/prefix.")
