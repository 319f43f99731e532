"""The whole story in a browser: from the sign-in to an agent's API, its test, what agents want and back to a
revoked key, and that a viewer is offered none of it and refused all of it; and from what agents missed to a
bundle in which they find it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect

from tests.browser import building, testing, understanding
from tests.browser.browser import open_context, sign_in
from tests.browser.demo import FullDemo
from tests.browser.looks import listen, settle

VERA = "vera@demo.example"


@contextmanager
def signed_in(browser: Browser, demo: FullDemo) -> Iterator[Page]:
    """The owner; nothing that the browser complains of."""
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        complaints = listen(page)
        sign_in(page, demo.owner.email, demo.owner.password)
        yield page
        assert complaints == []


def test_a_person_brings_an_api_to_agents_tests_it_and_learns_from_them(
    browser: Browser, demo: FullDemo
) -> None:
    with signed_in(browser, demo) as page:
        token = building.mint_key(page)
        building.make_source(page)
        building.upload_with_key(demo, token)
        page.goto("/bundles?source=second-shop")
        page.click("text=Compare and promote")
        expect(page.locator("main")).to_contain_text("everything is new")
        building.promote(page, "Second shop")
        building.search(page, "second-shop", "wish list of a customer", "getWishList")
        building.run_scripts(page)
        testing.write_case(page, "Second shop")
        testing.run_suite(page)
        testing.watch_it_finish(page)
        testing.read_evidence(page)
        understanding.rename_a_topic(page)
        topic = page.url.partition("?")[0]
        understanding.archive_it_and_take_it_back(page)
        password = add_member(page, VERA, "viewer")
        building.revoke_key(page)
        assert building.asked_with(demo, token) == 401
        sign_out(page)
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, VERA, password)
        change_password(page, password)
        is_offered_nothing(page, topic)
        is_refused(page, topic)


def test_a_person_closes_a_gap_that_agents_met(browser: Browser, demo: FullDemo) -> None:
    with signed_in(browser, demo) as page:
        understanding.see_the_overview(page)
        understanding.read_a_session(page)
        understanding.draft_a_case(page)
        asked, operation_id = understanding.apply_an_overlay(page)
        building.promote(page, "Harbour Books")
        building.search(page, "demo-api", asked, operation_id)


def add_member(page: Page, email: str, role: str) -> str:
    page.goto("/settings/members")
    page.fill("#f-email", email)
    page.fill("#f-name", "Vera")
    page.select_option("#f-role", role)
    page.click("button:has-text('Add')")
    return page.locator(".token").inner_text()


def sign_out(page: Page) -> None:
    page.click("button[aria-label='Sign out']")
    page.wait_for_url("**/sign-in")
    page.go_back()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def change_password(page: Page, password: str) -> None:
    """The one that somebody else made for them."""
    page.click(".who a")
    page.fill("#f-current", password)
    page.fill("#f-password", "a password of her own")
    page.fill("#f-repeated", "a password of her own")
    page.click("button:has-text('Change password')")
    expect(page.locator(".toast")).to_contain_text("Your password is changed")


def is_offered_nothing(page: Page, topic: str) -> None:
    page.goto("/settings")
    expect(page.get_by_role("link", name="Members")).to_be_visible()
    expect(page.get_by_role("link", name="API keys")).to_have_count(0)
    page.goto("/bundles?source=demo-api")
    expect(page.get_by_text("Compare and promote")).to_have_count(0)
    page.click("tbody tr:has-text('stored') th a")
    settle(page)
    expect(page.get_by_role("button", name="Promote")).to_have_count(0)
    page.goto("/playground")
    expect(page.get_by_role("button", name="Run")).to_have_count(0)
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    page.goto("/cases")
    expect(page.locator("a[href='/cases/new']")).to_have_count(0)
    page.goto("/suites")
    page.click("tbody th a:has-text('story')")
    expect(page.get_by_role("heading", level=1)).to_have_text("story")
    expect(page.locator("main").get_by_role("button", name="Run")).to_have_count(0)
    page.goto(topic)
    expect(page.get_by_role("heading", level=1)).to_have_text("A name of my own")
    expect(page.locator("main form")).to_have_count(0)


def is_refused(page: Page, topic: str) -> None:
    """By address, and by hand with a form that is their own."""
    for path in ("/settings/keys", "/settings/secrets", "/settings/audit", "/bundles/upload", "/cases/new"):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 403, path
        expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
    page.goto("/suites")
    suite = page.locator("tbody th a:has-text('story')").get_attribute("href")
    page.goto("/bundles?source=demo-api")
    bundle = page.locator("tbody tr:has-text('stored') th a").first.get_attribute("href")
    proof = page.locator("input[name=proof]").first.input_value()
    for path, fields in {
        "/settings/keys": {"name": "mine", "role": "viewer", "days": ""},
        "/bundles/upload": {"source": "demo-api", "openapi": "openapi: 3.0.3"},
        f"{bundle}/promote": {},
        "/playground/run": {"slug": "demo-api", "code": "return 1"},
        "/cases/new": {"name": "mine"},
        f"{suite}/run": {},
        f"{topic}/label": {"label": "mine"},
        f"{topic}/archive": {"archived": "yes"},
    }.items():
        form: dict[str, str | float | bool] = {"proof": proof, **fields}
        sent = page.context.request.post(path, form=form, headers={"accept": "text/html"})
        assert sent.status == 403, path
