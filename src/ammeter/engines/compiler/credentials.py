"""Whether a text looks like a credential that should have been a reference.

Judged by the shape of known tokens and by how random the text is. A guess that errs towards refusing:
a refused person can use a reference, a stored secret cannot be taken back.
"""

from __future__ import annotations

import math
import re
from collections import Counter

_KNOWN = re.compile(
    r"""(?x)
    (sk|pk|rk)[_-](live|test|proj|ant|or)[_-]   # payment and model providers
    | sk-[A-Za-z0-9]{16} | gh[pousr]_[A-Za-z0-9]{16} | github_pat_ | glpat-
    | xox[abeprs]-  | A(KIA|SIA)[A-Z0-9]{12} | AIza[A-Za-z0-9_-]{20} | ya29\.
    | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}   # a JSON web token
    | amt_[a-z2-7]{12}_ | npm_[A-Za-z0-9]{20} | pypi-[A-Za-z0-9_-]{20} | SG\.[A-Za-z0-9_-]{16}
    | -----BEGIN\ | (?i:\b(bearer|basic|token)\ +[A-Za-z0-9+/=._~-]{8,})
    """
)
_WORD = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MIN_BITS_PER_CHARACTER = 3.6


def looks_like_credential(text: str) -> bool:
    if _KNOWN.search(text):
        return True
    return any(_is_random(word) for word in _WORD.findall(text) if not _UUID.fullmatch(word))


def _is_random(word: str) -> bool:
    kinds = (str.islower, str.isupper, str.isdigit)
    mixed = sum(any(kind(c) for c in word) for kind in kinds) >= 2 and any(c.isdigit() for c in word)
    counts = Counter(word).values()
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return mixed and bits >= _MIN_BITS_PER_CHARACTER
