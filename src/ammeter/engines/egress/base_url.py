"""Whether a URL is within a base URL: the same scheme, host and port, and a path below the base's on a
boundary of segments.

A URL is read by one strict grammar of plain ASCII; what does not fit it is no URL here, so that no later
reader can see another host in it. Segments that mean "up" are refused however they are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin

import idna

_PCHAR = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
_URL = re.compile(
    rf"(?P<scheme>https?)://(?P<host>[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(?P<port>\d{{1,5}}))?"
    rf"(?P<path>(?:/{_PCHAR}*)*)(?:\?(?P<query>(?:{_PCHAR}|[/?])*))?"
)
_HEAD = re.compile(r"(?i)(https?)://([^/?#\\@\s]*?)\.?(:\d{1,5})?(?=[/?#]|$)")
_PORTS = {"http": 80, "https": 443}
_SAFE = "/?:@!$&'()*+,;=-._~%"


class BadUrl(ValueError):
    """Not a URL that can be called, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    scheme: str
    host: str
    port: int
    path: str
    query: str | None = None

    @property
    def origin(self) -> str:
        usual = self.port == _PORTS[self.scheme]
        return f"{self.scheme}://{self.host}" + ("" if usual else f":{self.port}")

    def __str__(self) -> str:
        return self.origin + self.path + (f"?{self.query}" if self.query is not None else "")


def parse_url(text: str) -> Url:
    """The URL with its host in lower case and ASCII; BadUrl where it is anything but plain."""
    found = _URL.fullmatch(_with_plain_host(text))
    if found is None:
        raise BadUrl("this is not a plain http or https URL")
    port = int(found["port"]) if found["port"] else _PORTS[found["scheme"]]
    if not 0 < port < 65_536:
        raise BadUrl(f"{port} is no port")
    path = found["path"] or "/"
    if any(means_up(segment) for segment in path.split("/")):
        raise BadUrl("the path has a segment '.' or '..'")
    return Url(scheme=found["scheme"], host=found["host"], port=port, path=path, query=found["query"])


def parse_base(text: str) -> Url:
    """A base URL; its path has no slash at the end."""
    url = parse_url(_quoted(text))
    if url.query is not None:
        raise BadUrl("a base URL has no query")
    return Url(scheme=url.scheme, host=url.host, port=url.port, path=url.path.rstrip("/"))


def why_outside(base: Url, url: Url) -> str | None:
    """Which part of the URL leaves the base; None where it is within."""
    if url.scheme != base.scheme:
        return f"its scheme is {url.scheme}, not {base.scheme}"
    if url.host != base.host:
        return f"its host is {url.host}, not {base.host}"
    if url.port != base.port:
        return f"its port is {url.port}, not {base.port}"
    prefix = _folded(base.path)
    path = _folded(url.path)
    if path != prefix and not path.startswith(prefix + "/"):
        return f"its path is not below {base.path}"
    return None


def follow(url: Url, location: str) -> Url:
    """Where a redirect leads from here."""
    text = location.strip().partition("#")[0]
    if "\\" in text or not text.isprintable():
        raise BadUrl("this is not a plain http or https URL")
    return parse_url(_quoted(urljoin(str(url), text)))


def means_up(value: str) -> bool:
    """Whether any part of a path segment is a dot segment, to a reader who decodes it once or more."""
    if "." not in value and "%" not in value:
        return False
    for _ in range(3):
        if any(part.partition(";")[0] in (".", "..") for part in re.split(r"[/\\]", value)):
            return True
        decoded = unquote(value)
        if decoded == value:
            return False
        value = decoded
    return False


def _quoted(text: str) -> str:
    """Spaces and letters that a URL cannot hold are encoded; what is plain already stays as it is."""
    head = _HEAD.match(text)
    end = head.end() if head else 0
    return text[:end] + quote(text[end:], safe=_SAFE)


def _folded(path: str) -> str:
    """Percent-encodings in one form: what need not be encoded is not, hex digits are capitals."""

    def plain(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return (
            character
            if character.isascii() and (character.isalnum() or character in "-._~")
            else found[0].upper()
        )

    return re.sub(r"%([0-9A-Fa-f]{2})", plain, path)


def _with_plain_host(text: str) -> str:
    head = _HEAD.match(text)
    if head is None:
        return text
    scheme, host, port = head[1].lower(), head[2].lower(), head[3] or ""
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True, std3_rules=True).decode()
        except idna.IDNAError:
            raise BadUrl(f"{host!r} is no host name") from None
    return f"{scheme}://{host}{port}{text[head.end() :]}"
