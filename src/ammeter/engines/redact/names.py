"""Names of fields whose value is a secret, whatever it looks like: `password`, `clientSecret`, `X-Api-Key`.

A name counts by its last words: `access_token` holds a token, `token_type` and `page_token` do not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Named = Literal["password", "credential", "header"]
"""`password`: numbers too. `credential`: a text without spaces, in free text. `header`: all of its line."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_NAME = 100


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORDS = _words(
    "password passwd pwd passphrase passcode passwordhash passwordconfirmation cvv cvc cvv2 cvc2 cardnumber"
)
_HEADERS = _words("authorization proxyauthorization cookie setcookie cookies")
_CREDENTIALS = _words(
    "secret secrets token apikey apikeys apisecret accesskey secretkey secretaccesskey privatekey signingkey"
    " encryptionkey masterkey sharedkey authkey accesstoken refreshtoken idtoken authtoken sessiontoken"
    " bearertoken credential credentials clientsecret appsecret webhooksecret signingsecret"
    " totpsecret accesstokens refreshtokens apitoken apitokens"
)
# Endings of a word that is written as one: `PGPASSWORD`, `clientsecret`.
_PASSWORD_ENDS = ("password", "passwd", "passphrase")
_CREDENTIAL_ENDS = ("secret", "apikey", "accesskey", "secretkey", "privatekey")
# What comes before `token` where it is a place in a list and opens nothing.
_PLACES = _words(
    "page next previous prev continuation sync cursor pagination start starting resume scroll marker paging"
    " watermark delta batch mention cancellation cancel max min total count input output prompt completion"
    " reset stop eos bos pad unk per number num"
)
# The letters by which any of these names is found in a text.
KEYWORDS = tuple(b"pass pwd secret token key authorization cookie credential cv card".split())


@lru_cache(maxsize=4096)
def meaning(name: str) -> Named | None:
    """Which kind of secret a field of this name holds, or None."""
    if len(name) > _MAX_NAME:
        name = name[-_MAX_NAME:]
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return None
    if words[-1] == "token" and len(words) > 1 and words[-2] in _PLACES:
        return None
    # From the longest ending to the last word alone: `secret access key` before `key`.
    for count in range(min(3, len(words)), 0, -1):
        ending = "".join(words[-count:])
        if ending in _PASSWORDS:
            return "password"
        if ending in _HEADERS:
            return "header"
        if ending in _CREDENTIALS:
            return "credential"
    if words[-1].endswith(_PASSWORD_ENDS):
        return "password"
    return "credential" if words[-1].endswith(_CREDENTIAL_ENDS) else None
