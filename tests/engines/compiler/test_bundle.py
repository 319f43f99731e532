from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest

from ammeter.engines.compiler.bundle import Bundle, DamagedBundle, Given, pack, part_sizes, read_given, unpack
from ammeter.engines.compiler.cards import make_cards
from ammeter.engines.compiler.document import read_document
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.javascript import sdk_source
from tests.golden.outputs import FEATURES, FOLDER, compiled


def bundle_of(feature: str) -> Bundle:
    document = read_document((FOLDER / feature / "openapi.yaml").read_bytes()).document
    assert document is not None
    api = compiled(document, Findings())
    return Bundle(
        api=api,
        client_name="client",
        base_url="https://x.example",
        manifest={"vendorName": "V"},
        cards=make_cards(api, "client"),
        sdk_js=sdk_source(api),
        declarations="d",
        index="i",
        search=b"\0s",
        openapi_hash="sha256:1",
        overlay_hash=None,
    )


@pytest.mark.parametrize("feature", FEATURES)
def test_a_bundle_comes_back_as_it_was(feature: str) -> None:
    bundle = bundle_of(feature)
    artifact = pack(bundle)
    assert unpack(artifact) == bundle
    assert pack(unpack(artifact)) == artifact
    assert sum(part_sizes(artifact).values()) < len(artifact)


def test_what_a_bundle_was_made_from_lies_beside_it() -> None:
    bundle = bundle_of("tags")
    openapi, overlay = {"paths": {"/b": {}, "/a": {}}, "info": {"title": "Ä \ud800"}}, {"actions": [{"a": 1}]}
    kept = pack(bundle, openapi=openapi, overlay=overlay)
    assert unpack(kept) == bundle
    given = read_given(kept)
    assert given == Given(openapi=openapi, overlay=overlay, manifest=bundle.manifest)
    assert given.openapi is not None
    assert list(given.openapi["paths"]) == ["/b", "/a"], "in the same order"
    assert read_given(pack(bundle, openapi=openapi)).overlay is None
    assert read_given(pack(bundle)) == Given(openapi=None, overlay=None, manifest=bundle.manifest)


def damaged() -> dict[str, bytes]:
    artifact = pack(bundle_of("tags"))
    half = artifact[: len(artifact) // 2]
    flipped = bytearray(artifact)
    flipped[len(artifact) // 3] ^= 0xFF
    return {
        "empty": b"",
        "text": b"hello",
        "half": half,
        "flipped": bytes(flipped),
        "no parts": zipped({}),
        "a list": zipped({"bundle.json": b"[]"}),
        "no format": zipped({"bundle.json": b"{}"}),
        "no JSON": zipped({"bundle.json": b"{"}),
        "null": zipped({"bundle.json": b"null"}),
    }


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "how", ["empty", "text", "half", "flipped", "no parts", "a list", "no format", "no JSON", "null"]
)
def test_bytes_that_are_no_bundle_are_refused(how: str) -> None:
    with pytest.raises(DamagedBundle):
        unpack(damaged()[how])


@pytest.mark.parametrize("how", ["empty", "text", "half", "no parts", "a list"])
def test_bytes_that_are_no_bundle_were_made_from_nothing(how: str) -> None:
    with pytest.raises(DamagedBundle):
        read_given(damaged()[how])


def test_a_bundle_of_another_format_says_which() -> None:
    with pytest.raises(DamagedBundle, match="format 99"):
        unpack(zipped({"bundle.json": b'{"format": 99}'}))


def test_what_would_unpack_to_more_than_any_bundle_is_refused_unread() -> None:
    with pytest.raises(DamagedBundle, match="more than any bundle"):
        unpack(zipped({"bundle.json": b" " * (257 << 20)}))


def test_a_changed_bundle_is_other_bytes() -> None:
    bundle = bundle_of("tags")
    assert pack(bundle) != pack(replace(bundle, base_url="https://y.example"))
