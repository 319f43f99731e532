"""Values that a text gives to a secret's name: `password=…`, `"api_key": "…"`, `Authorization: …`.

What stands in quotes behind such a name goes, as it would in a field of JSON. Without quotes it may as
well be program text (`token: string`, `password = form.password`): then it has to look like a value. In
prose (`my password is …`) it has to look like nothing but a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ammeter.base.tokens import is_random
from ammeter.engines.redact.names import KEYWORDS, Named, meaning
from ammeter.engines.redact.spans import Span

_RANK = 2
_MAX_VALUE = 65_536
_MAX_OPEN = 4_096
# No word of a program is as long.
_SURELY = 256
_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_MAX_NAME = 64

_REST_OF_NAME = re.compile(r"[A-Za-z0-9_-]{0,64}")
_GIVES = re.compile(r"""(?:\\{0,7}["'`])?\]?[ \t]{0,8}(?:=>|:=|=|:|%3[dD])(?![=:])[ \t]{0,8}""")
_SAYS = re.compile(r"\s{1,4}(?:is|was)[ \t]{1,4}(?:now[ \t]{1,4})?", re.IGNORECASE)
_OPENING = re.compile(r"""(\\{0,7})(["'`])""")
_BARE = re.compile(r"""[^\s"'`,;&<>(){}\[\]\\]{1,4096}""")
_LINE = re.compile(r"""[^\r\n"'`\\]{1,4096}""")
_ENDS = {quote: re.compile(rf"(?:[^{quote}\\\r\n]|\\.)*", re.DOTALL) for quote in "\"'`"}
_EXPRESSION = re.compile(r"[A-Za-z_$][\w$]*(?:\?|\.|$)")
_ENDS_OF_SENTENCES = ".,;:!?)"
# `Argon2id-hashed`, `Base64`: a name with a number in it, not drawn by anybody.
_NUMBERED_NAME = re.compile(r"[A-Za-z]+[0-9]{1,3}[a-z]*(?:-[A-Za-z]+)*")
_TYPES = "string number boolean null undefined any unknown true false none str int bool object void never"
_WORDS_OF_TYPES = frozenset(_TYPES.split())
# What stands for a value: a reference, a variable of a shell or template, stars, one of our own marks.
_PLACEHOLDER = re.compile(
    r"(?:secret|env):[\w.-]+|\$\{?\w+\}?|\$\{[^}]*\}|\{\{.*\}\}|<[^>]*>|[xX]{3,}|[*•.…-]+|\[redacted:\w+\]"
)


def assignment_spans(text: str, lower: bytes) -> Iterator[Span]:
    """`lower` is the text in small letters, a byte for each sign."""
    for keyword in KEYWORDS:
        at = lower.find(keyword)
        while at >= 0:
            end = _end_of_name(text, at)
            value = _given(text, at, end)
            if value:
                yield Span(*value, _RANK, "secret_field")
                end = value[1]
            at = lower.find(keyword, max(end, at + 1))


def _given(text: str, at: int, name_end: int) -> tuple[int, int] | None:
    """Where the value stands that the text gives to the name around `at`, if the name is a secret's."""
    gives = _GIVES.match(text, name_end)
    says = None if gives else _SAYS.match(text, name_end)
    if gives is None and says is None:
        return None
    start = _start_of_name(text, at)
    if says and text[start - 1 : start] == " ":
        # `the API key is …`: in prose a name may be two words.
        start = _start_of_name(text, start - 1)
    named = meaning(text[start:name_end])
    if named is None:
        return None
    return _value(text, start, gives, named) if gives else _said(text, says, named) if says else None


def _said(text: str, says: re.Match[str], named: Named) -> tuple[int, int] | None:
    """In a sentence, where most words behind such a name say something about it."""
    bare = _BARE.match(text, says.end())
    value = bare[0].rstrip(_ENDS_OF_SENTENCES) if bare else ""
    if named == "header" or is_placeholder(value) or _NUMBERED_NAME.fullmatch(value):
        return None
    is_value = len(value) >= 16 and is_random(value)
    if named == "password" and len(value) >= 8:
        kinds = (str.islower, str.isupper, str.isdigit)
        is_value |= all(any(kind(sign) for sign in value) for kind in kinds)
    return (says.end(), says.end() + len(value)) if is_value else None


def is_placeholder(value: str) -> bool:
    return not value or _PLACEHOLDER.fullmatch(value) is not None


def _start_of_name(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < _MAX_NAME and text[start - 1] in _NAME_SIGNS:
        start -= 1
    return start


def _end_of_name(text: str, at: int) -> int:
    rest = _REST_OF_NAME.match(text, at)
    assert rest is not None
    return rest.end()


def _value(text: str, name_start: int, gives: re.Match[str], named: Named) -> tuple[int, int] | None:
    start = gives.end()
    opening = _OPENING.match(text, start)
    if opening:
        return _quoted(text, opening)
    if named == "header":
        line = _LINE.match(text, start)
        return line.span() if line and not _is_program_text(line[0].strip(), text, line.end()) else None
    bare = _BARE.match(text, start)
    if bare is None or is_placeholder(bare[0]):
        return None
    in_query = name_start > 0 and text[name_start - 1] in "?&;"
    is_value = in_query or _looks_like_a_value(text, bare, named, tight=gives.end() - gives.start() <= 2)
    return bare.span() if is_value else None


def _quoted(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    slashes, quote = opening[1], opening[2]
    start = opening.end()
    if slashes:
        end = _escaped_end(text, start, slashes + quote)
    else:
        run = _ENDS[quote].match(text, start, start + _MAX_VALUE)
        assert run is not None
        end = run.end()
    value = text[start:end]
    if is_placeholder(value) or value.lower() in _WORDS_OF_TYPES:
        return None
    return start, end


def _escaped_end(text: str, start: int, closing: str) -> int:
    """Where the same escaped quote stands again, not one that is escaped once more."""
    at = text.find(closing, start, start + _MAX_VALUE)
    while at > start and text[at - 1] == "\\":
        at = text.find(closing, at + 1, start + _MAX_VALUE)
    return at if at >= 0 else min(len(text), start + _MAX_OPEN)


def _looks_like_a_value(text: str, bare: re.Match[str], named: Named, *, tight: bool) -> bool:
    value = bare[0]
    if len(value) > _SURELY:
        return True
    if _is_program_text(value, text, bare.end()):
        return False
    if named == "password" and tight:
        return True
    has_digit = any(sign.isdigit() for sign in value)
    if named == "password":
        return has_digit or not value.isalpha()
    return (len(value) >= 16 and is_random(value)) or (tight and has_digit and len(value) >= 8)


def _is_program_text(value: str, text: str, end: int) -> bool:
    """A type, a call, a member or a plain name that ends a statement."""
    if value.lower().rstrip("?!|") in _WORDS_OF_TYPES:
        return True
    follows = text[end : end + 1]
    if follows in ("(", "[", "{") and follows:
        return True
    member = _EXPRESSION.match(value)
    return member is not None and ("." in value or "?" in value) and not any(c.isdigit() for c in value)
