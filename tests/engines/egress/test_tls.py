"""TLS: the certificate must be of the name that was asked for, whatever address that name has."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.egress.port import Answer, EgressFault, Request
from tests.upstream import Upstream, running_upstream

NAME = "api.test"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate of its own for one name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[Upstream]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with running_upstream(context) as running:
        yield running


def get(host: str, port: int) -> Answer:
    async def to_this_machine(name: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async def go() -> Answer:
        egress = Egress(Guard(["127.0.0.1"], resolver=to_this_machine))
        url = f"https://{host}:{port}"
        try:
            return await egress.send(Request(method="GET", url=f"{url}/echo"), base=parse_base(url))
        finally:
            await egress.close()

    return asyncio.run(go())


def test_the_certificate_of_the_name_is_trusted(
    secure: Upstream, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert get(NAME, secure.port).status == 200
    assert secure.seen[0].headers["host"] == f"{NAME}:{secure.port}"


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1"])
def test_the_certificate_of_another_name_is_not(
    secure: Upstream, certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(EgressFault, match="is not trusted"):
        get(host, secure.port)
    assert secure.seen == []


def test_a_certificate_that_nobody_vouches_for_is_not(secure: Upstream) -> None:
    with pytest.raises(EgressFault, match=f"The certificate of https://{NAME}"):
        get(NAME, secure.port)


def test_an_api_that_does_not_speak_tls(certificate: Path) -> None:
    with running_upstream() as plain, pytest.raises(EgressFault, match="does not speak TLS"):
        get(NAME, plain.port)
