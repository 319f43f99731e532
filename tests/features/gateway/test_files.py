"""Binary values in a result become content that clients can show; everything else stays where it is."""

from __future__ import annotations

import base64

from ammeter.features.gateway.files import take_files

PNG = base64.b64encode(b"\x89PNG....").decode()


def test_an_image_and_a_document_are_taken_out() -> None:
    value = {
        "cover": {"base64": PNG, "contentType": "image/png"},
        "rows": [{"doc": {"base64": PNG, "contentType": "application/pdf", "filename": "a b/../c.pdf"}}],
    }
    made, files = take_files(value)
    assert made["cover"] == {"file": "attached as file 1", "contentType": "image/png", "bytes": 8}
    assert made["rows"][0]["doc"]["filename"] == "a b/../c.pdf"
    assert files[0] == {"type": "image", "data": PNG, "mimeType": "image/png"}
    resource = files[1]["resource"]
    assert resource == {"uri": "ammeter://result/2/ab..c.pdf", "mimeType": "application/pdf", "blob": PNG}


def test_what_only_looks_like_a_file_stays() -> None:
    for value in (
        {"base64": "not base64!"},
        {"base64": PNG, "other": 1},
        {"base64": 5},
        [1, "x", None],
        {"base64": PNG, "contentType": 7},
    ):
        assert take_files(value) == (value, ())


def test_more_files_than_fit_are_named() -> None:
    value = [{"base64": PNG} for _ in range(12)]
    made, files = take_files(value)
    assert len(files) == 10
    assert made[11]["file"].startswith("left out")
    large = base64.b64encode(b"x" * 12_000_000).decode()
    made, files = take_files([{"base64": large}, {"base64": PNG}])
    assert made[0]["file"].startswith("left out")
    assert len(files) == 1
