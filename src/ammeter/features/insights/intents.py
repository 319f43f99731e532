"""An intent or a query becomes its form: what it says without the values that change from time to time.

`Refund order 4411 for "Ann"` and `refund order #52 for 'Bob'` are one form. Text in, text out; whatever comes
in may be empty, huge, hostile or in any language.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from ammeter.engines.search.words import STOP_WORDS, fold, split_case, words

MAX_CHARS = 600
"""What comes later in an intent no longer says what it is about."""
VALUE = "◦"

_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|«[^»\n]{1,200}»|„[^“”\n]{1,200}[“”]|`[^`\n]{1,200}`"
    r"|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)
_ADDRESS = re.compile(
    r"\b(?:https?|wss?|ftp)://\S+|\b[\w.+%-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+", re.IGNORECASE
)
_REDACTED = re.compile(r"\[redacted:[^\]\n]{0,40}\]")
_TEMPLATE = re.compile(r"\$?\{[^{}\n]{0,80}\}|<[^<>\n]{1,40}>")
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DATE = re.compile(
    r"\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:t[\d:.]+z?)?\b"
    rf"|\b(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTHS})\b(?:,?\s+\d{{4}})?",
    re.IGNORECASE,
)
# A run of letters and digits with at least one digit: an id, an amount, a version, a run's number.
_NUMBERED = re.compile(r"[#$€£¥]?(?<![^\W_])(?=[\w.,:%-]{0,80}\d)[\w]+(?:[-.:,][\w]+)*%?")
# Letters only, but of the kind that machines make: `deadbeef`, `aGVsbG8gd29ybGQ`.
_HEX = re.compile(r"\b[0-9a-f]{8,64}\b")
_VALUES = re.compile(rf"(?:[#№]?\s*{VALUE}\s*)+")
_UNSAID = re.compile(r"[^\w◦]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    text: str
    """Lower case, folded, values as `◦`; empty where nothing was said."""

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def spoken(self) -> str:
        """Without the places of values: what is embedded."""
        return " ".join(self.text.replace(VALUE, " ").split())


def form_of(text: str) -> Form:
    # What a value is made of may be long; four times the form is enough to find its end.
    given = unicodedata.normalize("NFKC", text[: 4 * MAX_CHARS].replace(VALUE, " "))
    for pattern in (_REDACTED, _QUOTED, _ADDRESS, _TEMPLATE, _DATE):
        given = pattern.sub(f" {VALUE} ", given)
    given = _NUMBERED.sub(f" {VALUE} ", given)
    given = fold(split_case(given)).lower().replace("_", " ")
    given = _HEX.sub(lambda found: VALUE if _is_made(found[0]) else found[0], given)
    given = _UNSAID.sub(" ", given)
    given = " ".join(_VALUES.sub(f" {VALUE} ", given).split())
    return Form(text=given[:MAX_CHARS].strip())


def said_words(form: str) -> list[str]:
    """The words of a form that carry something."""
    return [word for word in words(form.replace(VALUE, " ")) if word not in STOP_WORDS]


def _is_made(word: str) -> bool:
    """`defaced` and `facade` are words; `deadbeefcafe` and the like hardly occur in prose."""
    return len(word) >= 12 or not any(vowel in word for vowel in "aeiou")
