"""Words of a description inside our own texts: in comments, as keys, as literals. Whatever could end a
comment, break a line, or hide from a reader is taken out or spelled as an escape.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
# Controls, half pairs, marks of direction, and what takes no room on a screen but is read by a model.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


_json = json.JSONEncoder(ensure_ascii=False).encode


def key(name: str) -> str:
    """A name as a key of an object."""
    if name == "__proto__":
        return '["__proto__"]'
    return name if _IDENTIFIER.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    """A string literal that reads as it is written, in TypeScript and JSON alike."""
    return _HIDDEN.sub(_escaped, _json(text))


def literal(value: Any) -> str:
    """A value as JavaScript, keys bare where they can be."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{key(str(name))}: {literal(part)}" for name, part in value.items())
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    return json.dumps(value)


def comment(text: str, limit: int = 300) -> str:
    """Words of the description that may stand in a comment: one line, nothing that ends it."""
    line = " ".join(_HIDDEN.sub(" ", text[: limit * 20]).split())
    line = line.replace("*/", "*\u200a/").replace("/*", "/\u200a*").replace("```", "'''")
    return cut(line, limit)


def cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
