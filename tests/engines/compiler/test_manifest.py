from __future__ import annotations

from typing import Any

import pytest

from ammeter.engines.compiler.manifest import (
    AnalyticsTag,
    BaseUrl,
    BasicAuth,
    BearerAuth,
    ClientCredentialsAuth,
    HeaderAuth,
    Limits,
    Manifest,
    NoAuth,
    Policy,
    QueryAuth,
    check,
    to_json,
)

FULL: dict[str, Any] = {
    "vendorName": "Acme, Inc.",
    "clientName": "acme",
    "baseUrls": [
        {"url": "https://api.acme.com/v1/"},
        {"environment": "staging", "url": "http://staging.acme.com:8080", "description": "for tests"},
    ],
    "auth": {"type": "header", "headerName": "X-Api-Key", "prefix": "Token", "secretRef": "secret:ACME_KEY"},
    "analyticsTags": {"team": "header:X-Team", "tier": "static:gold", "goal": "jsdoc:goal"},
    "scriptTimeoutEnv": "ACME_TIMEOUT",
    "limits": {"maxCalls": 10, "memoryMb": 64},
    "policy": {"readOnly": True, "deny": ["users.delete*"]},
}


def taken(value: Any) -> Manifest:
    manifest, details = check(value)
    assert details == ()
    assert manifest is not None
    return manifest


def fault(value: Any) -> tuple[str, str]:
    manifest, details = check(value)
    assert manifest is None
    assert len(details) == 1, details
    return details[0].path, details[0].message


def test_nothing_given_means_defaults() -> None:
    assert taken(None) == taken({}) == Manifest()
    manifest = Manifest()
    assert manifest.client_name == "client"
    assert manifest.auth == NoAuth()
    assert manifest.limits == Limits(max_calls=50, memory_mb=128)
    assert manifest.base_url_for("production") is None


def test_everything_given_is_read() -> None:
    assert taken(FULL) == Manifest(
        vendor_name="Acme, Inc.",
        client_name="acme",
        base_urls=(
            BaseUrl(url="https://api.acme.com/v1"),
            BaseUrl(url="http://staging.acme.com:8080", environment="staging", description="for tests"),
        ),
        auth=HeaderAuth(header_name="X-Api-Key", prefix="Token", secret_ref="secret:ACME_KEY"),
        analytics_tags=(
            AnalyticsTag(name="team", source="header", value="X-Team"),
            AnalyticsTag(name="tier", source="static", value="gold"),
            AnalyticsTag(name="goal", source="jsdoc", value="goal"),
        ),
        script_timeout_env="ACME_TIMEOUT",
        limits=Limits(max_calls=10, memory_mb=64),
        policy=Policy(read_only=True, deny=("users.delete*",)),
    )


def test_what_is_written_into_a_bundle_is_read_back() -> None:
    others = [
        {"auth": {"type": "basic", "username": "u", "secretRef": "env:P"}},
        {
            "auth": {
                "type": "oauth2_client_credentials",
                "tokenUrl": "https://x/t",
                "clientId": "i",
                "secretRef": "env:S",
                "scopes": ["a"],
            }
        },
    ]
    for value in (None, FULL, *others):
        manifest = taken(value)
        assert taken(to_json(manifest)) == manifest


def test_an_environment_has_its_own_base_url_or_the_one_for_all() -> None:
    manifest = taken(FULL)
    assert manifest.base_url_for("staging") == "http://staging.acme.com:8080"
    assert manifest.base_url_for("production") == "https://api.acme.com/v1"
    assert taken({"baseUrl": "https://x.com"}).base_url_for("any") == "https://x.com"
    assert taken({"baseUrls": [{"environment": "a", "url": "https://x.com"}]}).base_url_for("b") is None


def test_base_url_and_base_urls_exclude_each_other_and_environments_are_told_once() -> None:
    path, message = fault({"baseUrl": "https://a.com", "baseUrls": [{"url": "https://b.com"}]})
    assert path == "$.manifest"
    assert "exclude each other" in message
    assert "more than one" in fault({"baseUrls": [{"url": "https://a.com"}, {"url": "https://b.com"}]})[1]
    twice = [{"environment": "x", "url": "https://a.com"}, {"environment": "x", "url": "https://b.com"}]
    assert "'x'" in fault({"baseUrls": twice})[1]
    assert fault({"baseUrls": []})[0] == "$.manifest.baseUrls"


@pytest.mark.parametrize(
    "url",
    [
        *("", "api.x.com", "/v1", "ftp://x.com", "https://", "https:///v1", "//x.com", "https://x.com:0"),
        *("https://u:p@x.com", "https://u@x.com", "https://x.com?a=1", "https://x.com/?", "https://x.com#f"),
        *(
            "https://x.com:99999",
            "https://x.com/a b",
            "https://x.com/\n",
            "https://{t}.x.com",
            "https://x.com/../a",
        ),
        *("https://[::1", "https://x.com\\@y.com", "javascript:alert(1)", "file:///etc/passwd"),
    ],
)
def test_a_base_url_that_is_not_plain_is_refused(url: str) -> None:
    assert fault({"baseUrl": url})[0] == "$.manifest.baseUrl"
    assert fault({"baseUrls": [{"url": url}]})[0] == "$.manifest.baseUrls[0].url"


@pytest.mark.parametrize("name", ["Production", "a" * 33, "", "a b", "ä"])
def test_an_environment_has_a_plain_name(name: str) -> None:
    assert (
        fault({"baseUrls": [{"environment": name, "url": "https://x.com"}]})[0]
        == "$.manifest.baseUrls[0].environment"
    )


@pytest.mark.parametrize("name", ["acme", "_a", "$", "acmeClient2"])
def test_a_client_name_is_an_identifier(name: str) -> None:
    assert taken({"clientName": name}).client_name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1a",
        "a-b",
        "a b",
        "a.b",
        "class",
        "await",
        "let",
        "__proto__",
        "constructor",
        "console",
        "globalThis",
        "fetch",
        "JSON",
        "ü",
        "a" * 65,
        "a\n",
    ],
)
def test_a_client_name_that_javascript_has_or_cannot_have_is_refused(name: str) -> None:
    assert fault({"clientName": name})[0] == "$.manifest.clientName"


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ({"type": "none"}, NoAuth()),
        ({"type": "bearer", "secretRef": "secret:A"}, BearerAuth(secret_ref="secret:A")),
        (
            {"type": "bearer", "secretRef": "env:a_B", "prefix": "JWT"},
            BearerAuth(secret_ref="env:a_B", prefix="JWT"),
        ),
        (
            {"type": "query", "queryName": "key", "secretRef": "env:A"},
            QueryAuth(query_name="key", secret_ref="env:A"),
        ),
        (
            {"type": "basic", "username": "u", "secretRef": "env:P"},
            BasicAuth(username="u", secret_ref="env:P"),
        ),
        ({"type": "basic", "usernameRef": "secret:KEY"}, BasicAuth(username_ref="secret:KEY")),
        (
            {
                "type": "oauth2_client_credentials",
                "tokenUrl": "https://x.com/token",
                "clientId": "id",
                "secretRef": "env:S",
                "scopes": ["r", "w"],
                "clientAuthentication": "body",
            },
            ClientCredentialsAuth(
                token_url="https://x.com/token",
                client_id="id",
                secret_ref="env:S",
                scopes=("r", "w"),
                client_authentication="body",
            ),
        ),
    ],
)
def test_each_kind_of_auth_is_read(auth: dict[str, Any], expected: Any) -> None:
    assert taken({"auth": auth}).auth == expected


def test_the_references_of_a_manifest_are_listed() -> None:
    auth = {"type": "basic", "usernameRef": "env:U", "secretRef": "secret:P"}
    assert taken({"auth": auth}).secret_refs == ("secret:P", "env:U")


@pytest.mark.parametrize(
    ("auth", "path"),
    [
        ({}, ".auth"),
        ("bearer", ".auth"),
        ({"type": "bearrer", "secretRef": "env:A"}, ".auth.type"),
        ({"type": "bearer"}, ".auth.secretRef"),
        ({"type": "header", "secretRef": "env:A"}, ".auth.headerName"),
        ({"type": "header", "headerName": "Host", "secretRef": "env:A"}, ".auth.headerName"),
        ({"type": "header", "headerName": "a b", "secretRef": "env:A"}, ".auth.headerName"),
        ({"type": "query", "secretRef": "env:A"}, ".auth.queryName"),
        ({"type": "basic", "secretRef": "env:A"}, ".auth"),
        ({"type": "basic", "username": "u"}, ".auth"),
        ({"type": "basic", "username": "u", "usernameRef": "env:U", "secretRef": "env:A"}, ".auth"),
        (
            {"type": "oauth2_client_credentials", "tokenUrl": "x", "clientId": "i", "secretRef": "env:A"},
            ".auth.tokenUrl",
        ),
        ({"type": "oauth2_client_credentials", "tokenUrl": "https://x/t", "secretRef": "env:A"}, ".auth"),
        ({"type": "bearer", "secretRef": "env:A", "headerName": "X"}, ".auth.headerName"),
        ({"type": "bearer", "secretRef": "env:A", "prefix": "a\r\nX: y"}, ".auth.prefix"),
        ({"type": "bearer", "secretRef": "secret:lower case"}, ".auth.secretRef"),
        ({"type": "bearer", "secretRef": "env:"}, ".auth.secretRef"),
        ({"type": "bearer", "secretRef": 5}, ".auth.secretRef"),
    ],
)
def test_a_wrong_auth_is_told_with_its_path(auth: Any, path: str) -> None:
    assert fault({"auth": auth})[0] == "$.manifest" + path


CREDENTIALS = [
    "sk_live_" + "51Hx8aBcDeFgHiJkLmNo",
    "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "Bearer abcdefgh12345678",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
    "hunter2",
    "9f86d081884c7d659a2feaa0c55ad015",
]


@pytest.mark.parametrize("value", CREDENTIALS)
def test_a_credential_instead_of_a_reference_is_refused_and_never_repeated(value: str) -> None:
    path, message = fault({"auth": {"type": "bearer", "secretRef": value}})
    assert path == "$.manifest.auth.secretRef"
    assert "secret:NAME" in message
    assert value not in message


@pytest.mark.parametrize("value", [*CREDENTIALS[:4], CREDENTIALS[5]])
def test_a_credential_elsewhere_is_refused_too(value: str) -> None:
    assert fault({"analyticsTags": {"t": f"static:{value}"}})[0] == "$.manifest.analyticsTags.t"
    assert value not in fault({"vendorName": value})[1]
    assert (
        fault({"auth": {"type": "basic", "username": value, "secretRef": "env:A"}})[0]
        == "$.manifest.auth.username"
    )


@pytest.mark.parametrize(
    "value",
    ["Acme Payments Europe Ltd.", "the-quite-long-name-of-a-vendor", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"],
)
def test_ordinary_words_are_no_credentials(value: str) -> None:
    assert taken({"vendorName": value}).vendor_name == value


@pytest.mark.parametrize(
    "value", ["gold", "header:", "header:a b", "static:", "jsdoc:@team", "cookie:x", "", 5]
)
def test_a_wrong_analytics_tag_is_told(value: Any) -> None:
    assert fault({"analyticsTags": {"team": value}})[0] == "$.manifest.analyticsTags.team"


def test_a_wrong_name_of_a_tag_is_told() -> None:
    for name in ("", "1a", "a b", "__proto__", "constructor"):
        assert fault({"analyticsTags": {name: "static:x"}})[0].startswith("$.manifest.analyticsTags")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"limits": {"maxCalls": 0}}, ".limits.maxCalls"),
        ({"limits": {"maxCalls": 1001}}, ".limits.maxCalls"),
        ({"limits": {"maxCalls": "5"}}, ".limits.maxCalls"),
        ({"limits": {"maxCalls": True}}, ".limits.maxCalls"),
        ({"limits": {"memoryMb": 8}}, ".limits.memoryMb"),
        ({"limits": {"memoryMb": 100_000}}, ".limits.memoryMb"),
        ({"policy": {"readOnly": "yes"}}, ".policy.readOnly"),
        ({"policy": {"deny": "a*"}}, ".policy.deny"),
        ({"policy": {"deny": ["a", "b c"]}}, ".policy.deny[1]"),
        ({"scriptTimeoutEnv": "30"}, ".scriptTimeoutEnv"),
        ({"scriptTimeoutEnv": 30}, ".scriptTimeoutEnv"),
        ({"vendorName": ""}, ".vendorName"),
        ({"vendorName": "a\nb"}, ".vendorName"),
        ("text", ""),
        ([], ""),
    ],
)
def test_wrong_values_are_told_with_their_path(value: Any, path: str) -> None:
    assert fault(value)[0] == "$.manifest" + path


@pytest.mark.parametrize(
    ("value", "path", "meant"),
    [
        ({"client_name": "x"}, ".client_name", "clientName"),
        ({"baseURL": "https://x.com"}, ".baseURL", "baseUrl"),
        ({"limits": {"maxCall": 1}}, ".limits.maxCall", "maxCalls"),
        ({"policy": {"readonly": True}}, ".policy.readonly", "readOnly"),
        (
            {"baseUrls": [{"url": "https://x.com", "enviroment": "a"}]},
            ".baseUrls[0].enviroment",
            "environment",
        ),
        ({"auth": {"type": "bearer", "secretRef": "env:A", "prefx": "x"}}, ".auth.prefx", "prefix"),
        ({"auth": {"type": "bearrer", "secretRef": "env:A"}}, ".auth.type", "bearer"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_meant(value: Any, path: str, meant: str) -> None:
    found, message = fault(value)
    assert found == "$.manifest" + path
    assert f'Did you mean "{meant}"?' in message


def test_every_fault_is_told_at_once() -> None:
    _, details = check({"clientName": "class", "limits": {"maxCalls": 0, "x": 1}, "scriptTimeoutEnv": "!"})
    assert [d.path for d in details] == [
        *(
            "$.manifest.clientName",
            "$.manifest.scriptTimeoutEnv",
            "$.manifest.limits.maxCalls",
            "$.manifest.limits.x",
        ),
    ]
