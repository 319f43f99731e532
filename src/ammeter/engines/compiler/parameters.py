"""Parameters of one operation: the path's and its own, each with a key in the argument object.

Names stay the API's own. Where two parameters share a name, the one further back (path, query, header,
cookie) gets its place as a suffix. A path parameter that nobody declared is taken as a string.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import Any, cast, get_args

from ammeter.engines.compiler.findings import Findings, pointer, shown
from ammeter.engines.compiler.model import Json, Location, Parameter
from ammeter.engines.compiler.refs import Refs
from ammeter.engines.compiler.schemas import Schemas
from ammeter.engines.compiler.supplied import CLIENT_HEADERS

_LOCATIONS: tuple[Location, ...] = get_args(Location)
_STYLES: dict[Location, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# In an object literal this one key sets the prototype instead of a property.
_UNSAFE_KEYS = {"__proto__": "proto"}


def read_parameters(
    raw: dict[str, Any],
    item: dict[str, Any],
    path: str,
    where: str,
    refs: Refs,
    schemas: Schemas,
    findings: Findings,
) -> tuple[Parameter, ...] | None:
    """None where one that is needed cannot be read."""
    found: dict[tuple[str, str], Parameter] = {}
    for holder, place in ((item, where.rpartition("/")[0]), (raw, where)):
        given = holder.get("parameters")
        if given is not None and not isinstance(given, list):
            findings.warning("bad_parameters", f"{place}/parameters", "Parameters are a list; these are not.")
        for i, part in enumerate(given if isinstance(given, list) else []):
            here = f"{place}/parameters/{i}"
            followed = refs.follow(part, here)
            if followed is None:
                return None
            parameter = _read(followed[0], here, schemas, findings)
            if parameter is not None:
                found[(parameter.location, parameter.name)] = parameter
    placeholders = list(dict.fromkeys(_PLACEHOLDER.findall(path)))
    kept = [p for p in found.values() if _stands_in(p, placeholders, where, findings)]
    declared = {p.name for p in kept if p.location == "path"}
    for name in placeholders:
        if name not in declared:
            findings.warning(
                "undeclared_path_parameter",
                where,
                f"{{{name}}} of {path} is not declared; a string is assumed.",
            )
            kept.append(_string_in_path(name))
    kept.sort(
        key=lambda p: (
            _LOCATIONS.index(p.location),
            placeholders.index(p.name) if p.location == "path" else 0,
        )
    )
    return _with_args(kept, where, findings)


def _stands_in(parameter: Parameter, placeholders: list[str], where: str, findings: Findings) -> bool:
    if parameter.location != "path" or parameter.name in placeholders:
        return True
    findings.warning(
        "unused_path_parameter", where, f"The path has no {{{parameter.name}}}; the parameter is dropped."
    )
    return False


def _read(raw: dict[str, Any], where: str, schemas: Schemas, findings: Findings) -> Parameter | None:
    name, location = raw.get("name"), raw.get("in")
    if not isinstance(name, str) or not name:
        findings.warning("parameter_without_name", where, "A parameter without a name is dropped.")
        return None
    if location not in _LOCATIONS:
        findings.warning(
            "parameter_without_place",
            where,
            f"The parameter {shown(name)} is in {shown(location)}, which is no place; it is dropped.",
        )
        return None
    location = cast(Location, location)
    if location == "header" and name.lower() in CLIENT_HEADERS:
        findings.info(
            "ignored_header_parameter", where, f"The header {name!r} is set by the client, not by scripts."
        )
        return None
    if location in ("header", "cookie") and not _TOKEN.fullmatch(name):
        findings.warning("bad_header_name", where, f"{shown(name)} cannot be the name of a {location}.")
        return None
    content_type, schema = _schema(raw, where, schemas, findings)
    style = raw.get("style")
    if style is not None and style not in _STYLES[location]:
        findings.warning(
            "unknown_style",
            where,
            f"{shown(style)} is no style for a {location} parameter; the usual one is taken.",
        )
        style = None
    style = style or _STYLES[location][0]
    explode = raw.get("explode")
    return Parameter(
        name=name,
        arg=name,
        location=location,
        required=location == "path" or raw.get("required") is True,
        schema=schema,
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        allow_reserved=raw.get("allowReserved") is True,
        content_type=content_type,
        description=str(raw.get("description") or "").strip(),
        deprecated=raw.get("deprecated") is True,
    )


def _schema(raw: dict[str, Any], where: str, schemas: Schemas, findings: Findings) -> tuple[str | None, Json]:
    if "schema" in raw:
        return None, schemas.read(raw["schema"], f"{where}/schema")
    content = raw.get("content")
    if isinstance(content, dict) and content:
        content_type, media = next(iter(content.items()))
        part = media.get("schema") if isinstance(media, dict) else None
        return str(content_type), schemas.read(part, where + pointer("content", content_type, "schema"))
    findings.warning(
        "parameter_without_schema",
        where,
        f"The parameter {raw['name']!r} has no schema; anything is allowed.",
    )
    return None, {}


def _string_in_path(name: str) -> Parameter:
    return Parameter(
        name=name,
        arg=name,
        location="path",
        required=True,
        schema={"type": "string"},
        style="simple",
        explode=False,
    )


def _with_args(parameters: list[Parameter], where: str, findings: Findings) -> tuple[Parameter, ...]:
    done: list[Parameter] = []
    taken: set[str] = set()
    for parameter in parameters:
        arg = safe_key(parameter.name, where, findings)
        if arg in taken:
            arg = f"{arg}_{parameter.location}"
        arg = free_key(arg, taken)
        taken.add(arg)
        done.append(replace(parameter, arg=arg))
    return tuple(done)


def safe_key(name: str, where: str, findings: Findings) -> str:
    """A key that means itself in a JavaScript object."""
    if name in _UNSAFE_KEYS:
        safe = _UNSAFE_KEYS[name]
        findings.warning("unsafe_name", where, f"{name!r} cannot be a key in a script; it is {safe!r} there.")
        return safe
    return name


def free_key(name: str, taken: Container[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free
