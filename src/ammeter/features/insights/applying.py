"""A proposed overlay put to the one that the served bundle was made with: nothing of that is lost. Pure.

Comes in: the overlay that is kept, or none, and a proposal of `replay.overlay_of`. Goes out: one overlay. A
proposal holds the whole new text of an operation; where it was made before another one for the same operation
was applied, its words go to the end of that one's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_IN_SUMMARY = re.compile(r" \([^()]*\)$")


def applied(kept: Mapping[str, Any] | None, proposed: Mapping[str, Any]) -> dict[str, Any]:
    if kept is None:
        return dict(proposed)
    actions: list[Any] = list(kept.get("actions") or ())
    for action in proposed["actions"]:
        update = {
            name: _told(actions, action["target"], name, text) for name, text in action["update"].items()
        }
        added = {**action, "update": update}
        if added not in actions:
            actions.append(added)
    return {**kept, "actions": actions}


def _told(actions: Sequence[Any], target: str, name: str, text: str) -> str:
    """`text`, or what an earlier action says there with the words of `text` at its end."""
    before = [_said(action, name) for action in actions if _target(action) == target]
    said = next((each for each in reversed(before) if each), "")
    if not said or text.startswith(said.rstrip(".")):
        return text
    if name == "summary":
        words = _IN_SUMMARY.search(text)
        more = words[0] if words else ""
    else:
        more = "\n\n" + text.rpartition("\n\n")[2]
    return said if more.strip() in said else f"{said}{more}"


def _target(action: Any) -> Any:
    return action.get("target") if isinstance(action, Mapping) else None


def _said(action: Mapping[str, Any], name: str) -> str:
    update = action.get("update")
    found = update.get(name) if isinstance(update, Mapping) else None
    return found if isinstance(found, str) else ""
