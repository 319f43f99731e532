"""The server's settings."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ammeter.engines.models.endpoints import Endpoint, read_endpoints
from ammeter.settings.names import PREFIX, is_origin

_HOST_PATTERN = re.compile(r"\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]")

# For one who takes a list of networks for a switch.
_SWITCH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("1", "true", "yes", "on"), ("*",)),
    **dict.fromkeys(("0", "false", "no", "off"), ()),
}

# What package installers read from the environment; an installer runs no code of the packages.
_TOOL_VARIABLE = re.compile(
    r"(?i)PATH|HOME|LANG|LC_\w+|TMPDIR|(HTTPS?|ALL|NO)_PROXY|NPM_CONFIG_\w+|NODE_EXTRA_CA_CERTS|PIP_\w+"
    r"|UV_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE"
)

WordList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    data_dir: Path = Field(
        Path(".ammeter"), description="Folder for the SQLite file, objects and the sealing key."
    )
    cache_dir: Path | None = Field(
        None,
        description="Folder for what can be made again, such as compiled sandbox modules;"
        " empty: in the data folder.",
    )
    database_url: SecretStr = Field(
        SecretStr(""),
        description="`sqlite:///path` or `postgresql://user:password@host/name`;"
        " empty: SQLite in the data folder.",
    )
    database_threads: int = Field(
        8, ge=1, le=64, description="Threads, and at most as many readers, for the database."
    )
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(8321, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    base_url: str = Field(
        "",
        description="Address that people and agents use, such as `https://ammeter.example`;"
        " empty: host and port.",
    )
    region: Literal["us", "eu"] = Field("us", description="Region that new organizations are made in.")
    allowed_hosts: WordList = Field(
        (),
        description="Host names to answer to, comma-separated, `*.example.com` or `*`;"
        " always: loopback names and the host of the base URL.",
    )
    trusted_proxies: WordList = Field(
        (),
        description="Addresses or networks of proxies whose `X-Forwarded-*` headers are believed,"
        " comma-separated.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least level that is logged."
    )
    log_format: Literal["json", "plain"] = Field(
        "json", description="`json`: an object a line; `plain`: for a terminal."
    )
    sealing_keys: SecretStr = Field(
        SecretStr(""),
        description="Keys that seal organization secrets: 32 bytes each in base64, comma-separated,"
        " the first seals, all open; empty: the file `sealing.key` in the data folder.",
    )
    blob_url: str = Field(
        "",
        description="`file:///path` or `s3://bucket/prefix` for immutable objects; empty: the data folder.",
    )
    s3_endpoint: str = Field("", description="Endpoint of an S3-compatible store that is not AWS.")
    s3_region: str = Field("us-east-1", description="Region of the S3 bucket.")
    s3_access_key_id: SecretStr = Field(SecretStr(""), description="Access key of the S3 store.")
    s3_secret_access_key: SecretStr = Field(SecretStr(""), description="Secret key of the S3 store.")
    s3_allow_http: bool = Field(False, description="Whether the S3 endpoint may be plain HTTP.")
    metrics_token: SecretStr = Field(
        SecretStr(""),
        description="Bearer token that `/metrics` asks for; empty: open to whoever reaches the port.",
    )
    rate_api_burst: int = Field(
        20_000, ge=1, le=1_000_000, description="Requests that one API key may make at once."
    )
    rate_api_per_second: float = Field(
        10_000, gt=0, le=1_000_000, description="Requests a second that one API key may make in the long run."
    )
    body_timeout_s: float = Field(30, gt=0, le=600, description="Seconds a request body may take to arrive.")
    session_idle_minutes: int = Field(
        720, ge=1, le=43_200, description="Minutes without a page after which a person is signed out."
    )
    session_days: int = Field(
        14, ge=1, le=365, description="Days after which a person signs in again, whatever they did since."
    )
    oidc_issuer: str = Field(
        "",
        description="Issuer of an OpenID Connect service where people may sign in, such as"
        " `https://accounts.example.com`; empty: by password alone.",
    )
    oidc_client_id: str = Field("", description="Id of the client that this server is at that service.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""), description="Its secret; empty: a public client, which PKCE protects."
    )
    oidc_label: str = Field(
        "Single sign-on", max_length=60, description="What the button to that service says."
    )
    drain_s: float = Field(
        0,
        ge=0,
        le=300,
        description="Seconds between `/readyz` saying no and the port closing, for load balancers to notice.",
    )
    stop_grace_s: float = Field(
        20, ge=0, le=600, description="Seconds that requests and jobs in flight may take to finish at a stop."
    )
    install_retention_days: int = Field(
        30,
        ge=0,
        le=3650,
        description="Days after which an installed package of a source goes that nobody has used meanwhile"
        " and no active source names; 0: never.",
    )
    run_retention_days: int = Field(
        365,
        ge=0,
        le=3650,
        description="Days that ended runs are kept, with their traces and evaluations; 0: for ever.",
    )
    telemetry_retention_days: int = Field(
        90,
        ge=0,
        le=3650,
        description="Days that telemetry events and sessions are kept; 0: for ever. Sums are kept two years.",
    )
    job_concurrency: int = Field(4, ge=1, le=64, description="Jobs that one process works on at once.")
    allow_private_networks: WordList = Field(
        (),
        description="Networks that are not public and may still be called, comma-separated, such as"
        " `10.0.0.0/8,127.0.0.1`; `*` or `true`: all but link-local, multicast and cloud metadata addresses,"
        " which must be named.",
    )
    live_bundles: int = Field(
        32, ge=1, le=10_000, description="Bundles that a process keeps ready to serve; others are read again."
    )
    secret_env_names: WordList = Field(
        (),
        description="Environment variables of the server that manifests may name as `env:NAME`,"
        " comma-separated.",
    )
    sandbox_hardening: Literal["best-effort", "require"] = Field(
        "best-effort",
        description="`require`: scripts are run only behind a seccomp filter and resource limits, or not at"
        " all; `best-effort`: behind every wall that the system has.",
    )
    hosting: Literal["require", "best-effort", "off"] = Field(
        "require",
        description="Sources that run as a process here. `require`: only behind walls over files, network and"
        " system calls; `best-effort`: behind those that the system has; `off`: not at all.",
    )
    openai_api_key: SecretStr = Field(SecretStr(""), description="Key for models `openai/…`.")
    anthropic_api_key: SecretStr = Field(SecretStr(""), description="Key for models `anthropic/…`.")
    google_api_key: SecretStr = Field(SecretStr(""), description="Key for models `google/…`.")
    models: str = Field(
        "",
        description="Further endpoints that speak OpenAI's chat completions, a JSON object by provider name;"
        " see [evals](evals.md#models).",
    )
    default_model: str = Field(
        "builtin/scripted",
        pattern=r"^[^\s/]+/\S+$",
        description="Tester model of workflows that name none.",
    )
    judge_model: str = Field(
        "",
        pattern=r"^([^\s/]+/\S+)?$",
        description="Model that judges criteria written as text; empty: only assertions are judged.",
    )
    rate_runs_burst: int = Field(
        10, ge=1, le=10_000, description="Dispatches that one organization may make at once."
    )
    rate_runs_per_second: float = Field(
        1, gt=0, le=10_000, description="Dispatches a second that one organization may make in the long run."
    )
    compile_concurrency: int = Field(
        2, ge=1, le=64, description="Uploads that one process compiles at once, each in a process of its own."
    )
    compile_queue: int = Field(
        16, ge=0, le=1000, description="Uploads that wait for that; more are answered 503 with `Retry-After`."
    )
    demo: bool = Field(
        False,
        description="Whether an empty server gets a demo organization, and its bookshop API at `/demo-api`;"
        " the same as `ammeter serve --demo`.",
    )

    @field_validator(
        "allowed_hosts", "trusted_proxies", "allow_private_networks", "secret_env_names", mode="before"
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(word.strip() for word in value.split(",") if word.strip())
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if not _HOST_PATTERN.fullmatch(word):
                raise ValueError(
                    f"{word!r} is not a host name; write it without scheme, port and path,"
                    " an IPv6 address in brackets"
                )
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            if network != "*":
                ipaddress.ip_network(network, strict=False)
        return value

    @field_validator("allow_private_networks")
    @classmethod
    def _private_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) == 1 and value[0].lower() in _SWITCH:
            value = _SWITCH[value[0].lower()]
        for network in value:
            if network != "*":
                ipaddress.ip_network(network, strict=False)
        return value

    @field_validator("secret_env_names")
    @classmethod
    def _env_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
                raise ValueError(f"{name!r} is not the name of an environment variable")
            if name.startswith(PREFIX):
                raise ValueError(f"{name!r} is a setting of the server itself and stays there")
        return value

    @field_validator("base_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        if value and not is_origin(value):
            raise ValueError("must be http://host[:port] or https://host[:port] and nothing more")
        return value.rstrip("/")

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s?#@]+", value):
            raise ValueError("must be https://host[/path], exactly as the service calls itself")
        return value

    @field_validator("models")
    @classmethod
    def _model_endpoints(cls, value: str) -> str:
        read_endpoints(value, {})
        return value

    @property
    def model_endpoints(self) -> dict[str, Endpoint]:
        return read_endpoints(self.models, os.environ)

    @property
    def secret_environment(self) -> dict[str, str]:
        """The variables that references may name, with their values."""
        return {name: os.environ[name] for name in self.secret_env_names if name in os.environ}

    @property
    def tool_environment(self) -> dict[str, str]:
        """What npm and pip are told of the environment: where programs and registries are."""
        return {name: value for name, value in os.environ.items() if _TOOL_VARIABLE.fullmatch(name)}

    @property
    def cache(self) -> Path:
        return (self.cache_dir or self.data_dir / "cache").absolute()

    @property
    def database(self) -> str:
        return self.database_url.get_secret_value() or f"sqlite:///{self.data_dir.absolute() / 'ammeter.db'}"

    @property
    def public_url(self) -> str:
        if self.base_url:
            return self.base_url
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def blobs(self) -> str:
        return self.blob_url or (self.data_dir.absolute() / "blobs").as_uri()
