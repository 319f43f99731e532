"""Signing in at another service, against a provider that is a program of its own."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.oidc import OidcClient, Person, Provider, SignInFault, Start
from tests.issuer import Issuer, running_issuer

BACK = "http://dashboard.test/sign-in/oidc/callback"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as started:
        yield started


def provider(issuer: Issuer, egress: Egress, *, issued_by: str = "") -> Provider:
    client = OidcClient(issuer=issued_by or issuer.url, client_id="ammeter", client_secret="a-secret")
    return Provider(client, egress)


def consent(start: Start, sub: str) -> str:
    """What the browser is sent back with, after the person agreed."""
    answer = httpx.post(start.url, data={"sub": sub})
    digest = hashlib.sha256(start.verifier.encode()).digest()
    asked = parse_qs(urlsplit(start.url).query)
    assert asked["code_challenge"] == [base64.urlsafe_b64encode(digest).decode().rstrip("=")]
    given = parse_qs(urlsplit(answer.headers["location"]).query)
    assert given["state"] == [start.state]
    return given["code"][0]


def signed_in(issuer: Issuer, sub: str, **changes: str) -> Person:
    async def whole() -> Person:
        egress = Egress(Guard(("127.0.0.0/8",)))
        try:
            service = provider(issuer, egress)
            start = await service.start(BACK)
            code = await asyncio.to_thread(consent, start, sub)
            given = {"code": code, "verifier": start.verifier, "nonce": start.nonce, "redirect_uri": BACK}
            return await service.finish(**{**given, **changes})
        finally:
            await egress.close()

    return asyncio.run(whole())


def test_the_person_who_agreed_comes_back(issuer: Issuer) -> None:
    issuer.add("ada", email="ada@shop.test", name="Ada", email_verified=True)
    assert signed_in(issuer, "ada") == Person(email="ada@shop.test", name="Ada")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"nonce": "another"}, "belongs to another sign-in"),
        ({"code": "made-up"}, "refused"),
    ],
)
def test_an_answer_to_another_question_is_refused(issuer: Issuer, changes: dict[str, str], told: str) -> None:
    issuer.add("ada", email="ada@shop.test", email_verified=True)
    with pytest.raises(SignInFault, match=told):
        signed_in(issuer, "ada", **changes)


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"email": "ada@shop.test", "email_verified": False}, "has not verified"),
        ({"name": "Nobody"}, "did not tell an e-mail"),
    ],
)
def test_nobody_comes_in_by_an_address_that_is_not_theirs(
    issuer: Issuer, claims: dict[str, object], told: str
) -> None:
    issuer.add("someone", **claims)
    with pytest.raises(SignInFault, match=told):
        signed_in(issuer, "someone")


def test_an_issuer_of_another_name_or_none_is_told(issuer: Issuer) -> None:
    async def begin(url: str) -> None:
        egress = Egress(Guard(("127.0.0.0/8",)))
        try:
            await provider(issuer, egress, issued_by=url).start(BACK)
        finally:
            await egress.close()

    with pytest.raises(SignInFault, match="another name"):
        asyncio.run(begin(f"{issuer.url}/"))
    with pytest.raises(SignInFault, match="cannot be asked"):
        asyncio.run(begin("http://127.0.0.1:1"))
