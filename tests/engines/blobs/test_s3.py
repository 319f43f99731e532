"""What only an S3 store can do to us: be away, refuse, answer for another bucket; and what a machine's
own AWS variables must not change."""

from __future__ import annotations

import traceback
import urllib.request
from typing import Any

import pytest

from ammeter.base.errors import Unavailable
from ammeter.engines.blobs.open import open_blobs
from ammeter.engines.blobs.port import Blobs
from tests.postgres import free_port

ABSENT = "sha256:" + "ab" * 32


def faults_of(blobs: Blobs) -> list[Unavailable]:
    """The fault of every method that can tell."""
    faults = []
    for call in (
        blobs.check,
        lambda: blobs.put(b"x"),
        lambda: blobs.get(ABSENT),
        lambda: list(blobs.scan()),
    ):
        with pytest.raises(Unavailable) as caught:
            call()
        faults.append(caught.value)
    return faults


def test_a_store_out_of_reach_is_unavailable(s3_options: dict[str, Any]) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    blobs = open_blobs(**s3_options | {"endpoint": endpoint})
    assert {str(fault) for fault in faults_of(blobs)} == {
        f"The bucket '{s3_options['url'].split('/')[2]}' at {endpoint} cannot be used: it cannot be reached."
    }
    with pytest.raises(Unavailable, match="it cannot be reached"):
        blobs.has(ABSENT)


def test_a_bucket_that_does_not_exist_is_unavailable(s3_options: dict[str, Any]) -> None:
    blobs = open_blobs(**s3_options | {"url": "s3://no-such-bucket/x"})
    assert all("there is no such bucket" in str(fault) for fault in faults_of(blobs))


def test_wrong_keys_are_unavailable_and_never_shown(s3_options: dict[str, Any], s3_endpoint: str) -> None:
    blobs = open_blobs(**s3_options)
    _check_keys_after(s3_endpoint, requests="0")
    try:
        faults = faults_of(blobs)
    finally:
        _check_keys_after(s3_endpoint, requests="inf")
    for fault in faults:
        assert "it refused the access key" in str(fault)
        shown = "".join(traceback.format_exception(fault)) + repr(vars(blobs))
        assert "the-secret" not in shown
        assert "the-id" not in shown


def test_the_variables_of_the_machine_change_nothing(
    s3_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    for name, value in {
        "AWS_ENDPOINT": nowhere,
        "AWS_ENDPOINT_URL": nowhere,
        "AWS_ENDPOINT_URL_S3": nowhere,
        "AWS_BUCKET": "another",
        "AWS_REGION": "mars-1",
        "AWS_DEFAULT_REGION": "mars-1",
        "AWS_ACCESS_KEY_ID": "another",
        "AWS_SECRET_ACCESS_KEY": "another",
        "AWS_SESSION_TOKEN": "another",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_UNSIGNED_PAYLOAD": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
        "AWS_S3_EXPRESS": "true",
        "AWS_CONDITIONAL_PUT": "disabled",
        "AWS_PROXY_URL": nowhere,
        "AWS_ALLOW_HTTP": "false",
    }.items():
        monkeypatch.setenv(name, value)
    blobs = open_blobs(**s3_options)
    assert blobs.get(blobs.put(b"hello")) == b"hello"
    assert blobs.put(b"hello")


def test_a_prefix_keeps_two_stores_in_one_bucket_apart(s3_options: dict[str, Any]) -> None:
    bucket = s3_options["url"].removesuffix("/ammeter/blobs")
    one, other = (open_blobs(**s3_options | {"url": f"{bucket}{prefix}"}) for prefix in ("", "/other/"))
    digest = one.put(b"hello")
    assert not other.has(digest)
    assert list(other.scan()) == []
    assert [blob.digest for blob in one.scan()] == [digest]


def _check_keys_after(endpoint: str, *, requests: str) -> None:
    plain = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", requests.encode(), plain)
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200
