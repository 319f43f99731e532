"""A real Chromium, the one of the system's packages, driven by Playwright; and people who sign in with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

WIDE, NARROW = (1440, 900), (390, 844)
TIMEOUT_MS = 60_000


@contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        raise RuntimeError("No Chromium was found; run scripts/install-test-tools (Debian: chromium).")
    # Root has no user namespace to shut the browser in; whoever is not root keeps the browser's own walls.
    walls = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, args=[*walls, "--disable-gpu", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


def open_context(browser: Browser, url: str, *, size: tuple[int, int] = WIDE, **more: Any) -> BrowserContext:
    """A browser without a history, at a server."""
    given = {"timezone_id": "Europe/Berlin", "locale": "en-GB", "reduced_motion": "reduce"} | more
    context = browser.new_context(base_url=url, viewport={"width": size[0], "height": size[1]}, **given)
    context.set_default_timeout(TIMEOUT_MS)
    return context


def sign_in(page: Page, email: str, password: str) -> None:
    page.goto("/sign-in")
    page.fill("#email", email)
    page.fill("#password", password)
    page.click("button:has-text('Sign in')")
    page.wait_for_url(lambda url: "/sign-in" not in url)
