"""Nothing that is not below the base URL is called, however it is written."""

from __future__ import annotations

import pytest

from ammeter.engines.egress.base_url import BadUrl, follow, means_up, parse_base, parse_url, why_outside

BASE = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        (BASE, "https://api.example.com/v1"),
        (BASE, "https://api.example.com/v1/"),
        (BASE, "https://api.example.com/v1/users?x=%2F..%2F"),
        (BASE, "https://api.example.com:443/v1/users"),
        (BASE, "HTTPS://API.Example.COM/v1/users"),
        (BASE, "https://api.example.com./v1/users"),
        (BASE, "https://api.example.com/%761/users"),
        (BASE, "https://api.example.com/v1/a%2Fb"),
        (BASE, "https://api.example.com/v1/user@example.com"),
        ("https://api.example.com", "https://api.example.com/anything"),
        ("https://api.example.com/", "https://api.example.com/"),
        ("http://bücher.example/a b", "http://xn--bcher-kva.example/a%20b/c"),
        ("http://[::1]:8080", "http://[::1]:8080/x"),
        ("https://api.example.com/a%7Eb", "https://api.example.com/a~b/x"),
    ],
)
def test_within(base: str, url: str) -> None:
    assert why_outside(parse_base(base), parse_url(url)) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://api.example.com/v1/x", "scheme"),
        ("https://evil.example/v1/x", "host"),
        ("https://api.example.com.evil.example/v1/x", "host"),
        ("https://xapi.example.com/v1/x", "host"),
        ("https://api.example.com:8443/v1/x", "port"),
        ("https://api.example.com/", "path"),
        ("https://api.example.com/v2/x", "path"),
        ("https://api.example.com/v10/x", "path"),
        ("https://api.example.com/v1%2F..%2Fv2", "cannot be read"),
        ("https://api.example.com//evil.example/v1", "path"),
        ("https://api.example.com/V1/x", "path"),
    ],
)
def test_outside(url: str, reason: str) -> None:
    try:
        assert reason in (why_outside(parse_base(BASE), parse_url(url)) or "")
    except BadUrl:
        assert reason == "cannot be read"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com@evil.example/v1",
        "https://api.example.com:pw@evil.example/v1",
        "https://evil.example\\@api.example.com/v1",
        "https://api.example.com\\.evil.example/v1",
        "https://api.example.com/v1/../v2",
        "https://api.example.com/v1/./x",
        "https://api.example.com/v1/%2e%2e/v2",
        "https://api.example.com/v1/%2E./v2",
        "https://api.example.com/v1/%252e%252e/v2",
        "https://api.example.com/v1/..%2f..%2fadmin",
        "https://api.example.com/v1/..%5c..%5cadmin",
        "https://api.example.com/v1/..;/admin",
        "https://api.example.com/v1/x\r\nHost: evil.example",
        "https://api.example.com/v1/x y",
        "https://api.example.com/v1/\x00",
        "https://api.example.com/v1/ü",
        "https://api.example.com/v1/%zz",
        "https://api.example.com:0/v1",
        "https://api.example.com:99999/v1",
        "https://api.example.com:44 3/v1",
        "https://api\u3002example\u2024com\u2215evil.example/v1",
        "https:///v1",
        "https:api.example.com/v1",
        "//api.example.com/v1",
        "/v1/users",
        "file:///etc/passwd",
        "ftp://api.example.com/v1",
        "javascript:alert(1)",
        "",
        " https://api.example.com/v1",
        "https://api.example.com/v1\n",
    ],
)
def test_what_is_not_a_plain_url_is_no_url(url: str) -> None:
    with pytest.raises(BadUrl):
        parse_url(url)


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("/v1/b", "https://api.example.com/v1/b"),
        ("b?c=d#e", "https://api.example.com/v1/b?c=d"),
        ("../v2", "https://api.example.com/v2"),
        ("//evil.example/v1", "https://evil.example/v1"),
        ("https://API.example.com:443/v1/x y", "https://api.example.com/v1/x%20y"),
        ("/v1/ü", "https://api.example.com/v1/%C3%BC"),
        ("?page=2", "https://api.example.com/v1/a?page=2"),
    ],
)
def test_redirects_are_resolved(location: str, leads_to: str) -> None:
    assert str(follow(parse_url("https://api.example.com/v1/a"), location)) == leads_to


@pytest.mark.parametrize(
    "location", ["https://a@evil.example/", "\\\\evil.example/", "http:\\\\evil", "/v1/%2e%2e/x"]
)
def test_redirects_with_tricks_are_no_urls(location: str) -> None:
    with pytest.raises(BadUrl):
        follow(parse_url("https://api.example.com/v1/a"), location)


@pytest.mark.parametrize(
    "value", ["..", ".", "%2e%2e", "%252E%252e", "a/../b", "..\\x", "..;x", "./x", "x/."]
)
def test_values_that_mean_up(value: str) -> None:
    assert means_up(value)


@pytest.mark.parametrize("value", ["...", "a..b", "1.2", "a/b", "..x", "x..", "", "%2e%2ex", "100%"])
def test_values_that_mean_themselves(value: str) -> None:
    assert not means_up(value)
