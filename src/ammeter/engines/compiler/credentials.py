"""Whether a text looks like a credential that should have been a reference.

Judged by the shape of known tokens and by how random the text is. A guess that errs towards refusing:
a refused person can use a reference, a stored secret cannot be taken back.
"""

from __future__ import annotations

import re

from ammeter.base.tokens import SHAPES, is_random

# Looser than the shapes of whole tokens: here a beginning is enough, so that a shortened one is seen too.
_BEGINNINGS = re.compile(
    r"""(?x)
    (sk|pk|rk)[_-](live|test|proj|ant|or)[_-]   # payment and model providers
    | sk-[A-Za-z0-9]{16} | gh[pousr]_[A-Za-z0-9]{16} | github_pat_ | glpat- | xox[abeprs]-
    | A(KIA|SIA)[A-Z0-9]{12} | AIza[A-Za-z0-9_-]{20} | ya29\. | amt_[a-z2-7]{12}_ | npm_[A-Za-z0-9]{20}
    | pypi-[A-Za-z0-9_-]{20} | SG\.[A-Za-z0-9_-]{16} | -----BEGIN\s
    | (?i:\b(bearer|basic|token)\ +[A-Za-z0-9+/=._~-]{8,})
    """
)
_WORD = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")


def looks_like_credential(text: str) -> bool:
    if _BEGINNINGS.search(text) or any(shape.pattern.search(text) for shape in SHAPES):
        return True
    return any(is_random(word) for word in _WORD.findall(text))
