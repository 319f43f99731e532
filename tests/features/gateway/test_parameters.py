"""Every style of every place, with the exact text that goes onto the wire; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.model import Location, Parameter
from ammeter.features.gateway.parameters import BadArgument, in_cookie, in_header, in_path, in_query

LIST = ["blue", "black", "a,b&c"]
OBJECT = {"R": 100, "G": "x y", "on": True}


def parameter(location: Location, style: str, explode: bool, **more: Any) -> Parameter:
    name = more.pop("name", "color")
    return Parameter(
        name=name,
        arg=name,
        location=location,
        required=True,
        schema={},
        style=style,
        explode=explode,
        **more,
    )


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("form", True, "blue", "color=blue"),
        ("form", True, "", "color="),
        ("form", True, "a b&c=d#e/f?g+h%ü", "color=a%20b%26c%3Dd%23e%2Ff%3Fg%2Bh%25%C3%BC"),
        ("form", True, 5, "color=5"),
        ("form", True, 5.0, "color=5"),
        ("form", True, 0.25, "color=0.25"),
        ("form", True, 12345678901234567890, "color=12345678901234567890"),
        ("form", True, True, "color=true"),
        ("form", True, LIST, "color=blue&color=black&color=a%2Cb%26c"),
        ("form", False, LIST, "color=blue,black,a%2Cb%26c"),
        ("form", True, [], ""),
        ("form", True, OBJECT, "R=100&G=x%20y&on=true"),
        ("form", False, OBJECT, "color=R,100,G,x%20y,on,true"),
        ("form", True, {"a=b": "c"}, "a%3Db=c"),
        ("spaceDelimited", False, LIST, "color=blue%20black%20a%2Cb%26c"),
        ("spaceDelimited", True, LIST, "color=blue&color=black&color=a%2Cb%26c"),
        ("pipeDelimited", False, LIST, "color=blue%7Cblack%7Ca%2Cb%26c"),
        ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7Cx%20y%7Con%7Ctrue"),
        ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=x%20y&color%5Bon%5D=true"),
        (
            "deepObject",
            True,
            {"a": {"b": [1, {"c": 2}]}},
            "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2",
        ),
        ("deepObject", True, ["x", "y"], "color%5B0%5D=x&color%5B1%5D=y"),
        ("deepObject", True, "plain", "color=plain"),
    ],
)
def test_query(style: str, explode: bool, value: Any, written: str) -> None:
    assert "&".join(in_query(parameter("query", style, explode), value)) == written


def test_query_parts_that_the_description_lets_through() -> None:
    reserved = parameter("query", "form", True, allow_reserved=True)
    assert in_query(reserved, "a:/?[]@!$'()*,;b") == ["color=a:/?%5B%5D@!$'()*,;b"]
    # The marks that part a query stay encoded: a value cannot become two.
    assert in_query(reserved, "x&admin=1#y+z") == ["color=x%26admin%3D1%23y%2Bz"]


def test_query_as_a_document() -> None:
    assert in_query(parameter("query", "form", True, content_type="application/json"), {"a": [1, "ü"]}) == [
        "color=%7B%22a%22%3A%5B1%2C%22%C3%BC%22%5D%7D"
    ]


def test_names_are_encoded_too() -> None:
    assert in_query(parameter("query", "form", True, name="page[size]&x"), 5) == ["page%5Bsize%5D%26x=5"]


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, "a/b?c#d%e;f", "a%2Fb%3Fc%23d%25e%3Bf"),
        ("simple", False, "http://evil.test", "http%3A%2F%2Fevil.test"),
        ("simple", False, "//evil.test", "%2F%2Fevil.test"),
        ("simple", False, "a\r\nb\\c\u2028", "a%0D%0Ab%5Cc%E2%80%A8"),
        ("simple", False, 7, "7"),
        ("simple", False, LIST, "blue,black,a%2Cb%26c"),
        ("simple", True, LIST, "blue,black,a%2Cb%26c"),
        ("simple", False, OBJECT, "R,100,G,x%20y,on,true"),
        ("simple", True, OBJECT, "R=100,G=x%20y,on=true"),
        ("label", False, "blue", ".blue"),
        ("label", False, LIST, ".blue,black,a%2Cb%26c"),
        ("label", True, LIST, ".blue.black.a%2Cb%26c"),
        ("label", True, OBJECT, ".R=100.G=x%20y.on=true"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, LIST, ";color=blue,black,a%2Cb%26c"),
        ("matrix", True, LIST, ";color=blue;color=black;color=a%2Cb%26c"),
        ("matrix", False, OBJECT, ";color=R,100,G,x%20y,on,true"),
        ("matrix", True, OBJECT, ";R=100;G=x%20y;on=true"),
    ],
)
def test_path(style: str, explode: bool, value: Any, written: str) -> None:
    assert in_path(parameter("path", style, explode), value) == written


@pytest.mark.parametrize(
    "value",
    ["..", ".", "%2e%2e", "%252e%252E", "../admin", "a/../b", "..\\admin", ".;x", ["a", ".."], {"a": "../b"}],
)
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
def test_paths_that_would_lead_elsewhere_are_refused(style: str, value: Any) -> None:
    with pytest.raises(BadArgument, match=r"args\.color: '\.' and '\.\.'"):
        in_path(parameter("path", style, False), value)


@pytest.mark.parametrize("value", ["", [], {}])
def test_a_part_of_the_path_is_never_empty(value: Any) -> None:
    with pytest.raises(BadArgument, match="must not be empty"):
        in_path(parameter("path", "simple", False), value)


@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (False, "blue", "blue"),
        (False, "  blue\t", "blue"),
        (False, "größer, \tßig", "größer, \tßig"),
        (False, 5, "5"),
        (False, True, "true"),
        (False, ["a", "b"], "a,b"),
        (False, {"R": 1, "G": 2}, "R,1,G,2"),
        (True, {"R": 1, "G": 2}, "R=1,G=2"),
    ],
)
def test_header(explode: bool, value: Any, written: str) -> None:
    assert in_header(parameter("header", "simple", explode), value) == written


@pytest.mark.parametrize(
    "value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x00b", "\x7f", ["a", "b\n"], {"k\r": "v"}]
)
def test_header_values_that_would_break_the_request_are_refused(value: Any) -> None:
    with pytest.raises(BadArgument, match="line ends or control characters"):
        in_header(parameter("header", "simple", True), value)


@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (True, "blue; admin=1", "color=blue%3B%20admin%3D1"),
        (True, ["a", "b"], "color=a; color=b"),
        (False, ["a", "b,c"], "color=a,b%2Cc"),
        (True, {"R": 1}, "R=1"),
        (False, "a\r\nb", "color=a%0D%0Ab"),
    ],
)
def test_cookie(explode: bool, value: Any, written: str) -> None:
    assert in_cookie(parameter("cookie", "form", explode), value) == written
