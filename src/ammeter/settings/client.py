"""Settings of commands that speak to a running server, and what a CI service tells them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ammeter.settings.names import PREFIX, is_origin


class ClientSettings(BaseSettings):
    """For commands that speak to a running server over HTTP."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    url: str = Field("http://127.0.0.1:8321", description="Address of the server that commands speak to.")
    api_key: SecretStr = Field(SecretStr(""), description="API key that commands sign and ask with.")

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        if not is_origin(value):
            raise ValueError("must be http://host[:port] or https://host[:port] and nothing more")
        return value.rstrip("/")


class CiSettings(BaseSettings):
    """Where a description comes from, as the CI service that runs the command tells it."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True)

    repository: str | None = Field(
        default=None,
        validation_alias=AliasChoices("GITHUB_REPOSITORY", "CI_PROJECT_PATH", "BITBUCKET_REPO_FULL_NAME"),
    )
    commit_sha: str | None = Field(
        default=None, validation_alias=AliasChoices("GITHUB_SHA", "CI_COMMIT_SHA", "BITBUCKET_COMMIT")
    )
    branch: str | None = Field(
        default=None,
        validation_alias=AliasChoices(
            "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BITBUCKET_BRANCH"
        ),
    )
    pull_request: str | None = Field(
        default=None, validation_alias=AliasChoices("CI_MERGE_REQUEST_IID", "BITBUCKET_PR_ID", "GITHUB_REF")
    )

    @property
    def pull_request_number(self) -> int | None:
        # GitHub tells it only within the ref: refs/pull/7/merge.
        found = re.fullmatch(r"(?:refs/pull/)?([0-9]{1,9})(?:/.*)?", self.pull_request or "")
        return int(found[1]) if found else None


class GithubSettings(BaseSettings):
    """Whether GitHub Actions runs a command, and where it takes summaries."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True)

    actions: bool = Field(default=False, validation_alias="GITHUB_ACTIONS")
    step_summary: Path | None = Field(default=None, validation_alias="GITHUB_STEP_SUMMARY")


def find_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address, as other programs read it; never for this
    machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    proxies = getproxies()
    if proxy_bypass(parts.netloc):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
