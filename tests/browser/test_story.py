"""The whole story in a browser: from the sign-in to an agent's API and back to a revoked key; and that a
viewer is offered none of it and refused all of it."""

from __future__ import annotations

import json
import re

import httpx2
from playwright.sync_api import Browser, Page, expect

from ammeter.cli.demo_surroundings import next_description
from ammeter.cli.remote import Remote
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_SECRET
from tests.browser.browser import open_context, sign_in
from tests.browser.demo import FullDemo
from tests.browser.looks import listen, settle


def test_a_person_brings_an_api_to_agents(browser: Browser, demo: FullDemo) -> None:
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        complaints = listen(page)
        sign_in(page, demo.owner.email, demo.owner.password)
        token = mint_key(page)
        make_source(page)
        upload_with_key(demo, token)
        promote(page)
        play(page)
        revoke_key(page)
        assert _asked_with(demo, token) == 401
        sign_out(page)
        assert complaints == []


def test_a_viewer_may_look_and_nothing_else(browser: Browser, demo: FullDemo) -> None:
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, demo.owner.email, demo.owner.password)
        password = add_member(page, "vera@demo.example", "viewer")
    with open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, "vera@demo.example", password)
        page.goto("/settings")
        expect(page.get_by_role("link", name="Members")).to_be_visible()
        expect(page.get_by_role("link", name="API keys")).to_have_count(0)
        page.goto("/bundles")
        expect(page.get_by_text("Compare and promote")).to_have_count(0)
        page.click("tbody tr:has-text('stored') th a")
        settle(page)
        expect(page.get_by_role("button", name="Promote")).to_have_count(0)
        bundle = page.url
        page.goto("/playground")
        expect(page.get_by_role("button", name="Run")).to_have_count(0)
        expect(page.get_by_role("button", name="Search")).to_be_visible()
        for path in ("/settings/keys", "/settings/secrets", "/settings/audit", "/bundles/upload"):
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 403
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
        # Nor by hand, with a form that is their own.
        page.goto("/settings")
        proof = page.locator("input[name=proof]").first.input_value()
        sent = context.request.post(
            f"{bundle}/promote", form={"proof": proof}, headers={"accept": "text/html"}
        )
        assert sent.status == 403
        ran = context.request.post(
            "/playground/run", form={"proof": proof, "slug": "demo-api", "code": "return 1"}
        )
        assert ran.status == 403


def mint_key(page: Page) -> str:
    page.goto("/settings/keys")
    page.fill("#f-name", "the story's key")
    page.select_option("#f-role", "editor")
    page.click("button:has-text('Mint key')")
    token = page.locator(".token").inner_text()
    assert re.fullmatch(r"amt_[a-z2-7]{12}_[a-z2-7]{48}", token)
    page.goto("/settings/keys")
    expect(page.locator("main")).not_to_contain_text(token)
    return token


def make_source(page: Page) -> None:
    page.goto("/sources")
    page.click("text=New source")
    page.fill("#f-name", "Second shop")
    page.fill("#f-slug", "second-shop")
    page.click("text=Make the source")
    page.wait_for_url("**/bundles/upload?source=*")
    expect(page.locator(".toast")).to_contain_text("Second shop is made")


def upload_with_key(demo: FullDemo, token: str) -> None:
    """As a pipeline does it."""
    remote = Remote(demo.server.url, token, timeout_s=60)
    body = json.dumps(
        {
            "source": "second-shop",
            "openapi": next_description(),
            "manifest": {
                "clientName": "shop",
                "baseUrl": f"{demo.server.url}{DEMO_BASE}",
                "auth": {"type": "bearer", "secretRef": f"secret:{DEMO_SECRET}"},
            },
            "branch": "main",
        }
    ).encode()
    assert remote.post("/api/openapi-artifacts/upload", body, headers=remote.signature(body))["bundleId"]


def promote(page: Page) -> None:
    page.goto("/bundles?source=second-shop")
    page.click("text=Compare and promote")
    settle(page)
    expect(page.locator("main")).to_contain_text("everything is new")
    page.click("button:has-text('Promote')")
    expect(page.get_by_role("dialog")).to_contain_text("Serve this bundle in production?")
    page.click("dialog button.main")
    expect(page.locator(".toast")).to_contain_text("Second shop serves this bundle in production now")
    expect(page.locator(".head .badge")).to_have_text("served in production")


def play(page: Page) -> None:
    page.goto("/playground?source=second-shop")
    page.fill("#f-query", "wish list of a customer")
    page.click("button:has-text('Search')")
    expect(page.locator("#found article").first).to_contain_text("getWishList")
    page.fill(
        "#f-code",
        "console.log('<b>hello</b>');\nreturn (await shop.books.searchBooks({q: 'lamp'})).items.length;",
    )
    page.click("button:has-text('Run')")
    expect(page.locator("#ran .badge").first).to_have_text("ok")
    expect(page.locator("#ran")).to_contain_text("<b>hello</b>")
    expect(page.locator("#ran")).to_contain_text("GET /books/search")
    page.fill("#f-code", "return shop.genres.list();")
    page.click("button:has-text('Run')")
    expect(page.locator("#ran .badge").first).to_have_text("failed")
    expect(page.locator("#ran")).to_contain_text("there is no shop.genres")


def revoke_key(page: Page) -> None:
    page.goto("/settings/keys?q=story")
    page.click("button:has-text('Revoke')")
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone")
    page.click("dialog button:has-text('Cancel')")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.click("button:has-text('Revoke')")
    page.click("dialog button.main")
    expect(page.locator("tbody")).to_contain_text("revoked")


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


def _asked_with(demo: FullDemo, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.get(f"{demo.server.api}/org", headers=headers).status_code
