"""What is a secret and what is not, in text and in JSON. Tokens here are made up and built from pieces, so
that no scanner of this repository takes them for real."""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
from typing import Any

import pytest

from ammeter.engines.redact.redactor import Redactor, redact_or_drop

DRAW = random.Random(7)
LETTERS = string.ascii_letters + string.digits


def drawn(count: int, letters: str = LETTERS) -> str:
    return "".join(DRAW.choice(letters) for _ in range(count))


HEX = "0123456789abcdef"
PEM = (
    "-----BEGIN RSA PRIVATE"
    + " KEY-----\n"
    + "\n".join(drawn(64) for _ in range(4))
    + "\n-----END RSA PRIVATE KEY-----"
)

TOKENS = [
    ("ammeter_key", "amt_" + "abcdefghij27" + "_" + drawn(40)),
    ("aws_key", "AKIA" + "IOSFODNN7EXAMPLE"[:16].replace("8", "7").replace("9", "7")),
    ("aws_key", "ASIA" + drawn(16, "ABCDEFGHIJ234567")),
    ("github_token", "ghp_" + drawn(36)),
    ("github_token", "ghs_" + drawn(36)),
    ("github_token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
    ("gitlab_token", "glpat-" + drawn(20)),
    ("slack_token", "xoxb-" + "123456789012-123456789012-" + drawn(24)),
    ("slack_token", "xapp-1-" + "A012ABCDEFG-" + drawn(64, HEX)),
    ("stripe_key", "sk_live_" + drawn(24)),
    ("stripe_key", "rk_test_" + drawn(24)),
    ("stripe_key", "whsec_" + drawn(32)),
    ("anthropic_key", "sk-ant-" + "api03-" + drawn(80)),
    ("openai_key", "sk-" + drawn(48)),
    ("openai_key", "sk-proj-" + drawn(60)),
    ("google_key", "AIza" + drawn(35)),
    ("google_token", "ya29." + drawn(60)),
    ("google_secret", "GOCSPX-" + drawn(28)),
    ("huggingface_token", "hf_" + drawn(34, string.ascii_letters)),
    ("jwt", "eyJ" + drawn(20) + ".eyJ" + drawn(40) + "." + drawn(43)),
    ("npm_token", "npm_" + drawn(36)),
    ("pypi_token", "pypi-AgEIcHlwaS5vcmc" + drawn(120)),
    ("twilio_key", "SK" + drawn(32, HEX)),
    ("sendgrid_key", "SG." + drawn(22) + "." + drawn(43)),
    ("mailgun_key", "key-" + drawn(32, HEX)),
    ("telegram_token", ":AA" + drawn(33)),
    ("shopify_token", "shpat_" + drawn(32, HEX)),
    ("square_token", "sq0atp-" + drawn(22)),
    ("digitalocean_token", "dop_v1_" + drawn(64, HEX)),
    ("databricks_token", "dapi" + drawn(32, HEX)),
    ("linear_key", "lin_api_" + drawn(40)),
    ("notion_token", "ntn_" + drawn(46)),
    ("atlassian_token", "ATATT3" + drawn(180)),
    ("vault_token", "hvs." + drawn(90)),
    ("postman_key", "PMAK-" + drawn(24, HEX) + "-" + drawn(34, HEX)),
    ("newrelic_key", "NRAK-" + drawn(27, string.ascii_uppercase + string.digits)),
    ("grafana_token", "glsa_" + drawn(32) + "_" + drawn(8, HEX)),
    ("age_key", "AGE-SECRET-KEY-1" + drawn(58, string.ascii_uppercase + string.digits)),
    ("private_key", PEM),
    ("card_number", "4111111111111111"),
    ("card_number", "5500 0055 5555 5559"),
    ("card_number", "3782-822463-10005"),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[f"{k} {i}" for i, (k, _) in enumerate(TOKENS)])
@pytest.mark.parametrize(
    "around",
    ["{}", "see {} there", "({})", '"{}"', "a={}&b=1", "line\n{}\nline", "é {} 🙂", "x: {},", "`{}`;"],
)
def test_tokens_of_known_shape_go_wherever_they_stand(kind: str, token: str, around: str) -> None:
    redactor = Redactor()
    text = around.replace("{}", token)
    assert redactor.text(text) == around.replace("{}", f"[redacted:{kind}]")
    assert redactor.stripped == 1


@pytest.mark.parametrize(("kind", "token"), [t for t in TOKENS if t[0] != "card_number"])
def test_tokens_go_from_json_within_text(kind: str, token: str) -> None:
    inner = json.dumps({"note": f"first line\n{token}"})
    for text in (inner, json.dumps({"body": inner})):
        clean = Redactor().text(text)
        assert f"[redacted:{kind}]" in clean
        assert token[4:30] not in clean


SECRET_TEXTS = [
    ("my password is kT9vbQ2m, please log in", "my password is *, please log in"),
    ("The password was now Summer2024!.", "The password was now *!."),
    ("the API key is 8f14e45fceea167a5a36dedd4bea2543aB.", "the API key is *."),
    ("password=hunter2", "password=*"),
    ("password=correcthorse", "password=*"),
    ("PGPASSWORD=s3cr3t psql", "PGPASSWORD=* psql"),
    ("password: hunter2", "password: *"),
    ("--password=abc --verbose", "--password=* --verbose"),
    ('{"password": "correct horse battery"}', '{"password": "*"}'),
    ('{"password":"a\\"b"}', '{"password":"*"}'),
    ('"{\\"client_secret\\": \\"abc\\"}"', '"{\\"client_secret\\": \\"*\\"}"'),
    ('"{\\\\\\"apiKey\\\\\\":\\\\\\"abc\\\\\\"}"', '"{\\\\\\"apiKey\\\\\\":\\\\\\"*\\\\\\"}"'),
    ("{ apiKey: 'abc-def' }", "{ apiKey: '*' }"),
    ("const API_KEY = `abc`", "const API_KEY = `*`"),
    ("headers['X-Api-Key'] = 'abc'", "headers['X-Api-Key'] = '*'"),
    ("access_token=abcd1234&scope=read", "access_token=*&scope=read"),
    ("https://h/x?token=abc&y=1", "https://h/x?token=*&y=1"),
    ("https://h/x?a=1&api_key=abc#f", "https://h/x?a=1&api_key=*"),
    ("token: 8f14e45fceea167a5a36dedd4bea2543aB", "token: *"),
    ("Authorization: Bearer abcdefgh", "Authorization: *"),
    ("authorization: Token abc def\nHost: h", "authorization: *\nHost: h"),
    ('{"Authorization": "Digest username=me"}', '{"Authorization": "*"}'),
    ("Cookie: session=abc; theme=dark\n", "Cookie: *\n"),
    ("Set-Cookie: id=abc; Path=/", "Set-Cookie: *"),
    ("curl -H 'Cookie: a=b'", "curl -H 'Cookie: *'"),
    ('{"cvv": "123"}', '{"cvv": "*"}'),
    ("secret := 'abc'", "secret := '*'"),
    ("{'refresh_token' => 'abc'}", "{'refresh_token' => '*'}"),
    ('{"token": "unterminated', '{"token": "*'),
]


@pytest.mark.parametrize(("text", "clean"), SECRET_TEXTS)
def test_values_given_to_a_secrets_name_go(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean.replace("*", "[redacted:secret_field]")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see https://me:pa55@host.example/x", "see https://me:[redacted:url_password]@host.example/x"),
        ("postgresql://a:b:c@h/d", "postgresql://a:[redacted:url_password]@h/d"),
        ("redis://:pw@h", "redis://:[redacted:url_password]@h"),
        ("use Bearer abc12345xyz now", "use Bearer [redacted:bearer_token] now"),
        ("BASIC dXNlcjpwYXNz", "BASIC [redacted:basic_credentials]"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnop",
            "https://hooks.slack.com/services/[redacted:webhook]",
        ),
        (
            "/api/webhooks/123456789012345678/" + "a" * 68,
            "/api/webhooks/123456789012345678/[redacted:webhook]",
        ),
    ],
)
def test_only_the_secret_part_goes(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


HARMLESS = [
    "The password is required and has at least 12 characters.",
    "A password is Argon2id-hashed; the secret is base64-encoded.",
    "The access token is valid for 3600 seconds.",
    "password is 12345678",
    "018f3c5e-7b1a-7cc0-8000-0123456789ab",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cus_NffrFeUfNV2Hib and pi_3MtwBwLkdIwHu7ix28a3tqPa",
    "acct_1032D82eZvKYlo2C, sandbox_account_01h9z",
    "me@example.com",
    '{"id": "dGhpcyBpcyBhbiBpZCBpbiBiYXNlNjQ="}',
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 5,
    '{"next_page_token": "CAUQAA", "pageToken": "abc123def456", "nextToken": "x9y8"}',
    '{"continuation_token": "abc", "sync_token": "CPDAlvWDx70CEPDAlvWDx70CGAU="}',
    '{"max_tokens": 4096, "total_tokens": 12, "prompt_tokens": 7}',
    '{"token_type": "bearer", "token_count": 3, "expires_in": 3600}',
    '{"key": "value", "primary_key": "id", "keys": ["a1b2c3d4"], "key_id": "abc123"}',
    '{"secret_name": "STRIPE", "secret_ref": "secret:STRIPE_KEY", "secretRef": "env:TOKEN"}',
    '{"password": ""}',
    '{"password": "***"}',
    '{"token": "{{token}}", "apiKey": "${API_KEY}", "secret": "<your secret>"}',
    '{"password": "string", "token": "string"}',
    "type Login = { user: string; password: string; token?: string }",
    "interface A { apiKey: string | undefined }",
    "const token = await client.auth.getToken()",
    "const password = form.password;",
    "login({ password: params.password, token: session?.token })",
    "if (token === other) { secret = compute(x) }",
    "token = tokens[0]",
    "for (const key of Object.keys(tokens)) total += tokens[key]",
    "password must be at least 8 characters",
    "the bearer of this letter; bearer authentication; basic information",
    "Basic authentication is required",
    "task-management-for-distributed-teams-everywhere",
    "risk-assessment-of-supply-chain-dependencies",
    "http://localhost:8080/path@2x.png",
    "https://example.com/a:b@c",
    "time 12:30:45, ratio 16:9, mail to a:b@c",
    "amount 4111111111111112, order 1234567890123456",
    "1700000000000000 and 2024-01-01T00:00:00.000Z",
    "v4.1111.1111.1111, 4111111111111111a, x4111111111111111, 0.4111111111111111",
    "phone +44 4111 111 111",
    "keyboard: qwerty123, monkey=banana42, turkey: 12345678ab",
    "author: abc12345def, authored=2024",
    "AKIDEXAMPLE SKU12345 SG.short npm_config_cache",
    "client.tokens.list({ limit: 10 })",
    "password:\n  type: string\n  format: password",
    "[redacted:github_token] stays",
    "",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.stripped == 0


def test_redacted_text_is_not_redacted_again() -> None:
    clean = Redactor().text("\n".join([*(text for text, _ in SECRET_TEXTS), *(token for _, token in TOKENS)]))
    assert Redactor().text(clean) == clean


def test_json_is_redacted_by_name_and_by_text() -> None:
    token = "ghp_" + drawn(36)
    given = {
        "user": "me@example.com",
        "password": "x",
        "pin": 4711,
        "accessToken": "abc",
        "apiKeys": ["one", "two"],
        "credentials": {"user": "me", "secretKey": "k", "region": "eu"},
        "Authorization": "Bearer abc",
        "passcode": 1234,
        "cvc": 123,
        "token": None,
        "has_password": True,
        "nextPageToken": "abc",
        "card": 4111111111111111,
        "amount": 12.5,
        "note": f"my token is {token}",
        token: 1,
        "rows": [{"clientSecret": ""}, {"clientSecret": "secret:NAME"}, ("a", {"pwd": "b"})],
    }
    redactor = Redactor()
    field = "[redacted:secret_field]"
    assert redactor.value(given) == {
        "user": "me@example.com",
        "password": field,
        "pin": 4711,
        "accessToken": field,
        "apiKeys": [field, field],
        "credentials": {"user": "me", "secretKey": field, "region": "eu"},
        "Authorization": field,
        "passcode": field,
        "cvc": field,
        "token": None,
        "has_password": True,
        "nextPageToken": "abc",
        "card": "[redacted:card_number]",
        "amount": 12.5,
        "note": "my token is [redacted:github_token]",
        "[redacted:github_token]": 1,
        "rows": [{"clientSecret": ""}, {"clientSecret": "secret:NAME"}, ["a", {"pwd": field}]],
    }
    assert redactor.stripped == 12


def test_what_cannot_be_redacted_is_dropped() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    assert redact_or_drop(Redactor(), endless) is None
    assert redact_or_drop(Redactor(), object()) is None
    assert redact_or_drop(Redactor(), {"password": "x", "a": 1}) == {
        "password": "[redacted:secret_field]",
        "a": 1,
    }


HOSTILE = [
    "eyJ", "eyJ-", "-eyJ", "\\neyJ", "a.eyJ", "sk-", "ghp_", "xoxb-", "://", "://a", "://a:", "bearer ",
    "Basic ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "password=", "password:", 'password="',
    "password:'\\", "token", "key=", "authorization: ", "cookie", '\\"secret\\": \\"', "secret: \\", "1234 ",
    "4111 1111 ", "4111", "hooks/", "a" * 17 + " ", "SG.", "ya29.", "\\", '"', "\n", " ", "é", "_", "-",
    "pass", "cv", "=", ":",
]  # fmt: skip


def test_hostile_texts_take_no_longer_than_others() -> None:
    """Much of each: in a process that is given up after a time in which a pattern that goes over
    its text again and again would not even have begun to end."""
    program = (
        "import json, sys\n"
        "from ammeter.engines.redact.redactor import Redactor\n"
        "for text in json.load(sys.stdin):\n"
        "    Redactor(['a-known value', 'aaaaaaaaaa']).text((text * 150_000)[:150_000])\n"
        "    Redactor(['a-known value']).text(text * 10_000 + '@')\n"
        "    Redactor().value({'a': [text * 1000] * 10})\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(HOSTILE), text=True, check=True, timeout=120
    )


def test_escaped_line_breaks_do_not_hide_a_secret() -> None:
    card = "4111" + "1111" * 3
    for secret in (PEM, card):
        text = f"line one\n{secret}\nline three"
        for _ in range(4):
            text = json.dumps(text)
            clean = Redactor().text(text)
            assert "[redacted:" in clean
            assert not [line for line in secret.splitlines() if not line.startswith("---") and line in clean]
