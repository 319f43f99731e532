"""What a script gets of an answer: by kind, within bounds, and without what must not be seen."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from ammeter.engines.compiler.model import Operation, Response, ResponseKind
from ammeter.engines.egress.port import Answer
from ammeter.features.gateway.answers import MAX_DEPTH, Unreadable, next_link, read_body, read_fault
from ammeter.features.gateway.strip import Stripper

NOTHING = Stripper(())
SECRET = 'k/9+é"x\\y z'


def operation(kind: ResponseKind | None = "json", method: Any = "get") -> Operation:
    content_type = {"json": "application/json", "text": "text/plain", "binary": "image/png"}.get(kind or "")
    responses = (Response(status="200", kind=kind, content_type=content_type, schema={}),) if kind else ()
    return Operation(
        id="op",
        method=method,
        path="/x/{id}",
        pointer="",
        group=("x",),
        name="op",
        summary="",
        description="",
        tags=(),
        deprecated=False,
        parameters=(),
        body=None,
        responses=responses,
        security=(),
    )


def answer(body: bytes, kind: str = "application/json", status: int = 200, **headers: str) -> Answer:
    told = {"content-type": kind} if kind else {}
    return Answer(
        status=status, headers=told | {n.replace("_", "-"): v for n, v in headers.items()}, body=body
    )


@pytest.mark.parametrize(
    ("declared", "kind", "body", "value"),
    [
        ("json", "application/json", b'{"a":1}', {"a": 1}),
        ("json", "application/problem+json; charset=utf-8", b"[1]", [1]),
        ("json", "text/html", b"[1]", [1]),
        ("json", "text/html", b"<p>", "<p>"),
        ("json", "", b"[1]", [1]),
        ("json", "", b"hello", "hello"),
        ("json", "image/png", b"\x89\x00", {"base64": "iQA=", "contentType": "image/png"}),
        ("none", "application/json", b"[1]", [1]),
        ("none", "text/plain", b"hello", "hello"),
        (None, "application/json", b"true", True),
        (
            None,
            "application/octet-stream",
            b"\x00",
            {"base64": "AA==", "contentType": "application/octet-stream"},
        ),
        ("text", "text/plain", b"[1]", "[1]"),
        ("text", "application/json", b"[1]", "[1]"),
        ("text", "text/plain; charset=iso-8859-1", b"\xfc", "ü"),
        ("text", "text/plain; charset=nonsense", "ü".encode(), "ü"),
        ("text", "text/plain", b"a\xff", "a\ufffd"),
        ("binary", "image/png", b"\x00\xff", {"base64": "AP8=", "contentType": "image/png"}),
        ("binary", "application/json", b"[1]", {"base64": "WzFd", "contentType": "application/json"}),
        ("json", "application/json", b"", None),
        ("json", "application/json", b"[NaN, Infinity, -Infinity, 1e999, -1E+9999, 1e5]", [None] * 5 + [1e5]),
        ("json", "application/json", b'"\\ud83d\\ude00"', "😀"),
        ("json", "application/json", b"\xef\xbb\xbf[1]", [1]),
    ],
)
def test_kinds(declared: ResponseKind | None, kind: str, body: bytes, value: Any) -> None:
    assert read_body(operation(declared), answer(body, kind), NOTHING) == value


def test_statuses_and_methods_without_a_body() -> None:
    assert read_body(operation(), answer(b"", "", 204), NOTHING) is None
    assert read_body(operation(method="head"), answer(b"x", "text/plain"), NOTHING) is None


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="a b.png"', "a b.png"),
        ("attachment; filename=a.png; size=3", "a.png"),
        ("attachment; filename*=UTF-8''%C3%BC.png", "ü.png"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\x\\\\y.png"', "y.png"),
    ],
)
def test_the_name_of_a_file(disposition: str, name: str) -> None:
    value = read_body(
        operation("binary"), answer(b"x", "image/png", content_disposition=disposition), NOTHING
    )
    assert value["filename"] == name


@pytest.mark.parametrize("body", [b"{", b"[1,]", b"nope", b"[1] x", b"\xff\xfe", b"9" * 5000])
def test_json_that_is_none(body: bytes) -> None:
    with pytest.raises(Unreadable, match="says that it is JSON and is not"):
        read_body(operation(), answer(body), NOTHING)


def test_depth_is_bounded() -> None:
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert json.dumps(read_body(operation(), answer(deep), NOTHING)).encode() == deep
    for too_deep in (b"[" + deep + b"]", b'{"a":' * 250 + b"1" + b"}" * 250, b"[" * 100_000):
        with pytest.raises(Unreadable):
            read_body(operation(), answer(too_deep), NOTHING)
    # Brackets in texts and side by side are no depth.
    flat = json.dumps(["[" * 1000, '"{[\\', *([[]] * 1000)]).encode()
    assert len(read_body(operation(), answer(flat), NOTHING)) == 1002


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"code": "no_row", "message": "No row"}}, "no_row", "No row"),
        ({"error": {"type": "invalid_request_error", "message": "Bad"}}, "invalid_request_error", "Bad"),
        ({"error": {"code": 404, "status": "NOT_FOUND", "message": "Gone"}}, "404", "Gone"),
        ({"error": "invalid_grant", "error_description": "Expired"}, "invalid_grant", "Expired"),
        ({"error": "Something went wrong"}, None, "Something went wrong"),
        ({"code": "E1", "message": "M"}, "E1", "M"),
        ({"errorCode": "E2", "errors": []}, "E2", ""),
        ({"errors": [{"code": "E3", "message": "first"}, {"code": "E4"}]}, "E3", "first"),
        ({"errors": {"name": ["is missing"]}, "title": "Invalid"}, None, "Invalid"),
        (
            {"type": "https://x.test/probs/out", "title": "Out", "detail": "No credit"},
            "https://x.test/probs/out",
            "No credit",
        ),
        ({"message": "Bad credentials", "documentation_url": "…"}, None, "Bad credentials"),
        (["x"], None, ""),
        (None, None, ""),
        ("plain text", None, "plain text"),
    ],
)
def test_faults_by_the_shapes_that_apis_use(body: Any, code: str | None, message: str) -> None:
    fault = read_fault(operation(), answer(json.dumps(body).encode(), status=400, request_id="r-9"), NOTHING)
    assert fault == {
        "message": "GET /x/{id} answered 400" + (f": {message}" if message else ""),
        "status": 400,
        "code": code,
        "body": body,
        "requestId": "r-9",
    }


def test_faults_that_are_no_json() -> None:
    page = read_fault(operation(), answer(b"<html>Bad Gateway</html>", "text/html", 502), NOTHING)
    assert (page["message"], page["body"]) == ("GET /x/{id} answered 502", "<html>Bad Gateway</html>")
    assert read_fault(operation(), answer(b"\x00\x01", "image/png", 500), NOTHING)["body"] is None
    long = read_fault(operation(), answer(b"x" * 100_000, "text/plain", 500), NOTHING)
    assert len(long["body"]) == 4000
    assert len(long["message"]) <= 500
    large = json.dumps({"rows": ["x" * 1000] * 100}).encode()
    assert isinstance(read_fault(operation(), answer(large, status=500), NOTHING)["body"], str)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.b64encode(f"us:{SECRET}!".encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        SECRET.encode().hex(),
        json.dumps(SECRET),
    ],
)
def test_a_credential_that_is_echoed_is_never_seen(form: str) -> None:
    strip = Stripper({SECRET})
    body = {"a": [f"<{form}>"], form: 1, "status": "ok"}
    core = base64.b64encode(SECRET.encode()).decode()[4:-4]
    for raw in (json.dumps(body).encode(), json.dumps(body, ensure_ascii=False).encode()):
        for seen in (
            read_body(operation(), answer(raw), strip),
            read_body(operation("text"), answer(raw, "text/plain"), strip),
            read_fault(operation(), answer(raw, status=400, x_request_id=form), strip),
        ):
            shown = json.dumps(seen, ensure_ascii=False)
            for hidden in (SECRET, form, core, json.dumps(SECRET)[1:-1]):
                assert hidden not in shown
            assert "redacted" in shown
    file = read_body(operation("binary"), answer(form.encode(), "text/plain"), strip)
    assert form.encode() not in base64.b64decode(file["base64"])


def test_a_credential_whose_letters_are_escaped_is_seen_through() -> None:
    escaped = "".join(f"\\u{ord(c):04x}" for c in "tok-12345678")
    assert read_body(operation(), answer(f'{{"a":"{escaped}"}}'.encode()), Stripper({"tok-12345678"})) == {
        "a": "[redacted:known_value]"
    }


@pytest.mark.parametrize(
    ("header", "link"),
    [
        ('<https://x.test/a?p=2>; rel="next", <https://x.test/a?p=9>; rel="last"', "https://x.test/a?p=2"),
        ('<https://x.test/a>; rel="first",</a?p=3>;rel=next', "/a?p=3"),
        ('</a?x=1,2;3>; title="x, y; rel=next"; rel="prev next"', "/a?x=1,2;3"),
        ('</a>; title="rel=next"; rel="prev"', None),
        ("", None),
        ("garbage", None),
    ],
)
def test_links(header: str, link: str | None) -> None:
    assert next_link(answer(b"[]", link=header)) == link
