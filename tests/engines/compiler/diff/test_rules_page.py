"""The page of rules cannot lie: its table is the registry's."""

from __future__ import annotations

from tests.engines.compiler.diff.rules_page import PAGE, page_with_table


def test_every_rule_stands_in_its_page_as_the_code_has_it() -> None:
    page = PAGE.read_text()
    assert page == page_with_table(page), "run: python -m tests.engines.compiler.diff.rules_page"
