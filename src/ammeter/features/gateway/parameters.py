"""Parameters in the form that the description asks for: a value in, its text for path, query, header or
cookie out. Every value is encoded so that it cannot leave its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ammeter.engines.compiler.model import Parameter
from ammeter.engines.egress.base_url import means_up

_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# What `allowReserved` leaves as it is; the marks that part a query stay encoded all the same.
_RESERVED = ":/?@!$'()*,;"
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


class BadArgument(ValueError):
    """An argument that cannot be sent, in words."""


def bad(arg: str, message: str) -> BadArgument:
    path = f"args.{arg}" if arg.isidentifier() else f"args[{json.dumps(arg, ensure_ascii=False)}]"
    return BadArgument(f"{path}: {message}")


def in_path(parameter: Parameter, value: Any) -> str:
    if value in ("", [], {}):
        raise bad(parameter.arg, "a part of the path must not be empty")
    if any(means_up(text) for text in _texts(value)):
        raise bad(
            parameter.arg, "'.' and '..' as a part of the path would lead to another path; they are refused"
        )
    if parameter.content_type is not None:
        return _quote(document(value))
    name = _quote(parameter.name)
    joined = _joined(value, explode=parameter.explode, pair="=" if parameter.explode else ",", safe="")
    match parameter.style:
        case "label":
            return "." + (joined.replace(",", ".") if parameter.explode else joined)
        case "matrix" if parameter.explode and isinstance(value, list):
            return "".join(f";{name}={_encoded(item, '')}" for item in value)
        case "matrix" if parameter.explode and isinstance(value, dict):
            return "".join(f";{_quote(key)}={_encoded(item, '')}" for key, item in value.items())
        case "matrix":
            return f";{name}={joined}"
        case _:
            return joined


def in_query(parameter: Parameter, value: Any) -> list[str]:
    """Parts of the query, each `name=value`, encoded."""
    safe = _RESERVED if parameter.allow_reserved else ""
    name = _quote(parameter.name)
    if parameter.content_type is not None:
        return [f"{name}={_quote(document(value), safe)}"]
    if parameter.style == "deepObject" and isinstance(value, dict | list):
        return [f"{_quote(key)}={_encoded(item, safe)}" for key, item in deep(parameter.name, value)]
    if not isinstance(value, dict | list):
        return [f"{name}={_encoded(value, safe)}"]
    if not value:
        return []
    if parameter.explode:
        pairs = value.items() if isinstance(value, dict) else ((parameter.name, item) for item in value)
        return [f"{_quote(key)}={_encoded(item, safe)}" for key, item in pairs if item is not None]
    delimiter = _DELIMITERS.get(parameter.style, ",")
    return [f"{name}={delimiter.join(_encoded(item, safe) for item in _flat(value))}"]


def in_header(parameter: Parameter, value: Any) -> str:
    if parameter.content_type is not None:
        text = document(value)
    elif isinstance(value, dict) and parameter.explode:
        text = ",".join(f"{key}={plain(item)}" for key, item in value.items())
    elif isinstance(value, dict | list):
        text = ",".join(plain(item) for item in _flat(value))
    else:
        text = plain(value)
    if _UNFIT.search(text):
        raise bad(parameter.arg, "a header cannot hold line ends or control characters")
    return text.strip(" \t")


def in_cookie(parameter: Parameter, value: Any) -> str:
    name = _quote(parameter.name)
    if parameter.content_type is not None:
        return f"{name}={_quote(document(value))}"
    if isinstance(value, dict | list) and parameter.explode:
        pairs = value.items() if isinstance(value, dict) else ((parameter.name, item) for item in value)
        return "; ".join(f"{_quote(key)}={_encoded(item, '')}" for key, item in pairs)
    return f"{name}={_joined(value, explode=False, pair=',', safe='')}"


def deep(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """`a[b][0]` and its value, for each value in an object."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from deep(f"{name}[{key}]", item)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from deep(f"{name}[{place}]", item)
    elif value is not None:
        yield name, value


def plain(value: Any) -> str:
    """A value as text: booleans and numbers as JSON writes them, a whole number without a point."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return "" if value is None else document(value)


def document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quote(text: str, safe: str = "") -> str:
    # Half a surrogate pair, which a script can make, has no encoding.
    return quote(text, safe=safe, errors="replace")


def _encoded(value: Any, safe: str) -> str:
    return _quote(plain(value), safe)


def _joined(value: Any, *, explode: bool, pair: str, safe: str) -> str:
    if isinstance(value, dict) and explode:
        return ",".join(f"{_quote(k)}{pair}{_encoded(v, safe)}" for k, v in value.items())
    if isinstance(value, dict | list):
        return ",".join(_encoded(item, safe) for item in _flat(value))
    return _encoded(value, safe)


def _flat(value: dict[str, Any] | list[Any]) -> list[Any]:
    if isinstance(value, list):
        return [item for item in value if item is not None]
    return [part for pair in value.items() if pair[1] is not None for part in pair]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield plain(value)
