"""Evals as a person does them: a case is written with the preflight looking on, a suite of it is run and
watched, and its evidence is followed into the trace, by mouse and by keyboard."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

NAME = "The operation for wish lists is found"
PLAN = """Find the operation.

```yaml
steps:
  - {tool: search_sdk, arguments: {query: wish list of a customer}}
answer: It is there.
```
"""
LONG_MS = 60_000


def write_case(page: Page, source: str) -> None:
    page.goto("/cases/new")
    page.fill("#f-name", NAME)
    page.select_option("#f-source", label=source)
    page.fill("#f-prompt", f"{PLAN}\npassword: hunter2hunter2")
    expect(page.locator("#preflight")).to_contain_text("this holds a credential")
    page.fill("#f-prompt", PLAN)
    expect(page.locator("#preflight")).to_contain_text("Nothing speaks against it")
    first = page.locator("fieldset.line").first
    first.locator("[name=criterion]").fill("It is found")
    expect(first.locator("[name=tool]")).to_be_hidden()
    first.locator("[name=check]").select_option("tool_result_contains")
    first.locator("[name=value]").fill("getWishList")
    expect(first.locator("[name=path]")).to_be_hidden()
    page.click("button:has-text('Add a criterion')")
    second = page.locator("fieldset.line:has([name=criterion])").nth(1)
    expect(second.locator("[name=criterion]")).to_be_focused()
    second.locator("button:has-text('Remove')").click()
    expect(page.locator("fieldset.line:has([name=criterion])")).to_have_count(1)
    page.uncheck("#f-run_now-yes")
    page.click("button:has-text('Make the eval case')")
    page.wait_for_url(re.compile(r"/cases/[0-9a-f-]{36}$"))


def run_suite(page: Page) -> None:
    page.goto("/suites/new")
    page.fill("#f-name", "story")
    page.get_by_label(NAME).check()
    page.click("button:has-text('Make the suite')")
    page.wait_for_url(re.compile(r"/suites/[0-9a-f-]{36}$"))
    # What destroys asks first.
    page.click("button[data-opens=archive]")
    expect(page.locator("#archive")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#archive")).to_be_hidden()
    page.click("button[data-opens=run]")
    page.fill("#f-reason", "release 9")
    page.click("#run button:has-text('Start')")
    page.wait_for_url(re.compile(r"/suites/runs/[0-9a-f-]{36}$"))


def watch_it_finish(page: Page) -> None:
    """Whatever is under way is shown until it is over, without a hand on the page."""
    expect(page.locator(".ship.pass h2")).to_have_text("Ready to ship", timeout=LONG_MS)
    expect(page.locator("#baseline")).to_be_visible()
    expect(page.locator("tbody").first).to_contain_text(NAME)


def read_evidence(page: Page) -> None:
    page.click("tbody a[href^='/runs/']")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
    expect(page.locator("#criteria")).to_contain_text("1 of 1 criterion passed")
    span = page.locator("details.span:has(mark)")
    assert span.get_attribute("open") is None
    page.focus("#criteria .evidence a")
    page.keyboard.press("Enter")
    mark = page.locator("mark:target")
    expect(mark).to_have_text("getWishList")
    expect(mark).to_be_in_viewport()
    expect(mark).to_be_focused()
    # The address of the place is enough.
    page.goto("/suites/runs")
    expect(page.locator("tbody tr").first).to_contain_text("release 9")
    page.go_back()
    expect(page.locator("mark:target")).to_be_in_viewport()
