from __future__ import annotations

import time

import pytest

from ammeter.engines.search.words import MAX_WORD_CHARS, plain, verb_class, words


@pytest.mark.parametrize(
    "name", ["getUserByID", "get_user_by_id", "get-user-by-id", "GET user/by {id}", "GetUserById"]
)
def test_a_name_is_the_same_words_in_every_spelling(name: str) -> None:
    assert words(name) == ["get", "user", "by", "id"]


def test_acronyms_end_where_the_next_word_begins() -> None:
    assert words("parseHTTPResponse") == ["parse", "http", "response"]
    assert words("oauth2Token") == ["oauth2", "token"]


def test_accents_and_compatibility_forms_are_folded() -> None:
    assert words("Résumé Übersicht ﬁle") == ["resume", "ubersicht", "file"]


def test_scripts_without_spaces_become_pairs() -> None:
    assert words("创建用户") == ["创建", "建用", "用户"]
    assert words("한국어") == ["한국", "국어"]


def test_a_word_has_a_greatest_length() -> None:
    assert [len(word) for word in words("a" * 1000)] == [MAX_WORD_CHARS]


def test_verbs_of_one_class_are_one_verb() -> None:
    assert {verb_class(word) for word in ("remove", "deletes", "revoke")} == {"delete"}
    assert verb_class("invoice") is None


def test_prose_loses_its_markup_and_addresses() -> None:
    text = "Gets **a** [user](https://example.com/u).<br/>See https://example.com &amp; `more`"
    assert plain(text) == "Gets a user. See & more"


@pytest.mark.parametrize("text", ["[" * 20_000, "[a](" * 5_000, "<" * 20_000, "[a]" * 7_000])
def test_prose_made_of_brackets_stays_cheap(text: str) -> None:
    begun = time.process_time()
    plain(text)
    assert time.process_time() - begun < 1
