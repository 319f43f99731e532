"""Shapes of well-known credentials, and how random a word is. A Shape says which letters must be in a
text for the pattern to have a chance: a text without them needs no further look.

Every pattern begins with letters, not with a word's edge: searching for fixed letters is many times
quicker, and in JSON a line break is the letters \\n and no edge. All run in linear time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    """Where it has a group, the group is the secret; else all of it."""
    in_run: bool
    """Whether an anchor stands in, or just before, 18 or more letters, digits, `_` and `-` in a row."""


def _shape(kind: str, anchors: str, pattern: str, *, in_run: bool = True) -> Shape:
    return Shape(kind, tuple(anchors.split()), re.compile(pattern, re.ASCII), in_run)


# Not within a word: nothing, or something that is no letter, or an escape of JSON such as \n.
# Stands behind the first n letters of a pattern and looks back past them.
def _edge(letters: int) -> str:
    back = "." * letters
    return rf"(?:(?<![A-Za-z0-9_]{back})|(?<=\\[nrt]{back}))"


SHAPES: tuple[Shape, ...] = (
    _shape("ammeter_key", "amt_", r"amt_[a-z2-7]{12}_[A-Za-z0-9]{16,}"),
    _shape("aws_key", "AKIA ASIA ABIA ACCA", rf"A{_edge(1)}(?:KIA|SIA|BIA|CCA)[A-Z2-7]{{16}}(?![A-Za-z0-9])"),
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _shape("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape(
        "gitlab_token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft)-[\w-]{16,300}",
    ),
    _shape(
        "slack_token",
        "xoxa- xoxb- xoxe xoxo- xoxp- xoxr- xoxs-",
        r"xox[abeoprs](?:-|\.xox[bp]-)[\w-]{10,400}",
    ),
    _shape("slack_token", "xapp-", r"xapp-[0-9]-[\w-]{10,400}"),
    _shape(
        "webhook",
        "hooks",
        r"hooks(?:\.slack\.com/(?:services|workflows|triggers)|/[0-9]{15,22})/([\w/-]{20,200})",
        in_run=False,
    ),
    _shape(
        "stripe_key",
        "k_live_ k_test_ whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{20,100})",
    ),
    _shape("anthropic_key", "sk-ant-", r"sk-ant-[\w-]{16,300}"),
    _shape(
        "openai_key", "sk-", rf"sk-{_edge(3)}(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{{20,300}}"
    ),
    _shape("google_key", "AIza", r"AIza[\w-]{35}"),
    _shape("google_token", "ya29.", r"ya29\.[\w.-]{20,1000}"),
    _shape("google_secret", "GOCSPX-", r"GOCSPX-[\w-]{20,60}"),
    _shape("huggingface_token", "hf_", rf"hf_{_edge(3)}[A-Za-z]{{30,60}}"),
    _shape(
        "jwt",
        "eyJ",
        rf"eyJ{_edge(3)}(?<!-...)[\w-]{{8,16384}}\.[\w-]{{8,65536}}(?:\.[\w-]{{0,65536}}){{0,3}}",
    ),
    _shape("npm_token", "npm_", rf"npm_{_edge(4)}[A-Za-z0-9]{{36}}"),
    _shape("pypi_token", "pypi-", r"pypi-[\w-]{40,1000}"),
    _shape("twilio_key", "SK", rf"SK{_edge(2)}[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    _shape("sendgrid_key", "SG.", rf"SG\.{_edge(3)}[\w-]{{16,32}}\.[\w-]{{16,64}}"),
    _shape("mailgun_key", "key-", rf"key-{_edge(4)}[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    _shape("telegram_token", ":AA", r":AA[\w-]{33}(?![\w-])"),
    _shape("shopify_token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _shape("square_token", "sq0", r"sq0(?:atp|csp|idp)-[\w-]{22,60}"),
    _shape("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _shape("databricks_token", "dapi", rf"dapi{_edge(4)}[0-9a-f]{{32}}(?:-[0-9])?(?![A-Za-z0-9])"),
    _shape("linear_key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    _shape(
        "notion_token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})(?![A-Za-z0-9])"
    ),
    _shape("atlassian_token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{30,400}"),
    _shape("vault_token", "hvs. hvb.", r"hv[sb]\.[\w-]{24,300}"),
    _shape("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _shape("newrelic_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _shape("grafana_token", "glsa_ glc_", r"gl(?:sa_[A-Za-z0-9]{32}_[0-9a-f]{8}|c_[A-Za-z0-9+/=]{32,400})"),
    _shape("age_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,60}"),
    _shape(
        "private_key",
        "PRIVATE KEY",
        # To the end mark, or where that was cut off as far as it looks like a key.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=:,.() \t\r\n]|-(?!-)|\\{1,8}+[nrt])*+(?:-----END [A-Z0-9 ]{0,60}-----)?",
        in_run=False,
    ),
    _shape("url_password", "://", r"://[^\s:/@\"'<>?#]{0,256}:([^\s/@\"'<>]{1,512})@", in_run=False),
    _shape(
        "bearer_token",
        "earer EARER",
        r"(?:[Bb]earer|BEARER)(?:[ \t]|\\[nrt]|%20|\+){1,4}"
        # Words of a sentence have no digit and no inner capital.
        r"((?=[A-Za-z0-9._~+/=-]{0,200}?(?:[0-9]|[a-z][A-Z]))[A-Za-z0-9._~+/=-]{8,8192})",
        in_run=False,
    ),
    _shape(
        "basic_credentials",
        "asic ASIC",
        r"(?:[Bb]asic|BASIC)(?:[ \t]|\\[nrt]|%20|\+){1,4}"
        r"((?=[A-Za-z0-9+/_-]{0,200}?(?:[0-9]|[a-z][A-Z]))[A-Za-z0-9+/_-]{8,4096}={0,2})",
        in_run=False,
    ),
)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MIN_BITS_PER_CHARACTER = 3.6


def is_random(word: str) -> bool:
    """Whether a word looks drawn by chance: kinds of letters mixed, hardly any repeated, and no UUID."""
    kinds = (str.islower, str.isupper, str.isdigit)
    mixed = sum(any(kind(c) for c in word) for kind in kinds) >= 2 and any(c.isdigit() for c in word)
    if not mixed or _UUID.fullmatch(word):
        return False
    counts = Counter(word).values()
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return bits >= _MIN_BITS_PER_CHARACTER
