"""The rules on what a script passes: parameters and body. Schemas are only opened here; what is found in
them is said later, when all operations are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ammeter.engines.compiler.diff.fields import default_steps
from ammeter.engines.compiler.diff.graph import SchemaComparison
from ammeter.engines.compiler.diff.literals import escaped
from ammeter.engines.compiler.diff.model import Change, change_of
from ammeter.engines.compiler.diff.registry import PLACED, RULES
from ammeter.engines.compiler.diff.sentences import Root
from ammeter.engines.compiler.model import Body, Operation, Parameter

_TEMPLATE = re.compile(r"\{([^{}]*)\}")
_WITH_FIELDS = ("json", "form", "multipart")

Paired = list[tuple[Parameter, Parameter]]


def normalised_path(path: str) -> str:
    return _TEMPLATE.sub("{}", path)


def paired_parameters(old: Operation, new: Operation) -> tuple[Paired, list[Parameter], list[Parameter]]:
    """Parameters that belong together, those that are gone, those that are new: by place and name (in
    equal paths by position), then by argument."""
    renamed: dict[str, str] = {}
    if normalised_path(old.path) == normalised_path(new.path):
        renamed = dict(zip(_TEMPLATE.findall(old.path), _TEMPLATE.findall(new.path), strict=True))
    news = {_identity(parameter): parameter for parameter in new.parameters}
    pairs, gone = [], []
    for parameter in old.parameters:
        location, name = _identity(parameter)
        key = (location, renamed.get(name, name) if location == "path" else name)
        match = news.pop(key, None)
        if match is None:
            gone.append(parameter)
        else:
            pairs.append((parameter, match))
    by_arg = {parameter.arg: key for key, parameter in news.items()}
    for parameter in list(gone):
        if parameter.arg in by_arg:
            pairs.append((parameter, news.pop(by_arg.pop(parameter.arg))))
            gone.remove(parameter)
    return pairs, gone, list(news.values())


def removed_parameters(gone: list[Parameter], old: Operation) -> Iterator[Change]:
    for parameter in gone:
        yield change_of(RULES["request-parameter-removed"], old.pointer, where=_named(parameter))


def new_parameters(fresh: list[Parameter], new: Operation) -> Iterator[Change]:
    for parameter in fresh:
        rule = "new-required-request-parameter" if parameter.required else "new-optional-request-parameter"
        if parameter.location == "path":
            rule = "new-request-path-parameter"
        yield change_of(RULES[rule], new.pointer, where=_named(parameter))


def parameter_requirements(old: Parameter, new: Parameter, pointer: str) -> Iterator[Change]:
    if old.required != new.required:
        word = "required" if new.required else "optional"
        yield change_of(RULES[f"request-parameter-became-{word}"], pointer, where=_named(new))


def parameter_names(old: Parameter, new: Parameter, pointer: str) -> Iterator[Change]:
    if old.arg != new.arg:
        yield change_of(RULES["argument-renamed"], pointer, old=f"`{old.arg}`", new=f"`{new.arg}`")


def parameter_moves(old: Parameter, new: Parameter, pointer: str) -> Iterator[Change]:
    if old.location == new.location and (old.location == "path" or _identity(old) == _identity(new)):
        return
    before, after = (f"{parameter.location} `{parameter.name}`" for parameter in (old, new))
    yield change_of(RULES["request-parameter-moved"], pointer, where=_named(new), old=before, new=after)


def parameter_deprecations(old: Parameter, new: Parameter, pointer: str) -> Iterator[Change]:
    if old.deprecated != new.deprecated:
        kind = "deprecated" if new.deprecated else "reactivated"
        yield change_of(PLACED[("request-parameter", kind)], pointer, where=_named(new))


def parameter_defaults(
    old: Parameter, new: Parameter, pointer: str, comparison: SchemaComparison
) -> Iterator[Change]:
    if (old.required and new.required) or comparison.is_same(old.schema, new.schema):
        return
    before, after = comparison.shapes(old.schema, new.schema)
    for step in default_steps(before, after, "", pointer):
        rule = PLACED[("request-parameter", step.kind)]
        yield change_of(rule, pointer, where=_named(new), old=step.old, new=step.new)


def parameter_root(
    old: Parameter, new: Parameter, pointers: tuple[str, str], comparison: SchemaComparison
) -> Iterator[Root]:
    node = comparison.open(
        "request", old.schema, new.schema, old_pointer=pointers[0], new_pointer=pointers[1]
    )
    if node is not None:
        yield Root(
            node=node,
            whole="request-parameter",
            part="request-parameter-property",
            name=_named(new),
            word="argument",
            prefix=new.arg,
        )


def body_presence(old: Operation, new: Operation) -> Iterator[Change]:
    if old.body is None and new.body is not None:
        word = "required" if new.body.required else "optional"
        rule = RULES[f"request-body-added-{word}"]
        yield change_of(rule, _body_pointer(new), new=_passed(new.body))
    elif old.body is not None and new.body is None:
        yield change_of(RULES["request-body-removed"], _body_pointer(old), old=_passed(old.body))


def body_requirement(old: Body, new: Body, pointer: str) -> Iterator[Change]:
    if old.required != new.required:
        word = "required" if new.required else "optional"
        yield change_of(RULES[f"request-body-became-{word}"], pointer, new=_passed(new))


def body_arguments(old: Body, new: Body, pointer: str) -> Iterator[Change]:
    if (old.args is None) != (new.args is None):
        rule = RULES["request-body-arguments-changed"]
        yield change_of(rule, pointer, old=_passed(old), new=_passed(new))
    elif old.args is None or new.args is None:
        if old.body_arg != new.body_arg:
            names = {"old": f"`{old.body_arg}`", "new": f"`{new.body_arg}`"}
            yield change_of(RULES["argument-renamed"], pointer, **names)
    else:
        for name in old.args.keys() & new.args.keys():
            before, after = old.args[name], new.args[name]
            if before != after:
                here = f"{pointer}/schema/properties/{escaped(name)}"
                yield change_of(RULES["argument-renamed"], here, old=f"`{before}`", new=f"`{after}`")


def body_media_types(old: Body, new: Body, pointer: str) -> Iterator[Change]:
    before, after = ({body.content_type, *body.other_content_types} for body in (old, new))
    settled: set[str] = set()
    if old.kind != new.kind or old.content_type != new.content_type:
        settled = {old.content_type, new.content_type}
        rule = "media-type-name-changed" if old.kind == new.kind else "media-type-removed"
        names = {"old": f"`{old.content_type}`", "new": f"`{new.content_type}`"}
        yield change_of(RULES[f"request-body-{rule}"], pointer, **names)
    for name in before - after - settled:
        yield change_of(RULES["request-body-other-media-type-removed"], pointer, old=f"`{name}`")
    for name in after - before - settled:
        yield change_of(RULES["request-body-media-type-added"], pointer, new=f"`{name}`")


def body_root(old: Operation, new: Operation, comparison: SchemaComparison) -> Iterator[Root]:
    if old.body is None or new.body is None or {old.body.kind, new.body.kind} - set(_WITH_FIELDS):
        return
    node = comparison.open(
        "request",
        old.body.schema,
        new.body.schema,
        old_pointer=f"{_body_pointer(old)}/schema",
        new_pointer=f"{_body_pointer(new)}/schema",
    )
    if node is not None:
        yield Root(
            node=node,
            whole="request-body",
            part="request-property",
            name="the request body",
            word="argument",
            prefix=new.body.body_arg if new.body.args is None else "",
            args={**(old.body.args or {}), **new.body.args} if new.body.args is not None else {},
        )


def argument_changes(old: Operation, new: Operation, comparison: SchemaComparison) -> Iterator[Change]:
    pairs, gone, fresh = paired_parameters(old, new)
    yield from removed_parameters(gone, old)
    yield from new_parameters(fresh, new)
    for before, after in pairs:
        for rule in (parameter_requirements, parameter_names, parameter_moves, parameter_deprecations):
            yield from rule(before, after, new.pointer)
        yield from parameter_defaults(before, after, new.pointer, comparison)
    yield from body_presence(old, new)
    if old.body is not None and new.body is not None:
        for body_rule in (body_requirement, body_arguments, body_media_types):
            yield from body_rule(old.body, new.body, _body_pointer(new))


def argument_roots(old: Operation, new: Operation, comparison: SchemaComparison) -> Iterator[Root]:
    for before, after in paired_parameters(old, new)[0]:
        yield from parameter_root(before, after, (old.pointer, new.pointer), comparison)
    yield from body_root(old, new, comparison)


def _identity(parameter: Parameter) -> tuple[str, str]:
    is_header = parameter.location == "header"
    return parameter.location, parameter.name.lower() if is_header else parameter.name


def _named(parameter: Parameter) -> str:
    return f"argument `{parameter.arg}`"


def _passed(body: Body) -> str:
    if body.args is None:
        return f"the one argument `{body.body_arg}`"
    names = [f"`{name}`" for name in list(body.args.values())[:6]]
    more = " and more" if len(body.args) > len(names) else ""
    return f"its fields ({', '.join(names)}{more})" if names else "its fields"


def _body_pointer(operation: Operation) -> str:
    kind = operation.body.content_type if operation.body else ""
    return f"{operation.pointer}/requestBody/content/{escaped(kind)}"
