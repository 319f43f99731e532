"""Insights as a person uses them: from the overview to what agents want, did and missed; a person's word on
it, an eval case made of it, a gap closed. With the keyboard alone where it matters."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.looks import settle


def see_the_overview(page: Page) -> None:
    page.goto("/overview")
    settle(page)
    expect(page.locator(".plot canvas")).to_have_count(4)
    expect(page.get_by_role("heading", name="What to do next")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text("In the last 7 days agents held")
    # The range is a link: it is reached and followed with the keyboard.
    page.get_by_role("link", name="90d").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/overview?range=90d")
    expect(page.locator(".lead")).to_contain_text("In the last 90 days agents held")


def rename_a_topic(page: Page) -> None:
    page.goto("/topics?range=90d")
    page.get_by_role("link", name="Frustration").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Frustration")
    page.locator("tbody th a").first.click()
    page.wait_for_url(re.compile(r"/topics/[0-9a-f-]{36}"))
    page.fill("#f-label", "A name of my own")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("The topic is called A name of my own.")
    expect(page.get_by_role("heading", level=1)).to_have_text("A name of my own")
    assert "range=90d" in page.url


def archive_it_and_take_it_back(page: Page) -> None:
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("dialog")).to_contain_text("Archive this topic?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Archive").click()
    page.click("dialog button.main")
    expect(page.locator(".toast")).to_contain_text("The topic is archived.")
    page.get_by_role("button", name="Unarchive").click()
    expect(page.locator(".toast")).to_contain_text("The topic is listed again.")


def read_a_session(page: Page) -> None:
    page.goto("/sessions?range=90d&view=high_frustration")
    page.click("tbody tr:has-text('failed') th a")
    page.wait_for_url(re.compile(r"/sessions/[0-9a-f-]{36}"))
    expect(page.locator(".talk > li").first).to_contain_text("Connected")
    expect(page.locator(".talk .turn-script pre code span").first).to_be_visible()
    page.get_by_role("button", name="Flag").click()
    expect(page.locator(".toast")).to_contain_text("The session is flagged.")
    page.get_by_role("button", name="Take the flag back").click()
    expect(page.locator(".toast")).to_contain_text("Your flag is taken back.")


def draft_a_case(page: Page) -> None:
    page.get_by_role("link", name="Draft an eval case").click()
    page.fill("#f-name", "From what happened")
    page.get_by_role("button", name="Create the eval case").click()
    page.wait_for_url(re.compile(r"/cases/[0-9a-f-]{36}"))
    expect(page.locator(".toast")).to_contain_text("From what happened is made")


def apply_an_overlay(page: Page) -> tuple[str, str]:
    """A bundle that would close a gap: what agents asked, and the operation that they shall find."""
    page.goto("/failed-searches?range=90d&gap=alias")
    page.locator("tbody th a").first.click()
    page.wait_for_url(re.compile(r"/failed-searches/[0-9a-f-]{36}"))
    asked = page.locator(".quotes a").first.inner_text().strip("“”")
    operation_id = page.locator(".near code").first.inner_text()
    page.get_by_role("link", name="Apply the overlay").click()
    page.wait_for_url("**/bundles/upload?overlay=*")
    expect(page.locator("#f-overlay")).to_have_value(re.compile("Also known as"))
    page.get_by_role("button", name="Upload and compile").click()
    page.wait_for_url(re.compile(r"/bundles/[0-9a-f-]{36}$"))
    return asked, operation_id
