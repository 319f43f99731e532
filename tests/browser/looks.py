"""What is looked for on an open page: barriers, things that moved, faults the browser told, its weight."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, expect

_AXE = Path(__file__).parents[1] / "tools" / "node_modules" / "axe-core" / "axe.min.js"
_GRAVE = ("serious", "critical")
_WATCH_SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
}).observe({type: "layout-shift", buffered: true});
"""


@cache
def _axe() -> str:
    if not _AXE.is_file():
        raise RuntimeError("axe-core is missing; run scripts/install-test-tools.")
    return _AXE.read_text()


def barriers(page: Page) -> list[str]:
    """Serious and critical violations that axe finds, each with the place of the first."""
    page.evaluate(_axe())
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:160]} ({each['nodes'][0].get('failureSummary', '')[:200]})"
        for each in found
        if each["impact"] in _GRAVE
    ]


def watch_shifts(page: Page) -> None:
    """Before the first page is opened."""
    page.add_init_script(_WATCH_SHIFTS)


def shifted(page: Page) -> float:
    total: float = page.evaluate("window.shifts.reduce((sum, each) => sum + each, 0)")
    return total


def overflow_px(page: Page) -> int:
    """How much wider than the window the page is."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return wider


def settle(page: Page) -> None:
    """Wait until the parts that a page asks for by itself are there; those that go on asking do not count."""
    page.wait_for_load_state("load")
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)


def weight_bytes(page: Page) -> int:
    """What the page and all its parts weigh on the wire, compressed, also where they were here already."""
    total: int = page.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".reduce((sum, each) => sum + each.encodedBodySize, 0)"
    )
    return total


def listen(page: Page) -> list[str]:
    """A list that fills with what the browser complains of: errors, refused scripts and styles."""
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A page that is not there is one of those that are looked at.
        if message.type == "error" and "status of 404" not in message.text:
            heard.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: heard.append(str(error)))
    return heard
