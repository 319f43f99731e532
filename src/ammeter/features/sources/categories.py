"""The categories a source may have, and which of them its tools' own words speak for. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_MOST = 3
_LEAST_HITS = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CATEGORIES: Mapping[str, frozenset[str]] = {
    "payments": _words("payment pay charge refund invoice checkout payout card subscription billing price"),
    "accounting": _words("ledger journal accounting expense bookkeeping tax bill vendor reconcile"),
    "ecommerce": _words("cart product catalog order shop store inventory sku shipping fulfillment book"),
    "crm": _words("contact lead deal opportunity account pipeline crm customer prospect"),
    "marketing": _words("campaign audience newsletter segment marketing ad ads seo promotion"),
    "customer-support": _words("ticket support helpdesk sla complaint macro agent escalation"),
    "communication": _words("message email mail chat sms channel call inbox conversation notification reply"),
    "calendar": _words("calendar event meeting schedule appointment availability attendee booking"),
    "time": _words("time timezone clock date utc"),
    "documents": _words("document doc page note wiki pdf template slide spreadsheet sheet"),
    "files": _words("file folder directory upload download path drive storage"),
    "project-management": _words("task project issue sprint milestone board backlog epic todo kanban"),
    "developer-tools": _words(
        "repository repo commit branch git pull merge build deploy pipeline code release lint debug diff test"
    ),
    "databases": _words("database table query sql row column schema record index collection"),
    "cloud-infrastructure": _words(
        "server instance container cluster vm bucket deployment node region kubernetes pod network dns"
    ),
    "monitoring": _words("metric alert log trace incident uptime dashboard monitor error latency"),
    "analytics": _words("analytics report funnel cohort insight chart statistic trend visitor segment"),
    "search": _words("search index query result ranking web crawl"),
    "ai": _words("model prompt completion embedding llm agent inference sampling generate"),
    "knowledge": _words("knowledge graph entity relation memory observation recall fact"),
    "security": _words("vulnerability secret permission role audit policy key token scan threat"),
    "identity": _words("user login password session sso oauth identity group member authenticate"),
    "hr": _words("employee candidate payroll leave onboarding applicant recruiting salary"),
    "finance": _words("stock portfolio trade quote exchange currency market fund crypto rate"),
    "maps-and-travel": _words("map location route geocode place distance flight hotel travel weather trip"),
    "media": _words("video image audio song playlist photo stream track podcast"),
    "social": _words("post follower tweet like comment feed timeline share friend"),
}
"""A slug, and the words that speak for it."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def propose(tools: Iterable[Mapping[str, Any]], instructions: str = "") -> tuple[str, ...]:
    """The categories most spoken of; a tool's name counts more than its description. None for few words."""
    spoken: Counter[str] = Counter()
    for tool in tools:
        for word in _plain_words(str(tool.get("name") or "")):
            spoken[word] += 3
        for word in _plain_words(str(tool.get("description") or "")[:400]):
            spoken[word] += 1
    for word in _plain_words(instructions[:1_000]):
        spoken[word] += 1
    scores = {slug: sum(spoken[word] for word in words) for slug, words in CATEGORIES.items()}
    best = sorted((slug for slug in scores if scores[slug] > _LEAST_HITS), key=lambda s: (-scores[s], s))
    if not best:
        return ()
    # Far behind the first, a category is only mentioned.
    return tuple(slug for slug in best[:_MOST] if scores[slug] * 3 >= scores[best[0]])


def _plain_words(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)}
    return words | {word[:-1] for word in words if word.endswith("s") and not word.endswith("ss")}
