"""What the bundle commands are told: the server and its key, the source, the files, where they come from."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ammeter.base.errors import SettingsError
from ammeter.cli.remote import Remote
from ammeter.settings import CiSettings, load_client_settings

BASE = "/api/openapi-artifacts"
# A description may take two minutes to compile, and its examples as long to run.
UPLOAD_TIMEOUT_S = 600.0

Url = Annotated[str | None, typer.Option("--url", help="The server; else AMMETER_URL.", show_default=False)]
Key = Annotated[
    str | None,
    typer.Option(
        "--key", help="API key; else AMMETER_API_KEY, which no list of processes shows.", show_default=False
    ),
]
SourceSlug = Annotated[str, typer.Option("--source", help="Slug of the source.")]
Environment = Annotated[str, typer.Option("--environment", help="Environment of the source.")]
BundleId = Annotated[str, typer.Argument(metavar="BUNDLE", help="Id of the bundle.")]
OpenApi = Annotated[str, typer.Option("--openapi", help="The description: a JSON or YAML file, - for stdin.")]
Overlay = Annotated[str, typer.Option("--overlay", help="Overlay to apply: a file, - for stdin.")]
ManifestFile = Annotated[str, typer.Option("--manifest", help="Manifest: a JSON or YAML file, - for stdin.")]
Repository = Annotated[str | None, typer.Option("--repository", help="Where the description is kept.")]
CommitSha = Annotated[str | None, typer.Option("--commit-sha", help="Its commit.")]
Branch = Annotated[str | None, typer.Option("--branch", help="Its branch.")]
PullRequest = Annotated[
    int | None, typer.Option("--pull-request", min=0, help="The pull request that changes it.")
]


def connect(url: str | None, key: str | None, *, timeout_s: float = 60.0) -> Remote:
    try:
        settings = load_client_settings(url=url, api_key=key)
    except SettingsError as error:
        if url is None:
            raise
        raise typer.BadParameter(error.message, param_hint="--url") from None
    token = settings.api_key.get_secret_value()
    if not token:
        raise typer.BadParameter("give an API key, best in the variable AMMETER_API_KEY", param_hint="--key")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise typer.BadParameter("the API key holds letters that no key has", param_hint="--key")
    return Remote(settings.url, token, timeout_s=timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of one upload, as names; each is read once."""

    openapi: str
    overlay: str = ""
    manifest: str = ""

    def read(self) -> dict[str, Any]:
        if [self.openapi, self.overlay, self.manifest].count("-") > 1:
            raise typer.BadParameter("standard input can be one of the files only", param_hint="-")
        sent: dict[str, Any] = {"openapi": _as_sent(read_text_file("--openapi", self.openapi))}
        if self.overlay:
            sent["overlay"] = _as_sent(read_text_file("--overlay", self.overlay))
        if self.manifest:
            sent["manifest"] = read_object_file("--manifest", self.manifest)
        return sent


def provenance(
    repository: str | None, commit_sha: str | None, branch: str | None, pull_request: int | None
) -> dict[str, Any]:
    """As told, else as the CI service tells it; what nobody tells is left out."""
    ci = CiSettings()
    told = {
        "repository": repository or ci.repository,
        "commitSha": commit_sha or ci.commit_sha,
        "branch": branch or ci.branch,
        "pullRequestNumber": pull_request if pull_request is not None else ci.pull_request_number,
    }
    return {name: value for name, value in told.items() if value is not None}


def read_text_file(option: str, name: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {name}: {error.strerror}", param_hint=option) from None
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{name} is not UTF-8 (byte {error.start})", param_hint=option) from None
    if not text.strip():
        raise typer.BadParameter(f"{name} is empty", param_hint=option)
    return text


def _as_sent(text: str) -> Any:
    """JSON as a value, which takes fewer bytes; anything else, and JSON that readers read differently, as
    the text it is: the server says what is wrong with it and where."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def read_object_file(option: str, name: str) -> dict[str, Any]:
    # Imported here: reading YAML is for those who have some.
    from ammeter.engines.compiler.document import read_object

    reading = read_object(read_text_file(option, name))
    if reading.document is None:
        told = "; ".join(finding.message for finding in reading.findings)
        raise typer.BadParameter(f"{name}: {told}", param_hint=option)
    return reading.document
