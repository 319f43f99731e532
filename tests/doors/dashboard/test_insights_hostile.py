"""What agents and APIs write is shown and does nothing: markup, handlers, addresses that are scripts, and
letters that turn the writing around; on every page that shows it, for whoever may do most."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from ammeter.features.orgs.model import Role
from tests.doors.dashboard.analysed import analysed
from tests.doors.dashboard.people import person
from tests.features.insights.stories import search
from tests.household import Household

TURNED = "\u202etxt.exe\u2066\u2069\u200b\x1b[31m"
HOSTILE = (
    "<script>alert('owned')</script><img src=x onerror=alert('owned')>"
    '"\'><a href="javascript:alert(1)">owned</a>{{7*7}}</textarea></title></script>' + TURNED
)
LINK = "javascript:alert('owned')"
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\x1b]")


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def harmless(page: str) -> None:
    assert "owned" in page, "the text is shown"
    found = Tags(page)
    for tag, attributes in found.tags:
        assert tag not in ("img", "iframe", "object", "style", "base"), tag
        assert not [name for name in attributes if name.startswith("on")], attributes
        assert "style" not in attributes
        for name in ("href", "src", "action", "formaction"):
            assert (attributes.get(name) or "/").startswith(("/", "#")), attributes
        if tag == "script":
            assert attributes.get("src") or attributes.get("type") == "application/json"
    assert not _TURNING.search(page), "letters that turn the writing around are shown by their numbers"
    assert "alert(1)49" not in page


def test_nothing_that_agents_write_does_anything(tenant: Household) -> None:
    shop = analysed(tenant)
    for number in range(5):
        session = shop.told.session(
            {"kind": "initialize", "client_name": HOSTILE, "client_version": HOSTILE},
            search(f"owned refund order {HOSTILE}"),
            search(LINK, HOSTILE, f"owned and not used {HOSTILE}"),
            _hostile_script(f"owned refund the order {number} {HOSTILE}"),
        )
    shop.refresh()
    [topic] = shop.topics()
    clusters = shop.clusters()
    assert clusters
    paths = [
        "/overview",
        "/topics",
        f"/topics/{topic.id}",
        f"/topics/{topic.id}/draft",
        "/failed-searches",
        *(
            f"/failed-searches/{cluster.id}"
            for cluster in clusters
            if "owned" in "".join(cluster.example_queries)
        ),
        "/failed-searches/invented-names",
        "/failed-searches/unused-results",
        "/failed-searches/demand",
        "/sessions",
        f"/sessions/{session}",
        f"/sessions/{session}/draft",
    ]
    with person(tenant, Role.owner) as owner:
        for path in paths:
            answer = owner.get(path)
            assert answer.status_code == 200, path
            harmless(answer.text)
        for name in ("intent", "search_miss"):
            asked = owner.client.get("/sessions", params={name: HOSTILE, "view": "all"})
            assert asked.status_code == 200
            harmless(asked.text)
        markup = HOSTILE.removesuffix(TURNED)
        refused = owner.post(f"/topics/{topic.id}/label", label=markup * 5)
        assert refused.status_code == 422
        harmless(refused.text)
        renamed = owner.post(f"/topics/{topic.id}/label", label=markup[:150])
        assert renamed.status_code == 303
        for path in ("/overview", "/topics", f"/topics/{topic.id}"):
            harmless(owner.get(path).text)


def _hostile_script(intent: str) -> dict[str, Any]:
    call = {
        "operationId": HOSTILE,
        "sdkName": HOSTILE,
        "method": "GET",
        "path": HOSTILE,
        "status": 200,
        "durationMs": 3,
        "outcome": "ok",
    }
    return {
        "kind": "script",
        "intent": intent,
        "context": HOSTILE,
        "frustration_text": HOSTILE,
        "code": f"// {HOSTILE}\nreturn `{HOSTILE}`",
        "result": HOSTILE,
        "error_class": HOSTILE,
        "error_message": HOSTILE,
        "logs": [{"level": HOSTILE, "text": HOSTILE}],
        "calls": [call, {}],
        "invented": [HOSTILE],
        "tags": {HOSTILE: HOSTILE},
    }
