"""Redaction: how much of what is secret is taken out, and how much that is not, by class.

    python -m benchmarks.redaction [--each 200]

Secrets are generated in the public shapes of their issuers and put into eight surroundings: prose, JSON,
code, a log line, an escaped JSON text, a URL, Markdown, a shell command. A secret counts as found if no
eight letters of it in a row are left. Clean texts are what the same places hold without a secret: ids,
digests, prose about passwords; one counts as hurt if anything of it is changed. Same seed, same texts.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import urllib.parse
import uuid
from collections.abc import Callable, Mapping

from ammeter.engines.redact.redactor import Redactor
from benchmarks.machine import machine

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
PIECE = 8

Draw = random.Random
Make = Callable[[Draw], str]


def run(draw: Draw, count: int, letters: str = LETTERS) -> str:
    return "".join(draw.choice(letters) for _ in range(count))


def _jwt(draw: Draw) -> str:
    parts = [json.dumps({"alg": "RS256", "kid": run(draw, 8)}), json.dumps({"sub": run(draw, 12), "exp": 1})]
    told = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*told, run(draw, 86, LETTERS + "-_")])


def _card(draw: Draw) -> str:
    """Sixteen digits with a right check digit."""
    digits = [4, *(draw.randrange(10) for _ in range(14))]
    doubled = [d * 2 - 9 * (d > 4) if place % 2 == 0 else d for place, d in enumerate(digits)]
    return "".join(map(str, [*digits, -sum(doubled) % 10]))


# Beginnings are written in pieces, so that no scanner of this repository takes them for real.
TOKENS: Mapping[str, Make] = {
    "ammeter": lambda d: "amt" + f"_{run(d, 12, 'abcdefghij234567')}_{run(d, 40)}",
    "aws": lambda d: "AK" + "IA" + run(d, 16, UPPER),
    "github": lambda d: "gh" + f"p_{run(d, 36)}",
    "github, fine": lambda d: "github" + f"_pat_{run(d, 22)}_{run(d, 59)}",
    "gitlab": lambda d: "gl" + f"pat-{run(d, 20)}",
    "slack": lambda d: "xo" + f"xb-{run(d, 12, string.digits)}-{run(d, 12, string.digits)}-{run(d, 24)}",
    "stripe": lambda d: "sk" + f"_live_{run(d, 24)}",
    "openai": lambda d: "sk" + f"-proj-{run(d, 60, LETTERS + '_-')}",
    "anthropic": lambda d: "sk" + f"-ant-api03-{run(d, 90, LETTERS + '_-')}",
    "google": lambda d: "AI" + f"za{run(d, 35)}",
    "npm": lambda d: "np" + f"m_{run(d, 36)}",
    "pypi": lambda d: "py" + f"pi-AgEI{run(d, 140)}",
    "twilio": lambda d: "S" + f"K{run(d, 32, HEX)}",
    "sendgrid": lambda d: "S" + f"G.{run(d, 22)}.{run(d, 43)}",
    "shopify": lambda d: "shp" + f"at_{run(d, 32, HEX)}",
    "databricks": lambda d: "da" + f"pi{run(d, 32, HEX)}",
    "jwt": _jwt,
    "private key": lambda d: (
        "-----BEGIN RSA PRIVATE" + f" KEY-----\n{run(d, 300)}\n-----END RSA PRIVATE KEY-----"
    ),
    "card number": _card,
}
# The secret is a word without a shape; its name tells.
NAMED: Mapping[str, Callable[[str], str]] = {
    "password in JSON": lambda s: json.dumps({"user": "ada", "password": s}),
    "api_key in code": lambda s: f"const apiKey = '{s}';",
    "clientSecret in JSON": lambda s: json.dumps({"clientSecret": s, "grant_type": "client_credentials"}),
    "environment line": lambda s: f"DB_PASSWORD={s}\nDB_HOST=localhost",
    "query parameter": lambda s: f"GET https://api.example/v1/items?access_token={s}&page=2",
    "bearer header": lambda s: f"Authorization: Bearer {s}",
    "cookie header": lambda s: f"Cookie: session={s}; theme=dark",
    "password in a URL": lambda s: f"postgresql://ammeter:{s}@db.example:5432/main",
    "header in curl": lambda s: f"curl -H 'X-Api-Key: {s}' https://api.example",
    "YAML": lambda s: f"database:\n  password: {s}\n  host: db",
    "said in a sentence": lambda s: f"my password is {s}, please log in",
}
# Ammeter knows the value: it injected it into the call.
KNOWN: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda s: f"the API said: {s}",
    "in a URL": lambda s: f"https://api.example/?q={urllib.parse.quote(s, safe='')}",
    "in base64": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "in hexadecimal": lambda s: s.encode().hex(),
    "in JSON": lambda s: json.dumps({"echo": [s]}),
    "reversed": lambda s: s[::-1],
}
SURROUNDINGS: tuple[Callable[[str], str], ...] = (
    lambda s: f"Please use {s} for the next call.",
    lambda s: json.dumps({"note": s, "count": 3}),
    lambda s: f"const value = call(`{s}`); // then go on",
    lambda s: f"2026-11-15T09:00:00Z INFO request done detail={s} ms=12",
    lambda s: json.dumps(json.dumps({"body": f"line one\n{s}\nline three"})),
    lambda s: f"https://api.example/v1/find?q={s}&limit=5",
    lambda s: f"| name | value |\n|---|---|\n| it | `{s}` |",
    lambda s: f"run --with '{s}' --verbose",
)
CLEAN: Mapping[str, Make] = {
    "UUID": lambda d: str(uuid.UUID(int=d.getrandbits(128), version=4)),
    "SHA-256": lambda d: run(d, 64, HEX),
    "commit": lambda d: run(d, 40, HEX),
    "id with a beginning": lambda d: f"{d.choice(('cus', 'ord', 'in', 'evt', 'req'))}_{run(d, 14)}",
    "ULID": lambda d: f"01{run(d, 24, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')}",
    "base64 of a picture": lambda d: base64.b64encode(d.randbytes(120)).decode(),
    "number of sixteen digits": lambda d: _not_a_card(d),  # noqa: PLW0108 - stands further down
    "e-mail": lambda d: f"{run(d, 6, string.ascii_lowercase)}@example.com",
    "page token": lambda d: json.dumps({"next_page_token": run(d, 20), "items": []}),
    "token type": lambda d: json.dumps({"token_type": "bearer", "expires_in": d.randrange(9999)}),
    "token counts": lambda d: json.dumps({"input_tokens": d.randrange(9999), "max_tokens": 4096}),
    "prose": lambda d: d.choice(
        (
            "The password must have twelve characters.",
            "A bearer token is required to call this endpoint.",
            "Forgot your password? Use the reset link.",
            "The secret of good bread is time.",
            "Set the API key in the settings page.",
        )
    ),
    "operation": lambda d: (
        f"client.{d.choice(('tokens', 'secrets', 'orders'))}.list({{ limit: {d.randrange(99)} }})"
    ),
    "path": lambda d: f"/v1/customers/cu_{run(d, 10)}/orders/{d.randrange(10**6)}",
}


def _not_a_card(draw: Draw) -> str:
    card = _card(draw)
    return card[:-1] + str((int(card[-1]) + 1) % 10)


def is_gone(secret: str, text: str) -> bool:
    if len(secret) <= PIECE:
        return secret not in text
    return not any(secret[at : at + PIECE] in text for at in range(len(secret) - PIECE + 1))


def recall(make: Make, each: int, draw: Draw, surroundings: tuple[Callable[[str], str], ...]) -> float:
    found = 0
    for number in range(each):
        secret = make(draw)
        text = Redactor().text(surroundings[number % len(surroundings)](secret))
        found += all(is_gone(line, text) for line in secret.splitlines() if not line.startswith("-----"))
    return found / each


def known_recall(spell: Callable[[str], str], each: int, draw: Draw) -> float:
    found = 0
    for _ in range(each):
        secret = run(draw, 24, LETTERS + "+/=&")
        text = spell(secret)
        cleaned = Redactor([secret]).text(text)
        found += "[redacted:" in cleaned and is_gone(secret, cleaned)
    return found / each


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--each", type=int, default=200)
    each = options.parse_args().each
    draw = Draw(20261115)
    print(machine())
    print(f"{each} texts of each class; share of secrets found\n")
    total: list[float] = []
    print("tokens of known shape, anywhere")
    for name, make in TOKENS.items():
        total.append(recall(make, each, draw, SURROUNDINGS))
        print(f"  {name:28}{total[-1]:8.3f}")
    print("given to a secret's name")
    for name, tell in NAMED.items():
        total.append(recall(lambda d: run(d, 20), each, draw, (tell,)))
        print(f"  {name:28}{total[-1]:8.3f}")
    print("values that Ammeter injected")
    for name, spell in KNOWN.items():
        total.append(known_recall(spell, each, draw))
        print(f"  {name:28}{total[-1]:8.3f}")
    print("\nclean texts left as they are")
    untouched: list[float] = []
    for name, make in CLEAN.items():
        whole = 0
        for number in range(each):
            text = SURROUNDINGS[number % len(SURROUNDINGS)](make(draw))
            whole += Redactor().text(text) == text
        untouched.append(whole / each)
        print(f"  {name:28}{untouched[-1]:8.3f}")
    hits, hurt = sum(total), sum(1 - share for share in untouched)
    print(f"\nrecall, mean of classes     {hits / len(total):8.3f}")
    print(f"precision, classes alike    {hits / (hits + hurt):8.3f}")


if __name__ == "__main__":
    main()
