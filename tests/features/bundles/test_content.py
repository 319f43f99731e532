"""What makes two uploads the same: their content, and the compiler."""

from __future__ import annotations

from pathlib import Path

from ammeter.features.bundles.content import Content, compiler_version, digest_of_folders

CONTENT = Content(openapi_hash="sha256:a", overlay_hash=None)


def test_an_upgrade_of_the_compiler_makes_another_bundle() -> None:
    assert CONTENT.fingerprint({}, compiler="1") == CONTENT.fingerprint({}, compiler="1")
    assert CONTENT.fingerprint({}, compiler="1") != CONTENT.fingerprint({}, compiler="2")
    assert CONTENT.fingerprint({}) == CONTENT.fingerprint({}, compiler=compiler_version())


def test_each_part_of_an_upload_counts() -> None:
    others = [
        CONTENT.fingerprint({"clientName": "x"}),
        Content(openapi_hash="sha256:b", overlay_hash=None).fingerprint({}),
        Content(openapi_hash="sha256:a", overlay_hash="sha256:a").fingerprint({}),
    ]
    assert len({CONTENT.fingerprint({}), *others}) == 4


def test_a_compiler_is_known_by_its_files(tmp_path: Path) -> None:
    def digest() -> str:
        return digest_of_folders(tmp_path)

    (tmp_path / "a.py").write_text("x = 1")
    first = digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"1")
    assert digest() == first
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.js").write_text("1")
    second = digest()
    (tmp_path / "a.py").write_text("x = 2")
    assert len({first, second, digest()}) == 3
