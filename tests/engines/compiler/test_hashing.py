from __future__ import annotations

from ammeter.engines.compiler.hashing import canonical_hash, canonical_json


def test_the_order_of_keys_and_the_spelling_of_whole_numbers_do_not_matter() -> None:
    assert (
        canonical_json({"b": 1.0, "a": [1e3, -0.0, True, None, "é"]})
        == '{"a":[1000,0,true,null,"é"],"b":1}'.encode()
    )
    assert canonical_hash({"a": 1, "b": 2.0}) == canonical_hash({"b": 2, "a": 1.0})


def test_content_and_the_order_of_lists_do_matter() -> None:
    assert len({canonical_hash(value) for value in ([1, 2], [2, 1], [1, "2"], [1, 2.5], [True, 2])}) == 5


def test_a_hash_names_its_algorithm() -> None:
    assert canonical_hash({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
