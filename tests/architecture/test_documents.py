"""Documents that cannot lie: settings, commands, errors, operations, words and links are the code's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ammeter.cli.app import app
from ammeter.doors.http.errors import STATUS_OF
from tests.architecture.settings_page import PAGE, settings_page
from tests.household import Household

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_every_setting_stands_in_its_page_as_the_code_has_it() -> None:
    assert PAGE.read_text() == settings_page(), "run: python -m tests.architecture.settings_page"


def test_every_command_stands_in_its_page_and_no_other() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    assert set(re.findall(r"^\| `(ammeter [^`]+)`", page, re.MULTILINE)) == set(commands())


def test_every_error_code_stands_in_its_page_with_its_status() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    told = {code: int(status) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)`", page, re.MULTILINE)}
    assert told == STATUS_OF


def test_every_operation_stands_in_its_page(household: Household) -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    document = household.call("GET", "/openapi").json()
    operations = {
        operation["operationId"] for item in document["paths"].values() for operation in item.values()
    }
    assert operations == set(re.findall(r"`([a-z]+[A-Z]\w+)`", page.split("## Errors")[0]))


def test_the_readme_names_the_two_commands_and_the_makefile_has_all_of_them() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    assert "make run" in readme
    assert "make test" in readme
    targets = set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    assert {"run", "test", "lint", "check", "bench", "fmt"} <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        assert "://" in target or (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_decision_is_numbered_once_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_architecture_draws_every_folder_of_the_house() -> None:
    drawing = (ROOT / "ARCHITECTURE.md").read_text()
    house = ROOT / "src" / "ammeter"
    storeys = ("engines", "features", "doors")
    for folder in (path for storey in storeys for path in (house / storey).iterdir()):
        if not folder.name.startswith("__"):
            assert re.search(rf"^    {folder.stem}\b", drawing, re.MULTILINE), f"{folder.name} is not drawn"


def commands() -> Iterator[str]:
    def walk(command: Any, path: str) -> Iterator[str]:
        if inner := getattr(command, "commands", None):
            for name, part in inner.items():
                yield from walk(part, f"{path} {name}")
        else:
            yield path

    return walk(typer.main.get_command(app()), "ammeter")
