"""Ammeter's own distributions: what is in them, and what its lock files do not say."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

REPO = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    _build("sdist", REPO, folder)
    [archive] = folder.glob("ammeter-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel_names(unpacked: Path) -> set[str]:
    _build("wheel", unpacked, unpacked / "dist")
    [path] = (unpacked / "dist").glob("ammeter-*.whl")
    with ZipFile(path) as wheel:
        return set(wheel.namelist())


def test_the_wheel_holds_every_module_and_migration(wheel_names: set[str]) -> None:
    modules = {
        path.relative_to(REPO / "src").as_posix()
        for path in (REPO / "src" / "ammeter").rglob("*.py")
        if "generated" not in path.parts
    }
    assert "ammeter/engines/db/migrations/m0001_foundation.py" in modules
    assert modules <= wheel_names


def test_the_wheel_holds_the_package_its_metadata_and_nothing_else(wheel_names: set[str]) -> None:
    assert {name.split("/")[0].partition("-")[0] for name in wheel_names} == {"ammeter"}
    surprising = ("tests", "node_modules", "__pycache__", ".env", "package.json", ".db", ".sqlite")
    assert [name for name in wheel_names if any(part in name for part in surprising)] == []


def test_the_source_distribution_holds_what_the_wheel_is_built_from(unpacked: Path) -> None:
    names = {path.name for path in unpacked.iterdir()} - {"dist", "node_modules"}
    recipe = {"src", "frontend", "hatch_build.py", "package.json", "package-lock.json", ".npmrc"}
    assert recipe <= names
    assert names - recipe <= {"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore"}


def test_no_lock_file_names_a_registry() -> None:
    for path in sorted((REPO / "requirements").glob("*.txt")):
        text = path.read_text()
        assert "://" not in text, path
        assert "--index" not in text, path
        assert "--find-links" not in text, path
        assert "--extra-index" not in text, path
    for path in REPO.rglob("package-lock.json"):
        if not {"node_modules", ".venv"} & set(path.parts):
            assert list(_addresses(json.loads(path.read_text()))) == [], path


def test_every_npm_package_is_pinned_by_its_content() -> None:
    packages = json.loads((REPO / "package-lock.json").read_text())["packages"]
    unpinned = [name for name, package in packages.items() if name and "integrity" not in package]
    assert unpinned == []


def _addresses(value: object) -> Iterator[str]:
    """Every URL in a lock but those of its authors' funding pages."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "funding":
                yield from _addresses(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _addresses(inner)
    elif isinstance(value, str) and "://" in value:
        yield value


def _build(target: str, root: Path, into: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
