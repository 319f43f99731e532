"""Every page of the dashboard, once: what the screenshots show, and what is checked of all of them.

A page with an id in its address is found as a person finds it: `follow` is a link on `path`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    name: str
    path: str
    follow: str = ""
    """A selector of the link to go on with; the first that fits is taken."""
    prepare: Callable[[Page], None] | None = None
    """What to do on the page before it is looked at."""
    signed_in: bool = True

    def open(self, page: Page) -> None:
        page.goto(self.path)
        if self.follow:
            href = page.locator(self.follow).first.get_attribute("href")
            assert href is not None
            page.goto(href)
        if self.prepare is not None:
            self.prepare(page)


def _play(page: Page) -> None:
    page.fill("#f-query", "list the orders of a customer")
    page.click("button:has-text('Search')")
    page.wait_for_selector("#found article")
    page.click("button:has-text('Run')")
    page.wait_for_selector("#ran .badge")


def _draft(page: Page) -> None:
    page.click("a:has-text('Draft an eval case')")
    page.wait_for_selector("button:has-text('Create the eval case')")


def _apply(page: Page) -> None:
    page.click("a:has-text('Apply the overlay')")
    page.wait_for_selector("#f-overlay")


def _preflight(page: Page) -> None:
    page.wait_for_selector("#preflight .remark")


def _edit(page: Page) -> None:
    page.click("a:has-text('Edit')")
    _preflight(page)


def _jump(page: Page) -> None:
    page.click("#criteria .evidence a")
    page.wait_for_selector("mark:target")


PAGES: tuple[Shown, ...] = (
    Shown(name="sign-in", path="/sign-in", signed_in=False),
    Shown(name="start", path="/start"),
    Shown(name="sources", path="/sources"),
    Shown(name="source", path="/sources", follow="tbody a"),
    Shown(name="source-new", path="/sources/new"),
    Shown(name="bundles", path="/bundles"),
    Shown(name="bundle", path="/bundles", follow="tbody tr:has-text('served') th a"),
    Shown(name="bundle-candidate", path="/bundles", follow="tbody tr:has-text('stored') th a"),
    Shown(name="bundle-upload", path="/bundles/upload"),
    Shown(name="playground", path="/playground", prepare=_play),
    Shown(name="cases", path="/cases"),
    Shown(name="case", path="/cases", follow="tbody th a:has-text('counted')"),
    Shown(name="case-new", path="/cases/new", prepare=_preflight),
    Shown(name="case-edit", path="/cases", follow="tbody th a:has-text('counted')", prepare=_edit),
    Shown(name="suites", path="/suites"),
    Shown(name="suite", path="/suites", follow="tbody th a"),
    Shown(name="suite-new", path="/suites/new"),
    Shown(name="suite-runs", path="/suites/runs"),
    Shown(name="suite-run", path="/suites/runs", follow="tbody th a"),
    Shown(name="runs", path="/runs"),
    Shown(name="runs-ci", path="/runs?tag=ci"),
    Shown(name="run", path="/runs?q=counted", follow="tbody th a"),
    Shown(name="run-failed", path="/runs?status=fail", follow="tbody th a"),
    Shown(name="run-evidence", path="/runs?q=counted", follow="tbody th a", prepare=_jump),
    Shown(name="overview", path="/overview"),
    Shown(name="overview-90d", path="/overview?range=90d"),
    Shown(name="topics", path="/topics?range=90d"),
    Shown(name="topic", path="/topics?range=90d", follow="tbody th a"),
    Shown(name="topic-draft", path="/topics?range=90d", follow="tbody th a", prepare=_draft),
    Shown(name="failed-searches", path="/failed-searches?range=90d"),
    Shown(name="failed-search", path="/failed-searches?range=90d&sort=searches", follow="tbody th a"),
    Shown(
        name="bundle-upload-overlay",
        path="/failed-searches?range=90d&gap=alias",
        follow="tbody th a",
        prepare=_apply,
    ),
    Shown(name="invented-names", path="/failed-searches/invented-names?range=90d"),
    Shown(name="unused-results", path="/failed-searches/unused-results?range=90d"),
    Shown(name="demand", path="/failed-searches/demand?range=90d"),
    Shown(name="sessions", path="/sessions?range=90d"),
    Shown(name="sessions-strained", path="/sessions?range=90d&view=high_frustration"),
    Shown(name="session", path="/sessions?range=90d", follow="tbody tr:has-text('failed') th a"),
    Shown(name="settings-organization", path="/settings"),
    Shown(name="settings-members", path="/settings/members"),
    Shown(name="settings-keys", path="/settings/keys"),
    Shown(name="settings-secrets", path="/settings/secrets"),
    Shown(name="settings-models", path="/settings/models"),
    Shown(name="settings-features", path="/settings/features"),
    Shown(name="settings-usage", path="/settings/usage"),
    Shown(name="settings-audit", path="/settings/audit"),
    Shown(name="settings-profile", path="/settings/profile"),
    Shown(name="not-found", path="/nowhere"),
)
