"""Intents without their values: what is one form, what stays two, and that no text is too much."""

from __future__ import annotations

import pytest

from ammeter.features.insights.intents import MAX_CHARS, VALUE, form_of, said_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund order 4411", "refund  ORDER #52"),
        ('Find books by "Ursula Le Guin"', "find books by 'Iain Banks'"),
        ("invoices since 2026-01-31", "Invoices since 5 March 2025"),
        ("sync run 0191f3a2-7c1e-7d3a-9a64-2f1f", "sync run 0191f3a2-0000-7d3a-9a64-ffff"),
        ("mail ann@example.com about it", "Mail bob.b@example.org about it"),
        ("check build 1.2.3-rc1 of release", "check build v2.0 of release"),
        ("read https://a.example/x?y=1 again", "read http://b.example again"),
        ("getUserOrders", "get user_orders"),
        ("key [redacted:aws] rotated", "key [redacted:github] rotated"),
        ("Kündige das Abo Nr. 17", "kundige das abo nr 99"),
    ],
)
def test_values_case_and_spelling_make_no_other_form(one: str, other: str) -> None:
    assert form_of(one).text == form_of(other).text
    assert form_of(one).hash == form_of(other).hash


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cancel the order", "create the order"),
        ("取消订单", "创建订单"),
        ("don't notify", "notify"),
        ("the facade is defaced", "the cafe is decade"),
    ],
)
def test_other_words_make_another_form(one: str, other: str) -> None:
    assert form_of(one).text != form_of(other).text


def test_what_is_only_values_says_nothing() -> None:
    assert form_of("12345").spoken == ""
    assert form_of("").text == ""
    assert form_of('"a" 7 2026-01-01').text == VALUE


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        '"' * 100_000,
        "<" * 100_000,
        "[redacted:" * 20_000,
        "1-" * 100_000,
        "ﷺ" * 50_000,
        "\ud800\0",
    ],
)
def test_hostile_texts_are_cut_and_cost_little(text: str) -> None:
    form = form_of(text)
    assert len(form.text) <= MAX_CHARS
    assert len(form.hash) == 32
    said_words(form.text)


def test_a_form_of_a_form_is_itself() -> None:
    for text in ("Refund order 4411 for 'Ann' by 2026-01-31", "Löschen: Konto 7", "取消订单 5 号"):
        once = form_of(text).text
        assert form_of(once.replace(VALUE, "9")).text == once
