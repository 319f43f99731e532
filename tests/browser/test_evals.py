"""Evals as a person does them: a case is written with the preflight looking on, played and watched, its
evidence followed into the trace, by mouse and by keyboard; a suite is run until it says whether to ship."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import open_context, sign_in
from tests.browser.demo import FullDemo

PLAN = """Find the operation.

```yaml
steps:
  - {tool: search_sdk, arguments: {query: list the orders of a customer}}
answer: It is there.
```
"""
LONG_MS = 60_000


@pytest.fixture
def page(browser: Browser, demo: FullDemo) -> Iterator[Page]:
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, demo.owner.email, demo.owner.password)
        yield page


def test_a_case_is_written_played_and_read(page: Page) -> None:
    page.goto("/cases/new")
    page.fill("#f-name", "The operation for orders is found")
    page.fill("#f-prompt", f"{PLAN}\npassword: hunter2hunter2")
    expect(page.locator("#preflight")).to_contain_text("this holds a credential")
    page.fill("#f-prompt", PLAN)
    expect(page.locator("#preflight")).to_contain_text("Nothing speaks against it")
    first = page.locator("fieldset.line").first
    first.locator("[name=criterion]").fill("It is found")
    expect(first.locator("[name=tool]")).to_be_hidden()
    first.locator("[name=check]").select_option("tool_result_contains")
    first.locator("[name=value]").fill("listCustomerOrders")
    expect(first.locator("[name=path]")).to_be_hidden()
    page.click("button:has-text('Add a criterion')")
    second = page.locator("fieldset.line:has([name=criterion])").nth(1)
    expect(second.locator("[name=criterion]")).to_be_focused()
    second.locator("button:has-text('Remove')").click()
    expect(page.locator("fieldset.line:has([name=criterion])")).to_have_count(1)
    page.uncheck("#f-run_now-yes")
    page.click("button:has-text('Make the eval case')")
    page.wait_for_url(re.compile(r"/cases/[0-9a-f-]{36}$"))

    page.click("button[data-opens=run]")
    page.click("#run button:has-text('Start')")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
    # Whatever is under way is shown until it is over, without a hand on the page.
    expect(page.locator("#criteria")).to_contain_text("1 of 1 criterion passed", timeout=LONG_MS)

    span = page.locator("details.span:has(mark)")
    assert span.get_attribute("open") is None
    page.focus("#criteria .evidence a")
    page.keyboard.press("Enter")
    mark = page.locator("mark:target")
    expect(mark).to_have_text("listCustomerOrders")
    expect(mark).to_be_in_viewport()
    expect(mark).to_be_focused()
    # The address of the place is enough.
    page.goto("/runs")
    page.go_back()
    expect(page.locator("mark:target")).to_be_in_viewport()


def test_a_suite_is_run_and_says_whether_to_ship(page: Page) -> None:
    page.goto("/suites")
    page.click("tbody a:has-text('harbour-books')")
    page.click("button[data-opens=run]")
    page.fill("#f-reason", "release 9")
    page.click("#run button:has-text('Start')")
    page.wait_for_url(re.compile(r"/suites/runs/[0-9a-f-]{36}$"))
    expect(page.locator(".ship.pass h2")).to_have_text("Ready to ship", timeout=LONG_MS)
    expect(page.locator("#baseline")).to_be_visible()
    page.goto("/suites/runs")
    expect(page.locator("tbody tr").first).to_contain_text("release 9")


def test_what_destroys_asks_first(page: Page) -> None:
    page.goto("/suites")
    page.click("tbody a:has-text('harbour-books')")
    page.click("button[data-opens=archive]")
    expect(page.locator("#archive")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#archive")).to_be_hidden()
    page.goto("/suites")
    expect(page.locator("tbody")).to_contain_text("harbour-books")
