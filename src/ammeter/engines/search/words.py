"""Text becomes words: identifiers are split at case, underscore and slash, accents are folded, and a few
closed word lists say which words carry nothing, which mean the same verb and which are short for others.

No word is stemmed here; stems are only a second, weaker way to match (see `lexicon.py`).
"""

from __future__ import annotations

import html
import re
import unicodedata

MAX_WORD_CHARS = 64

_ASCII_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")
_CASE_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ANY_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)")
# Bounded, so that a text made of brackets stays cheap.
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]{1,300})\]\([^()]{0,500}\)")
_URL = re.compile(r"https?://\S+")
_TAG = re.compile(r"<[^<>]{1,200}>")
_MARKS = re.compile(r"[`*]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = word_set(
    """a an the of for to in on at by with and or from as is are be been was were this that these those it
    its i me my we our you your can could would should will please how do does what which who want need
    using use via into if then so not no also any some such there their them his her he she than when where
    while about"""
)

_VERB_CLASSES = {
    "create": """create add new post insert make register generate start open issue build compose save store
        provision enroll""",
    "delete": """delete remove destroy drop erase cancel clear revoke unset purge discard detach unassign
        disable""",
    "update": """update edit modify change set put patch replace rename alter adjust configure overwrite
        enable assign""",
    "list": "list all every enumerate browse search find query lists index",
    "get": """get fetch retrieve read show view display describe lookup load obtain return check inspect
        download see give tell know""",
}
VERBS = {word: verb for verb, members in _VERB_CLASSES.items() for word in members.split()}

PLAIN_VERBS = word_set("create add delete remove update edit get list fetch retrieve replace patch modify")
"""Verbs that say what to do and never name a field."""

_ABBREVIATED = """
    repo=repository repos=repositories org=organization orgs=organizations organisation=organization
    organisations=organizations pr=pull+request prs=pull+requests msg=message msgs=messages
    config=configuration configs=configurations conf=configuration auth=authentication db=database
    dbs=databases env=environment envs=environments img=image imgs=images info=information stats=statistics
    stat=statistics perm=permission perms=permissions dir=directory doc=document docs=documents
    app=application apps=applications acct=account accts=accounts addr=address attr=attribute
    attrs=attributes ctx=context desc=description dest=destination err=error ext=extension id=identifier
    ids=identifiers lang=language loc=location max=maximum min=minimum num=number param=parameter
    params=parameters pic=picture pkg=package prefs=preferences pref=preference proj=project pwd=password
    qty=quantity ref=reference refs=references req=request resp=response sec=security sub=subscription
    subs=subscriptions temp=template txn=transaction tx=transaction usr=user util=utility val=value
    var=variable vars=variables ver=version vm=virtual+machine vol=volume ns=namespace svc=service
    deps=dependencies admin=administrator sms=message dm=direct+message cal=calendar tv=television
    2fa=two+factor mfa=multi+factor k8s=kubernetes gh=github"""
ABBREVIATIONS = {
    short: tuple(long.split("+")) for short, long in (pair.split("=") for pair in _ABBREVIATED.split())
}


def words(text: str) -> list[str]:
    """`getUserByID`, `get_user-by/id` → get, user, by, id."""
    if text.isascii():
        return [word[:MAX_WORD_CHARS].lower() for word in _ASCII_WORD.findall(text)]
    return [
        word[:MAX_WORD_CHARS]
        for run in _ANY_WORD.findall(split_case(fold(text)).lower())
        for word in (_pairs(run) if _UNSPACED.search(run) else (run,))
    ]


def fold(text: str) -> str:
    """Without accents and compatibility forms: `Résumé` → `Resume`, `ﬁle` → `file`."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    # Hangul was taken apart as well.
    return unicodedata.normalize("NFC", kept)


def split_case(text: str) -> str:
    return _CASE_BORDER.sub(" ", text)


def joined(name: str) -> str:
    """A whole name as one key: `user_id`, `userId` and `user id` are the same."""
    return "".join(words(name))


def content_words(found: list[str]) -> list[str]:
    return [word for word in found if word not in STOP_WORDS]


def verb_class(word: str) -> str | None:
    """The class of a verb, in its third person too: `lists`, `creates`."""
    return VERBS.get(word[:-1] if word.endswith("s") and word[:-1] in VERBS else word)


def plain(text: str) -> str:
    """Prose without its markup and addresses, on one line."""
    if "[" in text:
        text = _MARKDOWN_LINK.sub(r"\1", text)
    if "://" in text:
        text = _URL.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(_MARKS.sub(" ", text).split())


def first_sentence(text: str, limit_chars: int) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0][:limit_chars]


def _pairs(run: str) -> list[str]:
    """Scripts without spaces are matched by pairs of letters."""
    found = []
    for part in _UNSPACED.split(run):
        if _UNSPACED.fullmatch(part) and len(part) > 2:
            found += [part[i : i + 2] for i in range(len(part) - 1)]
        elif part:
            found.append(part)
    return found
