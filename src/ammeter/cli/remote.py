"""A running server, as commands see it over HTTP: a path and a body go out, parsed JSON comes back.

Whatever goes wrong is one sentence of a RemoteError: the server said no (Refused), or no answer of an
Ammeter server was to be had (Unreachable). Redirects are not followed: the key would go along.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from ammeter import __version__
from ammeter.base.errors import AmmeterError, Detail
from ammeter.base.logs import blank_secrets
from ammeter.settings import find_proxy

_CONNECT_S = 15.0
_PIECE = 64 * 1024
_TURN_S = 0.5
PAGE_SIZE = 200


class RemoteError(AmmeterError):
    code = "remote"
    exit_code = 1


class Refused(RemoteError):
    """The server answered, and the answer is no."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        details: tuple[Detail, ...] = (),
        request_id: str = "",
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.status = status
        self.retry_after_s = retry_after_s
        self.refusal = code
        self.request_id = request_id


class Unreachable(RemoteError):
    """No answer came, or none that an Ammeter server gives."""

    exit_code = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Who looks on while a request is under way."""

    sent: Callable[[int, int], None]
    """Bytes of the body that are sent, and all of them."""
    waiting: Callable[[float], None]
    """Seconds since the body was sent; told again and again until the answer begins."""


class Remote:
    def __init__(self, url: str, key: str, *, timeout_s: float = 60.0) -> None:
        self.url = url
        self._key = key
        self._timeout_s = timeout_s

    def get(self, path: str, **query: str | int | None) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return self._ask("GET", f"{path}?{urlencode(given)}" if given else path, None, {}, None)

    def post(
        self,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        watch: Watch | None = None,
    ) -> Any:
        return self._ask("POST", path, body, headers or {}, watch)

    def patch(self, path: str, body: bytes) -> Any:
        return self._ask("PATCH", path, body, {}, None)

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path, None, {}, None)

    def signature(self, body: bytes) -> dict[str, str]:
        """The headers that sign a body: HMAC-SHA256 under the key over `<timestamp>.<body>`."""
        stamp = str(int(time.time()))
        made = hmac.new(self._key.encode(), stamp.encode() + b"." + body, hashlib.sha256)
        return {"x-service-timestamp": stamp, "x-service-signature": made.hexdigest()}

    def pages(self, path: str, *, limit: int | None = None, **query: str | int | None) -> dict[str, Any]:
        return rows_of(lambda number: self.get(path, page=number, pageSize=PAGE_SIZE, **query), limit)

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], watch: Watch | None
    ) -> Any:
        connection = self._connection()
        try:
            connection.connect()
            self._send(connection, method, path, body, headers, watch)
            with _told_of_waiting(watch):
                answer = connection.getresponse()
                raw = answer.read()
            return self._read(answer, raw)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(self._why(error)) from None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        host, proxy = parts.hostname or "", find_proxy(self.url)
        hop = urlsplit(proxy if "://" in (proxy or "") else f"http://{proxy}") if proxy else None
        at = (hop.hostname or "", hop.port or 8080) if hop else (host, port)
        if secure:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                *at, timeout=_CONNECT_S, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(*at, timeout=_CONNECT_S)
        if hop:
            # Through a tunnel for plain HTTP too: the request looks alike on every way.
            connection.set_tunnel(host, port, headers=_proxy_key(hop.username, hop.password))
        return connection

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        watch: Watch | None,
    ) -> None:
        sent = {
            "accept": "application/json",
            "authorization": f"Bearer {self._key}",
            "user-agent": f"ammeter/{__version__}",
            "connection": "close",
            **({"content-type": "application/json"} if body is not None else {}),
            **headers,
        }
        connection.putrequest(method, path)
        for name, value in sent.items():
            connection.putheader(name, value)
        if method != "GET":
            connection.putheader("content-length", str(len(body or b"")))
        connection.endheaders()
        connection.sock.settimeout(self._timeout_s)
        try:
            for start in range(0, len(body or b""), _PIECE):
                connection.send((body or b"")[start : start + _PIECE])
                if watch:
                    watch.sent(min(start + _PIECE, len(body or b"")), len(body or b""))
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses a body does so before its end; its answer says why.
            return

    def _read(self, answer: http.client.HTTPResponse, raw: bytes) -> Any:
        try:
            value = json.loads(raw)
        except ValueError:
            value = None
        status = answer.status
        if status < 300 and value is not None:
            return value
        error = value.get("error") if isinstance(value, dict) else None
        if status >= 400 and isinstance(error, dict) and "code" in error:
            told = answer.getheader("retry-after") or ""
            # At an MCP endpoint the code of ours is in the data of a JSON-RPC error.
            data = error.get("data")
            known = error | data if isinstance(data, dict) else error
            raise refusal_of(status, known, int(told) if told.isascii() and told.isdigit() else None)
        raise Unreachable(self._no_answer_of_ours(answer, raw))

    def _no_answer_of_ours(self, answer: http.client.HTTPResponse, raw: bytes) -> str:
        if 300 <= answer.status < 400 and (place := answer.getheader("location")):
            return (
                f"{self.url} sends on to {place} ({answer.status}); give the address it sends to as --url,"
                " the key is not sent there by itself."
            )
        kind = answer.getheader("content-type", "no content type").partition(";")[0]
        words = " ".join(raw[:2000].decode("utf-8", "replace").split())[:120]
        return (
            f"{self.url} answers, but not as an Ammeter server does: {answer.status}, {kind},"
            f" {blank_secrets(words) or 'empty'!r}. Is the address right, or is a proxy in between?"
        )

    def _why(self, error: Exception) -> str:
        host = urlsplit(self.url).hostname
        match error:
            case socket.gaierror():
                return f"There is no host {host!r}: {error.strerror}. Is --url (AMMETER_URL) right?"
            case ssl.SSLCertVerificationError():
                return f"The certificate of {self.url} is not trusted: {error.verify_message}."
            case ssl.SSLError():
                reason = (error.reason or str(error)).replace("_", " ").lower()
                return f"No secure connection to {self.url}: {reason}. Does it speak https at that port?"
            case TimeoutError():
                return f"{self.url} did not answer in time."
            case ConnectionRefusedError():
                return f"Nothing listens at {self.url}. Is the server running, is --url (AMMETER_URL) right?"
            case http.client.HTTPException():
                return f"{self.url} broke off, or does not speak HTTP ({type(error).__name__})."
            case _:
                return f"Cannot reach {self.url}: {getattr(error, 'strerror', None) or error}."


def path_of(*parts: str) -> str:
    """A path of these parts, whatever letters a person typed into one."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


@contextmanager
def _told_of_waiting(watch: Watch | None) -> Iterator[None]:
    """From a thread beside: TLS has bytes of its own, so a socket does not tell when an answer begins."""
    done = threading.Event()

    def tell(tell_waiting: Callable[[float], None]) -> None:
        started = time.monotonic()
        while not done.wait(_TURN_S):
            tell_waiting(time.monotonic() - started)

    thread = threading.Thread(target=tell, args=(watch.waiting,), daemon=True) if watch else None
    if thread:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread:
            thread.join()


def rows_of(ask: Callable[[int], Any], limit: int | None = None) -> dict[str, Any]:
    """The rows of all pages of a list, or the first `limit` of them; `ask` gives the page of a number."""
    rows: dict[str, Any] = {}
    number, has_more, total = 1, True, 0
    while has_more and (limit is None or len(rows) < limit):
        page = ask(number)
        # A row that comes in between two pages pushes others onto the next one.
        rows.update((row["id"], row) for row in page["rows"])
        number, has_more, total = number + 1, page["hasMore"], page["total"]
    chosen = list(rows.values())[:limit]
    return {"rows": chosen, "total": total, "hasMore": len(chosen) < total}


def refusal_of(status: int, error: Mapping[str, Any], retry_after_s: int | None) -> Refused:
    """The server's error as a fault of ours."""
    details = tuple(
        Detail(path=str(detail.get("path", "")), message=str(detail.get("message", "")))
        for detail in error.get("details") or ()
    )
    return Refused(
        str(error.get("message", "")),
        status=status,
        code=str(error["code"]),
        details=details,
        request_id=str(error.get("requestId", "")),
        retry_after_s=retry_after_s,
    )


def _proxy_key(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"proxy-authorization": f"Basic {b64encode(pair).decode()}"}
