"""The SDK index for prompting: what an agent is told of the API when it connects, within a budget.

A small API gets every signature. A larger one gets its groups with counts and, as far as the budget goes,
the names of the most useful methods of each. The words of the description are the API's, not ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ammeter.engines.compiler.model import Api, Card
from ammeter.engines.compiler.text import comment

BUDGET_TOKENS = 2_000
_METHOD_ORDER = {"get": 0, "post": 1, "put": 2, "patch": 3, "delete": 4}

_LEGEND = {
    "Paged<": "Paged<Answer, Row>: await it for the first answer, `for await` it for the rows of all.",
    "Binary": "Binary: { base64: string; contentType?: string; filename?: string }",
}


def tokens(text: str) -> int:
    """About how many tokens a text is for a language model: never fewer than the common ones count."""
    ascii_size = len(text.encode("ascii", "ignore"))
    return -(-ascii_size * 10 // 33) + (len(text) - ascii_size)


def sdk_index(api: Api, cards: Sequence[Card], client_name: str, *, budget: int = BUDGET_TOKENS) -> str:
    living = [card for card in cards if not card.deprecated] or list(cards)
    title = comment(f"{api.title} {api.version}".strip(), 120) or "The API"
    count = "1 operation" if len(cards) == 1 else f"{len(cards)} operations"
    older = f" ({len(cards) - len(living)} deprecated, not listed)" if len(living) < len(cards) else ""
    head = f"{title}: {count} on the global `{client_name}`{older}."
    for lines in (_signatures(living), _summaries(living, client_name), _names(living, client_name)):
        text = "\n".join([head, *lines])
        if tokens(text) <= budget:
            return text
    return _groups(head, living, client_name, budget)


def _signatures(cards: Sequence[Card]) -> list[str]:
    lines = [
        f"{card.signature}  // {comment(card.summary, 100)}" if card.summary else card.signature
        for card in cards
    ]
    legend = [text for word, text in _LEGEND.items() if any(word in card.signature for card in cards)]
    return [*legend, *lines]


def _summaries(cards: Sequence[Card], client_name: str) -> list[str]:
    def about(card: Card) -> str:
        return comment(card.summary or f"{card.method.upper()} {card.path}", 80)

    return [f"{client_name}.{card.sdk_name}  // {about(card)}" for card in cards]


def _names(cards: Sequence[Card], client_name: str) -> list[str]:
    by_group = _by_group(cards)
    return [
        f"{client_name}.{group}: {', '.join(_last(card) for card in inner)}"
        for group, inner in by_group.items()
    ]


def _groups(head: str, cards: Sequence[Card], client_name: str, budget: int) -> str:
    """Every group by name and count if that fits; methods are added round by round while there is room."""
    by_group = _by_group(cards)
    order = sorted(by_group, key=lambda group: (-len(by_group[group]), group))
    left = budget - tokens(head) - 60
    shown: dict[str, list[str]] = {}
    for group in order:
        cost = tokens(f"{client_name}.{group} ({len(by_group[group])}): \n")
        if cost > left:
            break
        shown[group] = []
        left -= cost
    for place in range(max(map(len, by_group.values()))):
        for group, names in shown.items():
            if place < len(by_group[group]):
                name = _last(by_group[group][place])
                if (cost := tokens(name + ", ")) <= left:
                    names.append(name)
                    left -= cost
    lines = [
        _group_line(client_name, group, names, len(by_group[group])) for group, names in sorted(shown.items())
    ]
    if len(shown) < len(by_group):
        lines.append(f"… and {len(by_group) - len(shown)} more groups; find any operation with search_sdk.")
    return "\n".join([head, "Groups with their number of methods; find the rest with search_sdk.", *lines])


def _group_line(client_name: str, group: str, names: list[str], count: int) -> str:
    listed = ", ".join(names) + (", …" if names and len(names) < count else "")
    return f"{client_name}.{group} ({count}){': ' + listed if listed else ''}"


def _by_group(cards: Sequence[Card]) -> dict[str, list[Card]]:
    groups: dict[str, list[Card]] = defaultdict(list)
    for card in cards:
        groups[card.sdk_name.rpartition(".")[0]].append(card)
    # Short paths first: those are the operations on the things themselves.
    for inner in groups.values():
        inner.sort(key=lambda c: (c.path.count("/"), _METHOD_ORDER.get(c.method, 9), c.sdk_name))
    return dict(sorted(groups.items()))


def _last(card: Card) -> str:
    return card.sdk_name.rpartition(".")[2]
