"""How long the server takes for each page of the dashboard, on the data of the demo organization:

    python benchmarks/pages.py [ROUNDS]

Each page is asked for in turn over one connection, as a reader does; the first time, when templates are
compiled, is one of the rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx2

from tests.browser.browser import chromium, open_context, sign_in
from tests.browser.demo import FullDemo, demo_with_data
from tests.browser.pages import PAGES

LIMIT_MS = 150.0


def addresses(demo: FullDemo) -> tuple[dict[str, str], dict[str, str]]:
    """The address of each page, and the cookies of somebody who is signed in."""
    found: dict[str, str] = {}
    with chromium() as browser, open_context(browser, demo.server.url) as context:
        page = context.new_page()
        sign_in(page, demo.owner.email, demo.owner.password)
        for shown in (shown for shown in PAGES if shown.signed_in):
            shown.open(page)
            found[shown.name] = page.url
        return found, {cookie["name"]: cookie["value"] for cookie in context.cookies()}


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 20
    with tempfile.TemporaryDirectory() as folder, demo_with_data(Path(folder)) as demo:
        pages, cookies = addresses(demo)
        times: dict[str, list[float]] = {name: [] for name in pages}
        headers = {"accept": "text/html", "accept-encoding": "gzip"}
        with httpx2.Client(cookies=cookies, headers=headers, timeout=30) as client:
            for _ in range(rounds):
                for name, url in pages.items():
                    started = time.perf_counter()
                    client.get(url)
                    times[name].append((time.perf_counter() - started) * 1000)
    for name, taken in sorted(times.items(), key=lambda each: -statistics.median(each[1])):
        p95 = statistics.quantiles(taken, n=20)[-1]
        print(
            f"{name:28} median {statistics.median(taken):7.1f} ms   p95 {p95:7.1f} ms"
            f"{'   over the limit' if p95 > LIMIT_MS else ''}"
        )


if __name__ == "__main__":
    main()
