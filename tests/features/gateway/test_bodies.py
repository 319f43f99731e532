"""Bodies of every media type, byte by byte."""

from __future__ import annotations

import base64
import email
from email.message import Message
from typing import Any

import pytest

from ammeter.engines.compiler.model import Api, Body, BodyKind
from ammeter.features.gateway.bodies import write_body
from ammeter.features.gateway.parameters import BadArgument

API = Api(title="", version="", description="", servers=(), operations=(), schemas={}, security_schemes={})
FILE = {
    "base64": base64.b64encode(b"\x00\xff!").decode(),
    "filename": 'a"b\r\n.png',
    "contentType": "image/png",
}


def body(kind: BodyKind, content_type: str, **more: Any) -> Body:
    given: dict[str, Any] = {"required": True, "schema": {}, "args": None} | more
    return Body(kind=kind, content_type=content_type, **given)


def written(made: Body, **arguments: Any) -> tuple[bytes, str]:
    found = write_body(API, made, arguments)
    assert found is not None
    return found


def test_json_of_arguments_that_stand_side_by_side() -> None:
    made = body("json", "application/json", args={"name": "name", "id": "body_id"})
    assert written(made, name="ü", body_id=None, id="of the path") == (
        '{"name":"ü","id":null}'.encode(),
        "application/json",
    )
    assert written(made) == (b"{}", "application/json")


def test_json_as_one_argument() -> None:
    assert written(body("json", "application/vnd.x+json"), body=[1, {"a": "\ud800"}]) == (
        b'[1,{"a":"\\ud800"}]',
        "application/vnd.x+json",
    )


def test_no_body_where_none_is_given_or_needed() -> None:
    assert write_body(API, body("json", "application/json", required=False), {}) is None
    assert write_body(API, body("json", "application/json", required=False, args={"a": "a"}), {}) is None


def test_a_form() -> None:
    made = body(
        "form",
        "application/x-www-form-urlencoded",
        args={name: name for name in ("s", "n", "l", "d", "o", "j", "x", "p", "skip")},
        encoding={
            "d": {"style": "deepObject", "explode": True},
            "o": {"style": "form", "explode": True},
            "p": {"style": "pipeDelimited", "explode": False},
        },
    )
    content, kind = written(
        made,
        s="a b&c=ü",
        n=1.0,
        l=[1, True],
        d={"a": {"b": 1}, "c": ["x"]},
        o={"k": "v"},
        j={"k": [1]},
        x=[{"y": 1}],
        p=["1", "2"],
        skip=None,
    )
    assert kind == "application/x-www-form-urlencoded"
    assert content.decode() == (
        "s=a+b%26c%3D%C3%BC&n=1&l=1&l=true&d%5Ba%5D%5Bb%5D=1&d%5Bc%5D%5B0%5D=x&k=v"
        "&j=%7B%22k%22%3A%5B1%5D%7D&x=%5B%7B%22y%22%3A1%7D%5D&p=1%7C2"
    )


def parts_of(content: bytes, kind: str) -> list[Message]:
    message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content)
    payload = message.get_payload()
    assert isinstance(payload, list)
    return [part for part in payload if isinstance(part, Message)]


def test_multipart() -> None:
    binary = {"type": "string", "format": "binary"}
    made = body(
        "multipart",
        "multipart/form-data",
        schema={
            "type": "object",
            "properties": {"file": binary, "files": {"type": "array", "items": binary}, "note": binary},
        },
        args={name: name for name in ("file", "files", "note", "title", "meta", "count", "loose")},
        encoding={"title": {"contentType": "text/markdown"}},
    )
    content, kind = written(
        made, file=FILE, files=[FILE, "text"], note="hello", title="T", meta={"a": 1}, count=3, loose=FILE
    )
    parts = parts_of(content, kind)
    names = [part.get_param("name", header="content-disposition") for part in parts]
    assert names == ["file", "files", "files", "note", "title", "meta", "count", "loose"]
    assert parts[0]["content-disposition"] == 'form-data; name="file"; filename="a%22b%0D%0A.png"'
    assert [part["content-type"] for part in parts] == [
        *("image/png", "image/png", "text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        *("text/markdown", "application/json", None, "image/png"),
    ]
    assert [part.get_payload(decode=True) for part in parts] == [
        *(b"\x00\xff!", b"\x00\xff!", b"text", b"hello", b"T", b'{"a":1}', b"3", b"\x00\xff!"),
    ]
    assert parts[3].get_filename() == "note"
    assert parts[6].get_filename() is None


@pytest.mark.parametrize("kind", ["text/plain\r\nX-Evil: 1", "image/*", "a, b", "é"])
def test_a_media_type_that_cannot_stand_in_a_head_is_left_out(kind: str) -> None:
    made = body("multipart", "multipart/form-data", args={"f": "f"})
    content, _ = written(made, f={"base64": "YQ==", "contentType": kind})
    assert b"Content-Type: application/octet-stream\r\n\r\na" in content
    assert b"Evil" not in content


def test_text_and_bytes() -> None:
    assert written(body("text", "text/csv"), body="a,ü") == ("a,ü".encode(), "text/csv")
    assert written(body("binary", "application/pdf"), body=FILE) == (b"\x00\xff!", "application/pdf")
    assert written(body("binary", "image/*"), body=FILE) == (b"\x00\xff!", "image/png")
    assert written(body("binary", "*/*"), body={"base64": "YQ"}) == (b"a", "application/octet-stream")
    assert written(body("binary", "application/zip"), body={"base64": "-_8\n="}) == (
        b"\xfb\xff",
        "application/zip",
    )


@pytest.mark.parametrize("value", [{"base64": "!!!"}, {"base64": "a"}, {"base64": 5}, 7, ["x"]])
def test_files_that_are_none(value: Any) -> None:
    with pytest.raises(BadArgument, match=r"args\.body: "):
        written(body("binary", "application/pdf"), body=value)
