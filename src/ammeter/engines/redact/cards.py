"""Numbers of payment cards: the digits that the large issuers give out, whose check digit is right."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ammeter.engines.redact.spans import Span

_RANK = 1
_MASK = bytes({b" ": 1, b"-": 1}.get(bytes([b]), ord("d") if b in b"0123456789" else 0) for b in range(256))
# The least that each way to write one has: at once, or in groups.
_BEGINNINGS = (b"d" * 15, b"dddd\1dddd\1dddd", b"dddd\1dddddd\1ddddd")
_DIGITS = re.compile(b"d+")
_CARD = re.compile(
    # Not within a word; the letter of an escaped line break is no word.
    r"(?:(?<![\w.+/-])|(?<=\\[nrt]))[2-6](?:"
    r"(?<=4)\d{3}(?P<a>[ -]?)\d{4}(?P=a)\d{4}(?P=a)\d{4}"
    r"|(?<=5)[1-5]\d\d(?P<b>[ -]?)\d{4}(?P=b)\d{4}(?P=b)\d{4}"
    r"|(?<=2)[2-7]\d\d(?P<c>[ -]?)\d{4}(?P=c)\d{4}(?P=c)\d{4}"
    r"|(?<=6)(?:011|5\d\d|4[4-9]\d)(?P<d>[ -]?)\d{4}(?P=d)\d{4}(?P=d)\d{4}"
    r"|(?<=3)5(?:2[89]|[3-8]\d)(?P<e>[ -]?)\d{4}(?P=e)\d{4}(?P=e)\d{4}"
    r"|(?<=3)[47]\d\d(?P<f>[ -]?)\d{6}(?P=f)\d{5}"
    r")(?![\w+/=-]|\.\d)",
    re.ASCII,
)


def card_spans(text: str, lower: bytes) -> Iterator[Span]:
    """`lower` is the text, a byte for each sign."""
    mask = lower.translate(_MASK)
    for beginning in _BEGINNINGS:
        at = mask.find(beginning)
        while at >= 0:
            found = _CARD.match(text, at)
            if found and _check_digit_holds(found[0]):
                yield Span(*found.span(), _RANK, "card_number")
            # A card's number begins where its digits begin: on behind all that are in a row.
            at = mask.find(beginning, _end_of_digits(mask, at))


def _end_of_digits(mask: bytes, at: int) -> int:
    rest = _DIGITS.match(mask, at)
    assert rest is not None
    return rest.end()


def _check_digit_holds(number: str) -> bool:
    """Luhn's sum."""
    digits = [int(sign) for sign in number if sign.isdigit()]
    odd, even = digits[-1::-2], digits[-2::-2]
    return (sum(odd) + sum(sum(divmod(2 * digit, 10)) for digit in even)) % 10 == 0
