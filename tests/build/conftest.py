"""A tiny project built by Ammeter's own hook from one real npm package, and a machine without Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

REPO = Path(__file__).parents[2]

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"
[project]
name = "sample"
version = "1.0"
requires-python = ">=3.11"
[tool.hatch.build.targets.wheel]
packages = ["src/sample"]
[tool.hatch.build.targets.wheel.hooks.custom]
"""
IS_NUMBER = {
    "version": "7.0.0",
    "integrity": (
        "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="
    ),
    "license": "MIT",
    "engines": {"node": ">=0.12.0"},
}
COPIED = {"copy": "is-number/index.js", "to": "src/sample/web/generated/is-number.js"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    root: Path

    def write_package(self, *, parts: list[dict[str, str]], dependencies: dict[str, str]) -> None:
        package = {"name": "sample", "private": True, "dependencies": dependencies, "parts": parts}
        (self.root / "package.json").write_text(json.dumps(package))

    def write_lock(self, is_number: dict[str, Any]) -> None:
        packages = {
            "": {"name": "sample", "dependencies": {"is-number": "7.0.0"}},
            "node_modules/is-number": is_number,
        }
        lock = {"name": "sample", "lockfileVersion": 3, "requires": True, "packages": packages}
        (self.root / "package-lock.json").write_text(json.dumps(lock))

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def build(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Build the wheel with the packages of this environment."""
        return self.run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist", **variables)

    def wheel(self) -> dict[str, bytes]:
        """The files of the wheel, its own metadata apart."""
        with ZipFile(self.root / "dist" / "sample-1.0-py3-none-any.whl") as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}

    def files(self) -> set[str]:
        """Every file of the tree that is not in dist, an environment or node_modules."""
        ours = {"dist", ".venv", "node_modules"}
        found = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return {str(path) for path in found if path.parts[0] not in ours}


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    assert shutil.which("node"), "These tests need Node 20 or newer: run scripts/install-node"
    assert shutil.which("npm"), "These tests need npm beside Node: run scripts/install-node"
    root = tmp_path / "sample"
    (root / "src" / "sample").mkdir(parents=True)
    (root / "src" / "sample" / "__init__.py").touch()
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / ".gitignore").write_text("node_modules/\nsrc/sample/**/generated/\n.venv/\ndist/\n")
    for name in ("hatch_build.py", ".npmrc"):
        shutil.copy(REPO / name, root)
    (root / "frontend").mkdir()
    shutil.copy(REPO / "frontend" / "build.mjs", root / "frontend")
    made = Sample(root=root)
    made.write_package(parts=[COPIED], dependencies={"is-number": "7.0.0"})
    made.write_lock(IS_NUMBER)
    return made


@pytest.fixture
def path_without_node(tmp_path: Path) -> str:
    """A PATH with every program of this machine except Node's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else []:
            link = folder / program.name
            if program.name not in {"node", "nodejs", "npm", "npx", "corepack"} and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
