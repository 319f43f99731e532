"""What Ammeter is measured beside, and real descriptions to measure with: installed from PyPI and npm, by
name, into `.bench` at first use. Nothing of it is committed, and Ammeter itself needs none of it.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".bench"


def fastmcp_python() -> Path:
    """A Python of its own with FastMCP, as the dependency group `bench` names it."""
    python = CACHE / "venv" / "bin" / "python"
    if not python.exists():
        wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["bench"]
        _told("Installing FastMCP", [sys.executable, "-m", "venv", str(CACHE / "venv")])
        _told("", [str(python), "-m", "pip", "install", "--quiet", *wanted])
    return python


def clustering_python() -> Path:
    """A Python of its own with scikit-learn and BERTopic, without the language models that it would bring."""
    python = CACHE / "clustering" / "bin" / "python"
    if not python.exists():
        _told(
            "Installing scikit-learn and BERTopic", [sys.executable, "-m", "venv", str(CACHE / "clustering")]
        )
        install = [str(python), "-m", "pip", "install", "--quiet"]
        _told("", [*install, "scikit-learn", "umap-learn", "hdbscan", "pandas", "plotly", "pyyaml", "tqdm"])
        _told("", [*install, "--no-deps", "bertopic"])
    return python


def npm_package(name: str) -> Path:
    """The folder of an npm package."""
    folder = CACHE / "npm" / name.replace("/", "+")
    package = folder / "node_modules" / name
    if not (package / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", name]
        _told(f"Installing {name}", command, folder)
    return package


def github_description() -> Path:
    """GitHub's own, as its JavaScript SDK is made from: some 1,200 operations."""
    return npm_package("@octokit/openapi") / "generated" / "api.github.com.json"


def _told(what: str, command: list[str], folder: Path | None = None) -> None:
    if what:
        print(f"{what} …", file=sys.stderr)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
