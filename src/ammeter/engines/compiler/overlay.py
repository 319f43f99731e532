"""An OpenAPI Overlay (1.0 or 1.1) applied to a document.

Comes in: a read document and a read overlay. Goes out: a new document, or None where the overlay as a
whole is broken, and findings whose pointers lead into the overlay (`/actions/3/target`). The input is
never changed. Absent: `extends`, which names a document that we were already given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.document import MAX_DEPTH
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Finding
from ammeter.engines.compiler.selection import (
    BadQuery,
    Budget,
    BudgetSpent,
    Selected,
    TreeArray,
    TreeObject,
    select,
)

MAX_ACTIONS = 1_000
# Some five seconds at most: eighteen `$..name` over a description of 3 MB.
MAX_STEPS = 1_500_000
# What an overlay may add, in characters; a description itself has 6 MB.
MAX_ADDED = 12_000_000
_VALUE_COST = 24

_VERSION = re.compile(r"1\.([01])(\.\d+)?")
_ROOT_KEYS = ("overlay", "info", "extends", "actions")
_INFO_KEYS = ("title", "version", "description")
_ACTION_KEYS = ("target", "description", "update", "remove", "copy")


class _Broken(Exception):
    """An action that cannot be carried out."""

    def __init__(self, code: str, where: str, message: str) -> None:
        super().__init__(message)
        self.code, self.where, self.message = code, where, message


def apply_overlay(
    document: Mapping[str, Any], overlay: Any, *, max_steps: int = MAX_STEPS
) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    findings = Findings()
    budget, added = Budget(max_steps), Budget(MAX_ADDED)
    try:
        overlay, tree = _grown(overlay, budget, None), _grown(document, budget, None)
        minor = _check(overlay, findings)
        if minor is not None:
            _act_all(tree, overlay["actions"], minor, budget, added, findings)
        if not any(finding.level == "error" for finding in findings.all()):
            return _plain(tree), findings.all()
    except _Broken as broken:
        findings.error(broken.code, broken.where, broken.message)
    return None, findings.all()


def _act_all(
    tree: TreeObject, actions: list[Any], minor: int, budget: Budget, added: Budget, findings: Findings
) -> None:
    for index, action in enumerate(actions):
        where = f"/actions/{index}"
        try:
            _act(tree, action, minor, where, budget, added, findings)
        except _Broken as broken:
            findings.error(broken.code, broken.where, broken.message)
        except BudgetSpent:
            message = "The overlay asks for too much work; make its targets narrower or its updates smaller."
            findings.error("overlay_too_costly", where, message)
            return


def _check(overlay: Any, findings: Findings) -> int | None:
    """The minor version of an overlay whose form is right."""
    broken = Findings()
    if not isinstance(overlay, Mapping):
        findings.error(
            "overlay_malformed", "", "An overlay is an object with 'overlay', 'info' and 'actions'."
        )
        return None
    _check_keys(overlay, _ROOT_KEYS, "", broken)
    minor = _minor(overlay.get("overlay"), findings, broken)
    info = overlay.get("info")
    if info is None:
        findings.warning(
            "overlay_info_missing", "", "An overlay should have 'info' with 'title' and 'version'."
        )
    elif not isinstance(info, Mapping):
        broken.error("overlay_malformed", "/info", "'info' must be an object with 'title' and 'version'.")
    else:
        _check_keys(info, _INFO_KEYS, "/info", broken)
        _check_strings(info, _INFO_KEYS, "/info", broken)
        for name in (name for name in ("title", "version") if name not in info):
            findings.warning("overlay_info_missing", "/info", f"'info' of an overlay should have a '{name}'.")
    _check_strings(overlay, ("extends",), "", broken)
    actions = overlay.get("actions")
    if not isinstance(actions, list) or not actions:
        broken.error("overlay_malformed", "/actions", "'actions' must be a list of at least one action.")
    elif len(actions) > MAX_ACTIONS:
        message = f"The overlay has {len(actions):,} actions; at most {MAX_ACTIONS:,} are taken."
        broken.error("overlay_too_costly", "/actions", message)
    else:
        for index, action in enumerate(actions):
            _check_action(action, minor, f"/actions/{index}", findings, broken)
    findings.extend(broken.all())
    return None if broken.all() else minor


def _minor(given: Any, findings: Findings, broken: Findings) -> int | None:
    if isinstance(given, float | int) and not isinstance(given, bool):
        given = str(float(given))
        message = f"The overlay's version should be quoted: '{given}'."
        findings.warning("version_not_a_string", "/overlay", message)
    found = _VERSION.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        shown = "is missing" if given is None else f"is {str(given)[:40]!r}"
        message = f"'overlay', the version of the Overlay Specification, {shown}; taken are 1.0.0 and 1.1.0."
        broken.error("overlay_version", "/overlay", message)
        return None
    return int(found[1])


def _check_action(action: Any, minor: int | None, where: str, findings: Findings, broken: Findings) -> None:
    if not isinstance(action, Mapping):
        broken.error("overlay_malformed", where, "An action is an object with a 'target'.")
        return
    _check_keys(action, _ACTION_KEYS, where, broken)
    _check_strings(action, ("target", "description", "copy"), where, broken)
    if "target" not in action:
        broken.error("overlay_malformed", where, "'target', a JSONPath query, is required.")
    if not isinstance(action.get("remove", False), bool):
        broken.error("overlay_malformed", f"{where}/remove", "'remove' must be true or false.")
    if "copy" in action and minor == 0:
        message = "'copy' came with version 1.1 of the Overlay Specification; write overlay: 1.1.0."
        broken.error("overlay_version", f"{where}/copy", message)
    if "copy" in action and "update" in action:
        broken.error("overlay_malformed", where, "'copy' and 'update' exclude each other in one action.")
    if action.get("remove") is True and ("update" in action or "copy" in action):
        message = "With 'remove: true' the rest of the action has no effect."
        findings.warning("overlay_action_unused", where, message)
    if not action.get("remove") and "update" not in action and "copy" not in action:
        findings.warning(
            "overlay_action_unused", where, "The action has no update, remove or copy: nothing to do."
        )


def _check_keys(value: Mapping[str, Any], known: tuple[str, ...], where: str, broken: Findings) -> None:
    for key in value:
        if key not in known and not str(key).startswith("x-"):
            message = f"Unknown field {str(key)[:60]!r}.{did_you_mean(str(key), known)}"
            broken.error("overlay_unknown_field", where, message)


def _check_strings(value: Mapping[str, Any], names: tuple[str, ...], where: str, broken: Findings) -> None:
    for name in names:
        if name in value and not isinstance(value[name], str):
            broken.error("overlay_malformed", f"{where}/{name}", f"'{name}' must be a string.")


def _act(
    tree: TreeObject,
    action: Mapping[str, Any],
    minor: int,
    where: str,
    budget: Budget,
    added: Budget,
    findings: Findings,
) -> None:
    found = _selected(tree, action["target"], f"{where}/target", budget)
    if not found:
        message = f"The target {action['target'][:200]!r} matches nothing; the action has no effect."
        findings.warning("overlay_no_match", f"{where}/target", message)
        return
    if action.get("remove") is True:
        _remove(found, where)
        return
    if "copy" in action:
        sources = _selected(tree, action["copy"], f"{where}/copy", budget)
        if len(sources) != 1:
            message = f"'copy' must select one node; {action['copy'][:200]!r} selects {len(sources):,}."
            raise _Broken("overlay_copy", f"{where}/copy", message)
        _update(found, _grown(sources[0].value, budget, added), f"{where}/copy", budget, added)
    elif "update" in action:
        if minor == 0 and not isinstance(found[0].value, dict | list):
            message = "Replacing a single value came with version 1.1; it is done, but write overlay: 1.1.0."
            findings.warning("overlay_version", f"{where}/target", message)
        _update(found, action["update"], f"{where}/update", budget, added)


def _selected(tree: TreeObject, query: str, where: str, budget: Budget) -> list[Selected]:
    try:
        return select(tree, query, budget)
    except BadQuery as error:
        message = f"{query[:200]!r} is not a JSONPath query of RFC 9535: {error}."
        raise _Broken("overlay_jsonpath", where, message) from None


def _remove(found: list[Selected], where: str) -> None:
    if any(one.container is None for one in found):
        raise _Broken("overlay_remove_root", f"{where}/target", "The document itself cannot be removed.")
    # From the back, so that the index of one still to go is not moved by one gone before.
    for one in sorted(found, key=lambda one: one.key if isinstance(one.key, int) else 0, reverse=True):
        del one.container[one.key]


def _update(found: list[Selected], value: Any, where: str, budget: Budget, added: Budget) -> None:
    kinds = {_kind(one.value) for one in found}
    if len(kinds) > 1:
        message = f"The target selects {' and '.join(sorted(kinds))} together; one kind is expected."
        raise _Broken("overlay_mixed_targets", where, message)
    for one in found:
        if isinstance(one.value, list):
            items = value if isinstance(value, list) else [value]
            one.value.extend(_grown(item, budget, added) for item in items)
        elif _kind(value) != _kind(one.value):
            message = f"The target selects {_kind(one.value)}; the new value is {_kind(value)}."
            raise _Broken("overlay_incompatible", where, message)
        elif isinstance(one.value, dict):
            _merge(one.value, value, where, budget, added)
        else:
            added.charge(len(value) if isinstance(value, str) else 1)
            one.container[one.key] = value


def _merge(
    target: dict[str, Any], update: Mapping[str, Any], where: str, budget: Budget, added: Budget
) -> None:
    for key, value in update.items():
        if key not in target:
            added.charge(len(key))
            target[key] = _grown(value, budget, added)
            continue
        old = target[key]
        if _kind(old) != _kind(value):
            message = f"At {key[:100]!r} the document has {_kind(old)} and the overlay {_kind(value)}."
            raise _Broken("overlay_incompatible", where, message)
        if isinstance(old, dict):
            _merge(old, value, where, budget, added)
        elif isinstance(old, list):
            old.extend(_grown(item, budget, added) for item in value)
        else:
            added.charge(len(value) if isinstance(value, str) else 1)
            target[key] = value


def _kind(value: Any) -> str:
    return "objects" if isinstance(value, dict) else "arrays" if isinstance(value, list) else "single values"


def _grown(value: Any, budget: Budget, added: Budget | None, depth: int = 0) -> Any:
    """A copy of the value as a tree that charges `budget`; `added` pays for the copy."""
    if added is not None:
        added.charge(_VALUE_COST + (len(value) if isinstance(value, str) else 0))
    if depth > MAX_DEPTH:
        raise _Broken("too_deep", "", f"An overlay may not nest deeper than {MAX_DEPTH} levels.")
    if isinstance(value, Mapping):
        grown = TreeObject({key: _grown(value[key], budget, added, depth + 1) for key in value})
        grown.budget = budget
        return grown
    if isinstance(value, list):
        items = [_grown(value[index], budget, added, depth + 1) for index in range(len(value))]
        array = TreeArray(items)
        array.budget = budget
        return array
    return value


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        message = f"With the overlay the document nests deeper than {MAX_DEPTH} levels."
        raise _Broken("too_deep", "", message)
    if isinstance(value, dict):
        return {key: _plain(value[key], depth + 1) for key in value}
    if isinstance(value, list):
        return [_plain(value[index], depth + 1) for index in range(len(value))]
    return value
