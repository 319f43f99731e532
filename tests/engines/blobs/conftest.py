"""A folder and a real S3 server, each empty for every test."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from ammeter.engines.blobs.port import Blobs
from tests.engines.blobs.sides import Side


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def s3_options(s3_endpoint: str) -> dict[str, Any]:
    """What opens a fresh bucket."""
    bucket = f"blobs-{uuid4().hex}"
    s3_request(f"{s3_endpoint}/{bucket}", b"")
    return {
        "url": f"s3://{bucket}/ammeter/blobs",
        "endpoint": s3_endpoint,
        "access_key_id": "the-id",
        "secret_access_key": "the-secret",
        "allow_http": True,
    }


@pytest.fixture(params=["local", "s3"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Side:
    if request.param == "local":
        folder = tmp_path / "blobs"
        return Side(
            options={"url": folder.as_uri()}, overwrite=lambda path, data: _overwrite(folder / path, data)
        )
    options: dict[str, Any] = request.getfixturevalue("s3_options")
    base = options["url"].replace("s3:/", options["endpoint"])
    return Side(options=options, overwrite=lambda path, data: s3_request(f"{base}/{path}", data))


@pytest.fixture
def blobs(side: Side) -> Blobs:
    return side.open()


def s3_request(url: str, data: bytes) -> None:
    # moto wants to see whose request it is and does not check the signature.
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=the-id/20270101/us-east-1/s3/aws4_request"}
    request = urllib.request.Request(url, data, signed, method="PUT")
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def _overwrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)
