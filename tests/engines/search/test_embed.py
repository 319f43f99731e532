from __future__ import annotations

import numpy as np

from ammeter.engines.search.embed import packaged_embedding, quantized, unit_rows


def likeness(one: str, other: str) -> float:
    table = packaged_embedding()
    return float(table.query(one) @ table.query(other))


def test_the_packaged_table_is_read_once() -> None:
    assert packaged_embedding() is packaged_embedding()
    assert packaged_embedding().width == 256


def test_texts_that_mean_the_same_are_nearer_than_others() -> None:
    assert likeness("remove a customer", "delete user") > likeness("remove a customer", "list invoices")
    assert likeness("createPullRequest", "create pull request") > 0.99


def test_a_text_without_known_pieces_is_zero_and_near_to_nothing() -> None:
    assert likeness("\u2603\u2603", "delete user") == 0
    assert likeness("", "delete user") == 0


def test_a_byte_per_number_keeps_the_direction() -> None:
    rows = packaged_embedding().sums(["list repositories", "delete a file", ""])
    small = unit_rows(quantized(rows))
    assert np.all((small * unit_rows(rows)).sum(axis=1)[:2] > 0.999)
    assert not small[2].any()
