"""Addresses and options that cannot be right stop the start, and never show a key."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.base.errors import SettingsError
from ammeter.engines.blobs.open import open_blobs

KEYS: dict[str, Any] = {"access_key_id": "the-id", "secret_access_key": "the-secret"}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/var/blobs",
        "blobs",
        "file:///",
        "file://host/blobs",
        "s3://",
        "s3:///prefix",
        "http://127.0.0.1/bucket",
        "file:///blobs?x=1",
        "s3://bucket/#x",
    ],
)
def test_an_address_of_no_known_kind_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="blob store's URL"):
        open_blobs(url, **KEYS)


def test_keys_in_the_address_are_refused_and_not_shown() -> None:
    with pytest.raises(SettingsError, match="give keys apart") as caught:
        open_blobs("s3://the-id:the-secret@bucket/x", **KEYS)
    assert "the-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "said"), [("access_key_id", "the id"), ("secret_access_key", "the secret")]
)
def test_a_bucket_needs_both_keys(missing: str, said: str) -> None:
    with pytest.raises(SettingsError, match=f"{said} is not set"):
        open_blobs("s3://bucket", **{name: key for name, key in KEYS.items() if name != missing})


def test_plain_http_is_refused_unless_allowed() -> None:
    with pytest.raises(SettingsError, match="is plain HTTP"):
        open_blobs("s3://bucket", endpoint="http://127.0.0.1:9000", **KEYS)
    open_blobs("s3://bucket", endpoint="http://127.0.0.1:9000", allow_http=True, **KEYS)


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "ftp://x", "https://", "https://the-id:the-secret@x"])
def test_an_endpoint_that_is_no_plain_address_is_refused(endpoint: str) -> None:
    with pytest.raises(SettingsError, match="The S3 endpoint is a URL") as caught:
        open_blobs("s3://bucket", endpoint=endpoint, **KEYS)
    assert "the-secret" not in str(caught.value)
