"""Two descriptions in, what changed for scripts out. First every pair of operations says what differs by
itself and opens its schemas, then what was found in the schemas is told to each operation that uses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ammeter.engines.compiler.diff.answers import answer_changes, answer_roots, error_body_change
from ammeter.engines.compiler.diff.arguments import argument_changes, argument_roots, normalised_path
from ammeter.engines.compiler.diff.graph import SchemaComparison
from ammeter.engines.compiler.diff.model import ApiDiff, Change, Entry
from ammeter.engines.compiler.diff.operations import added, matched_operations, operation_changes, removed
from ammeter.engines.compiler.diff.sentences import Root, changes_of
from ammeter.engines.compiler.model import Api, Operation

_RANK = {"error": 0, "warning": 1, "info": 2}


def diff_apis(old: Api | None, new: Api) -> ApiDiff:
    """Without an old description everything is added."""
    if old is None:
        entries = _sorted(_entry(operation, [added(operation)]) for operation in new.operations)
        return ApiDiff(added=entries, removed=(), signature_changed=(), breaking=())
    pairs, gone, fresh = matched_operations(old.operations, new.operations)
    comparison = SchemaComparison(old.schemas, new.schemas)
    opened = [(before, after, _roots(before, after, comparison)) for before, after in pairs]
    changed = []
    for before, after, roots in opened:
        changes = [
            *operation_changes(before, after, old, new),
            *argument_changes(before, after, comparison),
            *answer_changes(before, after),
        ]
        for root in roots:
            facts = comparison.facts(root.node)
            if not root.is_error_body:
                changes += changes_of(root, facts)
            elif next(facts, None):
                changes.append(error_body_change(root, after.pointer))
        if changes:
            changed.append(_entry(after, changes))
    paths_left = frozenset(normalised_path(operation.path) for operation in new.operations)
    removals = _sorted(_entry(operation, [removed(operation, paths_left)]) for operation in gone)
    signature_changed = _sorted(changed)
    return ApiDiff(
        added=_sorted(_entry(operation, [added(operation)]) for operation in fresh),
        removed=removals,
        signature_changed=signature_changed,
        breaking=_sorted(entry for entry in (*removals, *signature_changed) if entry.is_breaking),
    )


def _roots(old: Operation, new: Operation, comparison: SchemaComparison) -> list[Root]:
    return [*argument_roots(old, new, comparison), *answer_roots(old, new, comparison)]


def _entry(operation: Operation, changes: Iterable[Change]) -> Entry:
    return Entry(
        operation_id=operation.id,
        method=operation.method,
        path=operation.path,
        sdk_name=operation.sdk_name,
        changes=tuple(sorted(set(changes), key=_order)),
    )


def _order(change: Change) -> tuple[int, str, str, str]:
    return _RANK[change.level], change.rule, change.pointer, change.message


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(
        sorted(entries, key=lambda e: (e.sdk_name, e.path, e.method, e.operation_id, e.changes != ()))
    )
