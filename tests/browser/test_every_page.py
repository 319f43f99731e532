"""All pages of the dashboard, each as a person sees it: no barrier, nothing that moves, nothing too wide,
nothing too heavy, and nothing that the browser complains of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.browser import open_context, sign_in
from tests.browser.demo import FullDemo
from tests.browser.looks import (
    barriers,
    listen,
    overflow_px,
    settle,
    shifted,
    watch_shifts,
    weight_bytes,
)
from tests.browser.pages import PAGES, Shown

NARROWEST = (360, 740)
MAX_BYTES = 300_000
MAX_SHIFT = 0.01


@pytest.fixture(scope="module")
def signed_in(browser: Browser, demo: FullDemo) -> Any:
    with open_context(browser, demo.server.url) as context:
        sign_in(context.new_page(), demo.owner.email, demo.owner.password)
        return context.storage_state()


@pytest.mark.parametrize(("scheme", "size"), [("light", (1440, 900)), ("dark", NARROWEST)])
def test_every_page_is_fit_for_everybody(
    browser: Browser, demo: FullDemo, signed_in: Any, scheme: str, size: tuple[int, int]
) -> None:
    wrong: dict[str, list[str]] = {}
    for with_session in (False, True):
        kept = {"storage_state": signed_in} if with_session else {}
        with open_context(browser, demo.server.url, size=size, color_scheme=scheme, **kept) as context:
            page = context.new_page()
            watch_shifts(page)
            complaints = listen(page)
            for shown in (shown for shown in PAGES if shown.signed_in is with_session):
                complaints.clear()
                if found := [*_problems(page, shown), *complaints]:
                    wrong[shown.name] = found
    assert wrong == {}


def _problems(page: Page, shown: Shown) -> Iterator[str]:
    shown.open(page)
    settle(page)
    if shown.prepare is None and (moved := shifted(page)) > MAX_SHIFT:
        # A table whose end comes late finds its widths anew. What moves always moves again.
        shown.open(page)
        settle(page)
        if (again := shifted(page)) > MAX_SHIFT:
            yield f"things moved: {moved:.3f}, and {again:.3f} when it was opened again"
    if (wider := overflow_px(page)) > 0:
        yield f"{wider} px too wide"
    if (heavy := weight_bytes(page)) > MAX_BYTES:
        yield f"{heavy:,} bytes for the first load"
    yield from barriers(page)
