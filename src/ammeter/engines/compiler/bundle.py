"""A bundle: everything that serving an API takes, as one value and as one file of bytes.

The file is a ZIP with fixed times and order, so that equal bundles are equal bytes and a person can open
one. It holds no code but the SDK's fixed program, and reading one back trusts nothing but its shape. What a
bundle was made from may lie beside it in the file; serving never reads that.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from ammeter.engines.compiler.model import Api, Card, Finding

FORMAT = 1
MAX_ARTIFACT_BYTES = 8 * 1024 * 1024
# JSON of descriptions packs about ten to one.
_MAX_UNPACKED_BYTES = 256 * 1024 * 1024

_api: TypeAdapter[Api] = TypeAdapter(Api)
_cards: TypeAdapter[tuple[Card, ...]] = TypeAdapter(tuple[Card, ...])
_TIME = (1980, 1, 1, 0, 0, 0)
_OPENAPI, _OVERLAY = _GIVEN = ("openapi.json", "overlay.json")
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    api: Api
    client_name: str
    base_url: str
    manifest: dict[str, Any]
    """As it was uploaded, defaults filled in."""
    cards: tuple[Card, ...]
    sdk_js: str
    declarations: str
    index: str
    search: bytes
    openapi_hash: str
    overlay_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What came of a description: a bundle, or none, and what was found either way."""

    bundle: Bundle | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a bundle was made from, as plain values."""

    openapi: dict[str, Any] | None
    """None: the file holds the bundle alone, and nothing is known of an overlay either."""
    overlay: dict[str, Any] | None
    manifest: dict[str, Any]


class DamagedBundle(Exception):
    """Bytes that are no bundle of ours, or of a format that this program does not know."""


def pack(bundle: Bundle, *, openapi: Mapping[str, Any] | None = None, overlay: Any = None) -> bytes:
    """`openapi` and `overlay`: what it was made from, to be kept with it."""
    facts = {
        "format": FORMAT,
        "clientName": bundle.client_name,
        "baseUrl": bundle.base_url,
        "openapiHash": bundle.openapi_hash,
        "overlayHash": bundle.overlay_hash,
    }
    files = {
        "bundle.json": _json(facts),
        "manifest.json": _json(bundle.manifest),
        "api.json": _api.dump_json(bundle.api),
        "cards.json": _cards.dump_json(bundle.cards),
        "sdk.js": bundle.sdk_js.encode(),
        "sdk.d.ts": bundle.declarations.encode(),
        "index.txt": bundle.index.encode(),
        "search.bin": bundle.search,
    }
    if openapi is not None:
        files[_OPENAPI] = _as_given(openapi)
        files[_OVERLAY] = _as_given(overlay)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return out.getvalue()


def part_sizes(artifact: bytes) -> dict[str, int]:
    """Bytes that each part takes in the artifact, for whoever must make it smaller."""
    with zipfile.ZipFile(io.BytesIO(artifact)) as archive:
        return {entry.filename: entry.compress_size for entry in archive.infolist()}


def unpack(artifact: bytes) -> Bundle:
    try:
        with zipfile.ZipFile(io.BytesIO(artifact)) as archive:
            _check_size(archive)
            files = {name: archive.read(name) for name in archive.namelist() if name not in _GIVEN}
        facts = json.loads(files["bundle.json"])
        if facts["format"] != FORMAT:
            raise DamagedBundle(f"The bundle has format {facts['format']}; this program knows {FORMAT}.")
        return Bundle(
            api=_api.validate_json(files["api.json"]),
            client_name=facts["clientName"],
            base_url=facts["baseUrl"],
            manifest=json.loads(files["manifest.json"]),
            cards=_cards.validate_json(files["cards.json"]),
            sdk_js=files["sdk.js"].decode(),
            declarations=files["sdk.d.ts"].decode(),
            index=files["index.txt"].decode(),
            search=files["search.bin"],
            openapi_hash=facts["openapiHash"],
            overlay_hash=facts["overlayHash"],
        )
    except _DAMAGES as error:
        raise DamagedBundle(f"The bytes are no bundle: {type(error).__name__}.") from error


def read_given(artifact: bytes) -> Given:
    try:
        with zipfile.ZipFile(io.BytesIO(artifact)) as archive:
            _check_size(archive)
            kept = _OPENAPI in archive.namelist()
            return Given(
                openapi=json.loads(archive.read(_OPENAPI)) if kept else None,
                overlay=json.loads(archive.read(_OVERLAY)) if kept else None,
                manifest=json.loads(archive.read("manifest.json")),
            )
    except _DAMAGES as error:
        raise DamagedBundle(f"The bytes are no bundle: {type(error).__name__}.") from error


def _check_size(archive: zipfile.ZipFile) -> None:
    if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED_BYTES:
        raise DamagedBundle("The bundle would unpack to more than any bundle holds.")


def _as_given(value: Any) -> bytes:
    # The order of its keys stays: the order of methods and fields follows it.
    return json.dumps(value, separators=(",", ":")).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
