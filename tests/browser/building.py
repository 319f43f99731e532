"""Bringing an API to agents as a person does it: key, source, upload, promotion, playground."""

from __future__ import annotations

import json
import re

import httpx2
from playwright.sync_api import Page, expect

from ammeter.cli.demo_surroundings import next_description
from ammeter.cli.remote import Remote
from ammeter.doors.demo_api.names import DEMO_BASE, DEMO_SECRET
from tests.browser.demo import FullDemo
from tests.browser.looks import settle


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


def promote(page: Page, name: str) -> None:
    """From the page of a bundle that is not served yet."""
    settle(page)
    page.click("button:has-text('Promote')")
    expect(page.get_by_role("dialog")).to_contain_text("Serve this bundle in production?")
    page.click("dialog button.main")
    expect(page.locator(".toast")).to_contain_text(f"{name} serves this bundle in production now")
    expect(page.locator(".head .badge")).to_have_text("served in production")


def search(page: Page, slug: str, query: str, operation_id: str) -> None:
    page.goto(f"/playground?source={slug}")
    page.fill("#f-query", query)
    page.click("button:has-text('Search')")
    expect(page.locator("#found article").first).to_contain_text(operation_id)


def run_scripts(page: Page) -> None:
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


def asked_with(demo: FullDemo, token: str) -> int:
    """The status that a program with this key is answered with."""
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.get(f"{demo.server.api}/org", headers=headers).status_code
