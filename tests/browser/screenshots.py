"""Pictures of every page, light and dark, wide and narrow:

    python -m tests.browser.screenshots FOLDER [NAME…] [--at URL --email E --password P]

Without an address a server with the demo organization is started for it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.browser import NARROW, WIDE, chromium, open_context, sign_in
from tests.browser.demo import Owner, demo_with_data
from tests.browser.looks import settle
from tests.browser.pages import PAGES, Shown

_SIZES = {"wide": WIDE, "narrow": NARROW}
_SCHEMES = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Place:
    url: str
    owner: Owner


def take(browser: Browser, place: Place, folder: Path, shown: list[Shown]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with open_context(browser, place.url) as context:
        sign_in(context.new_page(), place.owner.email, place.owner.password)
        state = context.storage_state()
    count = 0
    for scheme in _SCHEMES:
        for size_name, size in _SIZES.items():
            for signed_in in (False, True):
                kept = {"storage_state": state} if signed_in else {}
                with open_context(browser, place.url, size=size, color_scheme=scheme, **kept) as context:
                    page = context.new_page()
                    for each in (each for each in shown if each.signed_in == signed_in):
                        each.open(page)
                        settle(page)
                        page.screenshot(path=folder / f"{each.name}-{size_name}-{scheme}.png", full_page=True)
                        count += 1
    return count


@contextmanager
def _place(given: argparse.Namespace) -> Iterator[Place]:
    if given.at:
        yield Place(given.at, Owner(given.email, given.password, ""))
        return
    with tempfile.TemporaryDirectory() as folder, demo_with_data(Path(folder)) as demo:
        yield Place(demo.server.url, demo.owner)


def main() -> None:
    parser = argparse.ArgumentParser(description="Take a picture of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="Only pages whose names begin so.")
    parser.add_argument("--at", default="", help="Address of a server that runs.")
    parser.add_argument("--email", default="")
    parser.add_argument("--password", default="")
    given = parser.parse_args()
    shown = [page for page in PAGES if not given.names or page.name.startswith(tuple(given.names))]
    with _place(given) as place, chromium() as browser:
        count = take(browser, place, given.folder, shown)
    print(f"{count} pictures of {len(shown)} pages are in {given.folder}")


if __name__ == "__main__":
    main()
