"""Insights in a browser: from the overview to what agents want, what they looked for in vain and what they
did; a person's word on it, and an eval case made of it. With the keyboard alone where it matters."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import open_context, sign_in
from tests.browser.demo import FullDemo
from tests.browser.looks import listen, settle


def test_a_person_goes_from_the_overview_to_a_test(browser: Browser, demo: FullDemo) -> None:
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        complaints = listen(page)
        sign_in(page, demo.owner.email, demo.owner.password)
        see_the_overview(page)
        name_a_topic(page)
        archive_it_and_take_it_back(page)
        read_a_session(page)
        draft_a_case(page)
        assert complaints == []


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


def name_a_topic(page: Page) -> None:
    page.get_by_role("link", name="All topics").click()
    page.wait_for_url("**/topics?range=90d")
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
