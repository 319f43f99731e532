"""Speaking to a server over real sockets: answers, refusals, and every way of getting none."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ammeter.base.errors import Detail
from ammeter.cli.remote import Refused, Remote, Unreachable, Watch, path_of

KEY = "amt_aaaaaaaaaaaa_" + "s" * 40


@contextmanager
def answering(*answers: bytes, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """A listener that gives one answer a connection; what it was asked stands in the list."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def turns() -> None:
        for reply in answers:
            try:
                raw, _ = listener.accept()
                connection = context.wrap_socket(raw, server_side=True) if context else raw
            except OSError:
                continue
            with connection:
                asked.append(_request(connection))
                connection.sendall(reply)

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        thread.join(20)
        listener.close()


def _request(connection: socket.socket) -> bytes:
    """The head and the body that it promises."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        got += piece
        # A client that wants to speak TLS waits for an answer to its first bytes.
        if not piece or got.startswith(b"\x16"):
            return got
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reply(status: str, body: Any, *headers: str, kind: str = "application/json") -> bytes:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(raw)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + raw


def page(number: int, total: int) -> bytes:
    first, last = (number - 1) * 200, min(number * 200, total)
    rows = [{"id": f"row-{n}"} for n in range(first, last)]
    return reply("200 OK", {"rows": rows, "page": number, "total": total, "hasMore": last < total})


def test_a_question_carries_the_key_and_gets_parsed_json() -> None:
    with answering(reply("200 OK", {"é": [1, None]})) as (url, asked):
        assert Remote(url, KEY).get("/api/x", source="a b/ü", page=2, environment=None) == {"é": [1, None]}
    head = asked[0].decode().lower()
    assert head.startswith("get /api/x?source=a+b%2f%c3%bc&page=2 http/1.1\r\n")
    assert f"authorization: bearer {KEY}\r\n" in head
    assert "accept: application/json\r\n" in head
    assert "content-type" not in head


def test_a_body_is_signed_with_the_key_over_timestamp_and_bytes() -> None:
    remote = Remote("http://127.0.0.1:1", KEY)
    signed = remote.signature(b'{"a":1}')
    stamp = signed["x-service-timestamp"]
    assert abs(int(stamp) - time.time()) < 5
    expected = hmac.new(KEY.encode(), f'{stamp}.{{"a":1}}'.encode(), hashlib.sha256).hexdigest()
    assert signed["x-service-signature"] == expected


def test_a_body_is_sent_in_pieces_that_are_told_and_without_one_its_length_is_zero() -> None:
    told: list[tuple[int, int]] = []
    watch = Watch(sent=lambda sent, total: told.append((sent, total)), waiting=lambda _: None)
    body = b"x" * 150_000
    with answering(reply("201 Created", {"ok": True}), reply("200 OK", {})) as (url, asked):
        assert Remote(url, KEY).post("/upload", body, headers={"x-more": "1"}, watch=watch) == {"ok": True}
        assert Remote(url, KEY).post("/promote") == {}
    assert told == [(65536, 150_000), (131072, 150_000), (150_000, 150_000)]
    assert asked[0].endswith(b"\r\n\r\n" + body)
    assert b"x-more: 1\r\n" in asked[0]
    assert b"content-length: 0\r\n" in asked[1]


def test_whoever_watches_is_told_while_the_answer_is_awaited() -> None:
    waited = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def once_told() -> None:
        connection, _ = listener.accept()
        with connection:
            _request(connection)
            assert waited.wait(10)
            connection.sendall(reply("200 OK", {}))

    thread = threading.Thread(target=once_told)
    thread.start()
    watch = Watch(sent=lambda sent, total: None, waiting=lambda seconds: waited.set())
    with listener:
        remote = Remote(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY)
        assert remote.post("/", b"{}", watch=watch) == {}
        thread.join(10)


@pytest.mark.parametrize(("limit", "rows", "questions"), [(None, 450, 3), (3, 3, 1), (201, 201, 2)])
def test_a_list_is_followed_over_its_pages(limit: int | None, rows: int, questions: int) -> None:
    with answering(*(page(n + 1, 450) for n in range(questions))) as (url, asked):
        found = Remote(url, KEY).pages("/list", limit=limit, source="s")
    assert [row["id"] for row in found["rows"]] == [f"row-{n}" for n in range(rows)]
    assert (found["total"], found["hasMore"]) == (450, rows < 450)
    assert [b"page=%d&pageSize=200&source=s" % (n + 1) in head for n, head in enumerate(asked)] == [
        True
    ] * questions


def test_a_refusal_carries_everything_the_server_said() -> None:
    error = {
        "code": "validation_failed",
        "message": "1 field is not valid; see details.",
        "details": [{"path": "$.source", "message": "too long"}],
        "requestId": "r-1",
    }
    with (
        answering(reply("422 Unprocessable", {"error": error})) as (url, _),
        pytest.raises(Refused) as refused,
    ):
        Remote(url, KEY).get("/")
    said = refused.value
    assert (said.status, said.refusal, said.request_id) == (422, "validation_failed", "r-1")
    assert (said.message, said.exit_code) == ("1 field is not valid; see details.", 1)
    assert said.details == (Detail(path="$.source", message="too long"),)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            reply("502 Bad Gateway", "<html><h1>502</h1>\n no upstream</html>", kind="text/html; x=y"),
            "502, text/html, '<html><h1>502</h1> no upstream</html>'",
        ),
        (reply("200 OK", "<html>Sign in to the network", kind="text/html"), "200, text/html, '<html>Sign in"),
        (reply("200 OK", ""), "200, application/json, 'empty'"),
        (reply("404 Not Found", {"detail": "no"}), """404, application/json, '{"detail": "no"}'"""),
        (
            reply("301 Moved", "", "location: https://new.example/api"),
            "sends on to https://new.example/api (301)",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
        (b"", "broke off"),
    ],
)
def test_what_is_no_answer_of_ours_is_told_for_what_it_is(answer: bytes, said: str) -> None:
    with answering(answer) as (url, _), pytest.raises(Unreachable) as unreachable:
        Remote(url, KEY).get("/")
    assert said in unreachable.value.message
    assert url in unreachable.value.message
    assert unreachable.value.exit_code == 3


def test_a_key_that_an_answer_repeats_is_blanked() -> None:
    with (
        answering(reply("400 Bad", f"you sent {KEY}", kind="text/plain")) as (url, _),
        pytest.raises(Unreachable) as unreachable,
    ):
        Remote(url, KEY).get("/")
    assert "s" * 40 not in unreachable.value.message


def test_a_server_that_refuses_within_the_body_is_heard() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    error = {"code": "payload_too_large", "message": "too large", "details": [], "requestId": "r"}

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(reply("413 Too Large", {"error": error}))

    thread = threading.Thread(target=refuse)
    thread.start()
    with listener, pytest.raises(Refused, match="too large"):
        Remote(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY).post("/", b"x" * 30_000_000)
    thread.join(10)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:{free}", "Nothing listens at http://127.0.0.1:{free}."),
        ("http://no-such-host.invalid", "There is no host 'no-such-host.invalid'"),
    ],
)
def test_a_server_that_is_away_is_told_apart(url: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    with pytest.raises(Unreachable) as unreachable:
        Remote(url.format(free=free), KEY).get("/")
    assert said.format(free=free) in unreachable.value.message


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        remote = Remote(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY, timeout_s=0.1)
        with pytest.raises(Unreachable, match="did not answer in time"):
            remote.get("/")


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with answering(b"", context=context) as (url, asked), pytest.raises(Unreachable) as unreachable:
        Remote(url, KEY).get("/")
    assert unreachable.value.message == f"The certificate of {url} is not trusted: self-signed certificate."
    assert asked == []


def test_https_at_a_plain_port_is_told() -> None:
    with answering(reply("400 Bad", "")) as (url, _), pytest.raises(Unreachable) as unreachable:
        Remote(url.replace("http:", "https:"), KEY).get("/")
    assert "Does it speak https at that port?" in unreachable.value.message


def test_a_proxy_of_the_environment_is_asked_for_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(b"HTTP/1.1 403 Forbidden\r\n\r\n") as (proxy, asked):
        monkeypatch.setenv("https_proxy", proxy.replace("//", "//me:pass%40word@"))
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(Unreachable, match="Tunnel connection failed: 403"):
            Remote("https://ammeter.example", KEY).get("/")
    assert asked[0].startswith(b"CONNECT ammeter.example:443 HTTP/1.")
    assert b"proxy-authorization: Basic bWU6cGFzc0B3b3Jk" in asked[0]
    assert KEY.encode() not in asked[0]


def test_no_proxy_is_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with answering(reply("200 OK", {})) as (url, _):
        assert Remote(url, KEY).get("/") == {}


@pytest.mark.parametrize(
    ("part", "path"), [("a", "/a"), ("../x?y#z", "/..%2Fx%3Fy%23z"), ("ü ", "/%C3%BC%20")]
)
def test_a_part_of_a_path_stays_one_part(part: str, path: str) -> None:
    assert path_of(part) == path


def self_signed(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return file
