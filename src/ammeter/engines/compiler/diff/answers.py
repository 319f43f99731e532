"""The rules on what a script gets back: statuses, kinds of documents, pages. The fields of an answer are
compared as schemas; of errors, which scripts rarely take apart, only whether their bodies changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from ammeter.engines.compiler.diff.graph import SchemaComparison
from ammeter.engines.compiler.diff.literals import escaped
from ammeter.engines.compiler.diff.model import Change, change_of
from ammeter.engines.compiler.diff.registry import RULES
from ammeter.engines.compiler.diff.sentences import Root
from ammeter.engines.compiler.model import Operation, Response


def success_statuses(old: Operation, new: Operation) -> Iterator[Change]:
    before, after = old.success, new.success
    olds, news = _successes(old), _successes(new)
    settled: set[str] = set()
    if before is not None and after is None:
        settled = {before.status}
        rule = RULES["response-success-status-removed"]
        yield change_of(rule, _pointer(old, before), old=f"`{before.status}`")
    elif before is not None and after is not None and before.status not in news:
        settled = {before.status, after.status}
        rule = RULES["response-success-status-changed"]
        names = {"old": f"`{before.status}`", "new": f"`{after.status}`"}
        yield change_of(rule, _pointer(new, after), **names)
    for status in news.keys() - olds.keys() - settled:
        rule = RULES["response-success-status-added"]
        yield change_of(rule, _pointer(new, news[status]), new=f"`{status}`")
    for status in olds.keys() - news.keys() - settled:
        rule = RULES["response-other-success-status-removed"]
        yield change_of(rule, _pointer(old, olds[status]), old=f"`{status}`")


def failure_statuses(old: Operation, new: Operation) -> Iterator[Change]:
    olds, news = _failures(old), _failures(new)
    for status in news.keys() - olds.keys():
        rule = RULES["response-non-success-status-added"]
        yield change_of(rule, _pointer(new, news[status]), new=f"`{status}`")
    for status in olds.keys() - news.keys():
        rule = RULES["response-non-success-status-removed"]
        yield change_of(rule, _pointer(old, olds[status]), old=f"`{status}`")


def answer_kinds(old: Operation, new: Operation) -> Iterator[Change]:
    for before, after in _answers(old, new):
        names = {"where": _named(new, after), "old": _kind_text(before), "new": _kind_text(after)}
        pointer = _pointer(new, after)
        if before.kind != after.kind:
            rule = "response-media-type-added" if before.kind == "none" else "response-media-type-removed"
            yield change_of(RULES[rule], pointer, **names)
        elif before.content_type != after.content_type:
            yield change_of(RULES["response-media-type-name-changed"], pointer, **names)


def pagination(old: Operation, new: Operation) -> Iterator[Change]:
    before, after = old.pagination, new.pagination
    where = f"`{new.sdk_name}`"
    if before is None or after is None:
        if before is not after:
            word = "removed" if after is None else "added"
            yield change_of(RULES[f"pagination-{word}"], new.pointer, where=where)
        return
    if before.items != after.items:
        names = {"old": _rows(before.items), "new": _rows(after.items)}
        yield change_of(RULES["pagination-items-changed"], new.pointer, where=where, **names)
    if before.kind != after.kind:
        names = {"old": before.kind, "new": after.kind}
        yield change_of(RULES["pagination-kind-changed"], new.pointer, where=where, **names)


def answer_changes(old: Operation, new: Operation) -> Iterator[Change]:
    for rule in (success_statuses, failure_statuses, answer_kinds, pagination):
        yield from rule(old, new)


def answer_roots(old: Operation, new: Operation, comparison: SchemaComparison) -> Iterator[Root]:
    olds, news = _failures(old), _failures(new)
    failures = [(olds[status], news[status]) for status in sorted(olds.keys() & news.keys())]
    for pairs, is_error in ((_answers(old, new), False), (failures, True)):
        for before, after in pairs:
            if before.kind != "json" or after.kind != "json":
                continue
            node = comparison.open(
                "response",
                before.schema or {},
                after.schema or {},
                old_pointer=_schema_pointer(old, before),
                new_pointer=_schema_pointer(new, after),
            )
            if node is not None:
                yield Root(
                    node=node,
                    whole="response-body",
                    part="response-property",
                    name=f"the error `{after.status}`" if is_error else _named(new, after),
                    word="answer field",
                    is_error_body=is_error,
                )


def error_body_change(root: Root, pointer: str) -> Change:
    return change_of(RULES["error-response-body-changed"], pointer, where=root.name)


def _answers(old: Operation, new: Operation) -> list[tuple[Response, Response]]:
    """The answers that a script gets, and others of success by status."""
    if old.success is None or new.success is None:
        return []
    olds, news = _successes(old), _successes(new)
    rest = (olds.keys() & news.keys()) - {old.success.status, new.success.status}
    return [(old.success, new.success), *((olds[status], news[status]) for status in sorted(rest))]


def _successes(operation: Operation) -> dict[str, Response]:
    found = {r.status: r for r in operation.responses if r.status.startswith("2")}
    main = operation.success
    return found or ({main.status: main} if main else {})


def _failures(operation: Operation) -> dict[str, Response]:
    good = _successes(operation)
    return {r.status: r for r in operation.responses if r.status not in good}


def _named(operation: Operation, response: Response) -> str:
    main = operation.success
    return "the answer" if main and main.status == response.status else f"the answer `{response.status}`"


def _kind_text(response: Response) -> str:
    return f"`{response.content_type or response.kind}`" if response.kind != "none" else "empty"


def _rows(path: tuple[str, ...]) -> str:
    return f"`{'.'.join(path)}`" if path else "the answer itself"


def _pointer(operation: Operation, response: Response) -> str:
    return f"{operation.pointer}/responses/{escaped(response.status)}"


def _schema_pointer(operation: Operation, response: Response) -> str:
    return f"{_pointer(operation, response)}/content/{escaped(response.content_type or '')}/schema"
