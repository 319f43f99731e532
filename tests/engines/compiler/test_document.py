from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.engines.compiler.document import MAX_DEPTH, Reading, read_document, read_object
from ammeter.engines.compiler.hashing import canonical_hash

MINIMAL: dict[str, Any] = {"openapi": "3.0.3", "info": {"title": "A", "version": "1"}, "paths": {}}


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def refusal(source: Any, **limits: int) -> tuple[str, str]:
    reading = read_document(source, **limits)
    assert reading.document is None
    last = reading.findings[-1]
    assert last.level == "error"
    return last.code, last.message


def read(text: str) -> dict[str, Any]:
    reading = read_object(text)
    assert reading.document is not None, reading.findings
    assert reading.findings == ()
    return reading.document


def test_json_yaml_and_an_object_give_the_same_document() -> None:
    text = json.dumps(MINIMAL)
    for source in (MINIMAL, text, text.encode(), yaml.safe_dump(MINIMAL), b"\xef\xbb\xbf" + text.encode()):
        assert read_document(source) == Reading(document=MINIMAL, findings=(), version="3.0")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_other_unicode_encodings_are_understood(encoding: str) -> None:
    assert read_document(json.dumps(MINIMAL).encode(encoding)).document == MINIMAL
    assert read_document(yaml.safe_dump(MINIMAL).encode(encoding)).document == MINIMAL


def test_an_object_that_was_given_is_copied_and_not_changed() -> None:
    given_object = {"swagger": 2.0, "paths": {200: ("a",)}}
    reading = read_document(given_object)
    assert reading.document == {"swagger": "2.0", "paths": {"200": ["a"]}}
    assert given_object == {"swagger": 2.0, "paths": {200: ("a",)}}


@pytest.mark.parametrize("source", ["", " \n ", b"", b"\xef\xbb\xbf", "# only a comment\n", "---\n# x\n"])
def test_an_empty_text_is_refused(source: Any) -> None:
    assert refusal(source)[0] in ("empty", "not_an_object")


def test_truncated_json_tells_the_place_and_that_it_was_cut() -> None:
    code, message = refusal(json.dumps(MINIMAL)[:-3])
    assert code == "json_syntax"
    assert "Line 1" in message
    assert "cut off" in message


def test_truncated_yaml_tells_the_line() -> None:
    code, message = refusal('openapi: "3.0.0"\ninfo:\n  title: "unfinished\n')
    assert code == "yaml_syntax"
    assert "Line 4" in message


def test_tabs_that_indent_are_named() -> None:
    code, message = refusal("openapi: 3.0.0\ninfo:\n\ttitle: x\n")
    assert code == "yaml_syntax"
    assert "tab" in message


@pytest.mark.parametrize(
    "source",
    [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe", b"\x1f\x8b\x08\x00abc\xff", "a: \x00b", "a: \ud800"],
)
def test_binary_data_is_refused(source: Any) -> None:
    assert refusal(source)[0] == "not_text"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("[1]", "a list"),
        ("- 1", "a list"),
        ("hello", "a string"),
        ("null", "null"),
        ("12", "a number"),
        ("true", "a boolean"),
    ],
)
def test_what_is_not_an_object_is_refused_by_kind(source: str, kind: str) -> None:
    code, message = refusal(source)
    assert code == "not_an_object"
    assert kind in message


def test_seven_megabytes_are_refused_by_size() -> None:
    code, message = refusal(json.dumps(MINIMAL) + " " * 7_000_000)
    assert code == "too_large"
    assert "6,291,456" in message
    assert read_document(json.dumps(MINIMAL) + " " * 7_000_000, max_bytes=8_000_000).document == MINIMAL


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5_000, 200_000])
def test_deep_nesting_is_refused_in_every_notation(levels: int) -> None:
    assert refusal('{"a":' * levels + "1" + "}" * levels)[0] == "too_deep"
    assert refusal("a: " + "[" * levels + "]" * levels)[0] == "too_deep"
    deep: Any = {}
    for _ in range(levels):
        deep = {"a": deep}
    assert refusal(deep)[0] == "too_deep"


def test_nesting_to_the_limit_is_taken() -> None:
    levels = MAX_DEPTH - 1
    text = '{"openapi": "3.1.0", "x":' + '{"a":' * (levels - 1) + "1" + "}" * levels
    assert read_document(text).document is not None
    assert read_document(yaml.safe_dump(json.loads(text))).document is not None


def test_an_object_that_holds_itself_is_refused() -> None:
    looped: dict[str, Any] = {"openapi": "3.0.0"}
    looped["x"] = looped
    assert refusal(looped)[0] == "too_deep"


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    started = time.process_time()
    assert refusal("\n".join(lines))[0] == "too_many_values"
    assert time.process_time() - started < 5


def test_an_alias_within_its_own_anchor_or_without_one_is_refused() -> None:
    assert refusal("a: &a [*a]")[0] == "yaml_alias"
    assert refusal("a: *nowhere")[0] == "yaml_alias"


def test_aliases_are_copies_and_merge_keys_yield_to_what_is_written() -> None:
    document = read(
        "base: &b {x: 1, y: {z: 2}}\nuse: *b\nmore:\n  x: 9\n  <<: *b\nlist:\n  <<: [{q: 1}, {q: 2, r: 3}]\n"
    )
    assert document["use"] == document["base"]
    assert document["use"]["y"] is not document["base"]["y"]
    assert document["more"] == {"x": 9, "y": {"z": 2}}
    assert document["list"] == {"q": 1, "r": 3}
    assert read('"<<": {a: 1}') == {"<<": {"a": 1}}


def test_a_merge_of_something_else_is_a_finding() -> None:
    reading = read_object("a: 1\n<<: text\n")
    assert reading.document == {"a": 1}
    assert codes(reading) == ["yaml_merge"]


def test_the_last_of_two_equal_keys_is_used_and_told() -> None:
    for text in ('{"p": {"a/b": 1, "a/b": 2, "c": 3}}', "p:\n  a/b: 1\n  a/b: 2\n  c: 3\n"):
        reading = read_object(text)
        assert reading.document == {"p": {"a/b": 2, "c": 3}}
        assert [(f.level, f.code, f.pointer) for f in reading.findings] == [
            ("error", "duplicate_key", "/p/a~1b")
        ]


def test_plain_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = (
        "{a: yes, b: no, c: on, d: 2020-01-01, e: 12:30:45, f: 1_000, g: 0o17, h: 0x1F, i: 017, j: 1e3,"
        " k: .5, l: ~, m: , n: True, o: 'true', p: \"1\", q: 0b1, r: -3, s: 1.0.0, t: +1, u: '', v: =}"
    )
    expected = {
        **{"a": "yes", "b": "no", "c": "on", "d": "2020-01-01", "e": "12:30:45", "f": "1_000", "g": 15},
        **{"h": 31, "i": 17, "j": 1000.0, "k": 0.5, "l": None, "m": None, "n": True, "o": "true", "p": "1"},
        **{"q": "0b1", "r": -3, "s": "1.0.0", "t": 1, "u": "", "v": "="},
    }
    reading = read_object(text)
    assert reading.document == expected
    assert {k: type(v) for k, v in (reading.document or {}).items()} == {
        k: type(v) for k, v in expected.items()
    }


def test_keys_are_strings_as_they_were_written() -> None:
    assert read("200: a\ntrue: b\nnull: c\n1.0: d\n") == {"200": "a", "true": "b", "null": "c", "1.0": "d"}


def test_a_key_that_is_no_string_loses_its_entry_and_is_told() -> None:
    reading = read_object("a:\n  ? [x, y]\n  : 1\n  b: 2\n")
    assert reading.document == {"a": {"b": 2}}
    assert [(f.code, f.pointer) for f in reading.findings] == [("yaml_key", "/a")]


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object:os.system x",
        "a: !include other.yaml",
        "a: !!set {x}",
        "!!python/name:os.system x: 1",
    ],
)
def test_tags_beyond_the_core_schema_are_refused(text: str) -> None:
    assert refusal(text)[0] == "yaml_tag"


def test_tags_of_the_core_schema_are_obeyed() -> None:
    assert read(
        "a: !!str 12\nb: !!int 3\nc: !!float 3\nd: !!map {}\ne: !!seq []\nf: ! 1\ng: !!timestamp 2020-01-01"
    ) == {
        **{"a": "12", "b": 3, "c": 3.0, "d": {}, "e": [], "f": "1", "g": "2020-01-01"},
    }


def test_several_yaml_documents_are_refused_but_an_empty_rest_is_not() -> None:
    assert refusal("openapi: 3.0.0\n---\nopenapi: 3.0.0\n")[0] == "several_documents"
    assert read("---\na: 1\n...\n---\n") == {"a": 1}


def test_numbers_beyond_json_are_bounded_and_told() -> None:
    for text in (
        '{"a": NaN, "b": Infinity, "c": -1e999, "d": %s}' % ("9" * 5000),
        f"a: .nan\nb: .inf\nc: -.inf\nd: {'9' * 5000}",
    ):
        reading = read_object(text)
        largest = 1.7976931348623157e308
        assert reading.document == {"a": None, "b": largest, "c": -largest, "d": largest}
        assert codes(reading) == ["not_a_number", *["number_out_of_range"] * 3]
    assert read('{"a": 18446744073709551616}') == {"a": 2**64}


def test_half_a_surrogate_pair_is_replaced_and_told() -> None:
    reading = read_object('{"a": "x\\ud800y"}')
    assert reading.document == {"a": "x?y"}
    assert codes(reading) == ["lone_surrogate"]


def test_a_long_key_is_refused() -> None:
    assert refusal(json.dumps({"x" * 5000: 1}))[0] == "key_too_long"


def test_control_characters_and_tabs_on_blank_lines_are_repaired_and_told() -> None:
    reading = read_object("a: x\x80y\nb: |-\n  \t\n  text\n")
    assert reading.document == {"a": "x\ufffdy", "b": "\ntext"}
    assert codes(reading) == ["text_repaired"]


def test_almost_json_is_read_as_yaml_and_told() -> None:
    reading = read_object('{"a": [1, 2,],}')
    assert reading.document == {"a": [1, 2]}
    assert codes(reading) == ["json_read_as_yaml"]


@pytest.mark.parametrize(
    ("text", "version", "found"),
    [
        ("openapi: 3.0.0", "3.0", []),
        ("openapi: 3.1.1", "3.1", []),
        ("openapi: 3.0.0-rc2", "3.0", []),
        ("swagger: '2.0'", "2.0", []),
        ("openapi: 3.2.0", "3.1", ["version_newer"]),
        ("openapi: 3.0", "3.0", ["version_not_a_string"]),
        ("openapi: 3.1", "3.1", ["version_not_a_string"]),
        ("swagger: 2.0", "2.0", ["version_not_a_string"]),
        ("swagger: 2", "2.0", ["version_not_a_string"]),
    ],
)
def test_versions_that_are_taken(text: str, version: str, found: list[str]) -> None:
    reading = read_document(text)
    assert reading.version == version
    assert codes(reading) == found
    assert reading.document is not None
    assert all(isinstance(value, str) for value in reading.document.values())


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("openapi: 4.0.0", "version_unsupported", "'4.0.0'"),
        ("swagger: '1.2'", "version_unsupported", "'1.2'"),
        ("openapi: '2.0'", "version_unsupported", "'2.0'"),
        ("openapi: [3]", "version_unsupported", "a list"),
        ("openapi: null", "version_unsupported", "None"),
        ("openapi: true", "version_unsupported", "True"),
        ("asyncapi: 3.0.0", "version_missing", "'asyncapi'"),
        ("openApi: 3.0.0", "version_missing", 'Did you mean "openapi"?'),
        ("{}", "version_missing", "nothing"),
    ],
)
def test_versions_that_are_not_taken_are_named(text: str, code: str, named: str) -> None:
    found, message = refusal(text)
    assert found == code
    assert named in message


def test_three_megabytes_of_yaml_are_read_quickly() -> None:
    words = "Some words about it. " * 3
    item = f"    type: object\n    description: '{words}'\n    minimum: 3\n    required:\n    - a\n    - b\n"
    text = "openapi: 3.0.0\nx:\n" + "".join(f"  name{i}:\n{item}" for i in range(25_000))
    assert len(text) > 3_000_000
    started = time.process_time()
    assert read_document(text).document is not None
    assert time.process_time() - started < 3


class QuotingDumper(yaml.CSafeDumper):
    """PyYAML writes text such as 0E0 bare, which YAML 1.2 takes for a number."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"')


QuotingDumper.add_representer(str, QuotingDumper.represent_str)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=20), v, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=20), values, max_size=5))
def test_json_and_yaml_of_one_value_read_alike_and_hash_alike(value: dict[str, Any]) -> None:
    as_json = read_object(json.dumps(value))
    as_yaml = read_object(yaml.dump(as_json.document, Dumper=QuotingDumper, allow_unicode=False))
    assert as_json.document == value
    assert canonical_hash(as_yaml.document) == canonical_hash(as_json.document) == canonical_hash(value)


@settings(deadline=None, max_examples=120)
@given(st.text(max_size=200) | st.binary(max_size=200) | st.text("{}[]:,-&*!|>'\"\n \tab<?", max_size=60))
def test_no_text_whatever_raises(source: Any) -> None:
    reading = read_document(source)
    assert reading.document is None
    assert any(finding.level == "error" for finding in reading.findings)
