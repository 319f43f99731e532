"""An OpenID Connect provider as a process: `oidc-provider-mock`, whose people are told over HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.postgres import free_port
from tests.server import until


@dataclass(frozen=True, slots=True)
class Issuer:
    url: str

    def add(self, sub: str, **claims: object) -> None:
        httpx.put(f"{self.url}/users/{sub}", json=claims).raise_for_status()


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    port = free_port()
    # Warnings are of its own libraries.
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    issuer = Issuer(f"http://127.0.0.1:{port}")
    try:
        until(lambda: _answers(issuer.url), "the issuer answers")
        yield issuer
    finally:
        process.terminate()
        process.wait(10)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/.well-known/openid-configuration").status_code == 200
    except httpx.TransportError:
        return False
