"""The house rules that the build holds: imports, types, style, sizes, and what files may say."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]

MAX_FILE_LINES = 420
MAX_FUNCTION_LINES = 65


def run(*command: str) -> None:
    program = str(Path(sys.executable).parent / command[0])
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_go_one_way() -> None:
    run("lint-imports")


def test_types_hold() -> None:
    run("mypy")


def test_style_holds() -> None:
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")


def test_files_and_functions_stay_small() -> None:
    long_files = [f"{p.relative_to(ROOT)}: {n}" for p in PYTHON if (n := len(lines(p))) > MAX_FILE_LINES]
    assert long_files == []
    assert list(long_functions()) == []


def test_every_source_file_says_what_it_is_for() -> None:
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if p.name != "__init__.py" and not docstring(p)]
    assert silent == []


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        str(p.relative_to(ROOT)) for p in SOURCES if re.search(r"os\.environ|os\.getenv", p.read_text())
    ]
    assert {str(Path(reader).parent) for reader in readers} == {"src/ammeter/settings"}


def test_only_the_dialects_name_a_database() -> None:
    named = re.compile(r"[\"'](sqlite|postgresql|postgres)[\"':+_]|sqlite3|sqlite_where")
    # Migrations are frozen DDL, settings and their errors tell a person what to write.
    free = ("dialects.py", "settings/", "migrations/")
    namers = [p for p in SOURCES if named.search(p.read_text()) and not any(f in str(p) for f in free)]
    assert namers == []


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "misc", "manager"])
def test_no_file_is_called(word: str) -> None:
    assert [p for p in PYTHON if p.stem == word] == []


def test_no_file_holds_a_registry_address_or_a_path_of_one_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    told = re.compile(rb"pypi\.org|pythonhosted|npmjs\.org|deb\.debian|/root/|/work/")
    tellers = [
        name
        for name in listed.stdout.splitlines()
        if name != os.path.relpath(__file__, ROOT)
        and (ROOT / name).is_file()
        and told.search((ROOT / name).read_bytes())
    ]
    assert listed.stdout
    assert tellers == []


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def docstring(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text()))


def long_functions() -> Iterator[str]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > MAX_FUNCTION_LINES and "migrations" not in str(path):
                    yield f"{path.relative_to(ROOT)}:{node.name}: {size}"
