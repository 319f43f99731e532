"""The table of `docs/diff-rules.md` as the code has it. Written anew with:
python -m tests.engines.compiler.diff.rules_page
"""

from __future__ import annotations

from pathlib import Path

from ammeter.engines.compiler.diff.registry import RULES

PAGE = Path(__file__).parents[4] / "docs" / "diff-rules.md"
START, END = "<!-- rules -->\n", "<!-- end of rules -->\n"


def rules_table() -> str:
    """Rules that mean the same at several places share a row."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for rule in RULES.values():
        direction = "request" if "request" in rule.id else "response" if "response" in rule.id else ""
        rows.setdefault((direction, rule.meaning, rule.level), []).append(rule.id)
    lines = [
        f"| {'<br>'.join(f'`{name}`' for name in names)} | {level} | {meaning} |"
        for (_, meaning, level), names in rows.items()
    ]
    return "\n".join(("| rule | level | meaning |", "|---|---|---|", *lines)) + "\n"


def page_with_table(page: str) -> str:
    head, rest = page.split(START)
    return head + START + rules_table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
