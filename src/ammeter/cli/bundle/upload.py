"""`ammeter bundle upload`: files in, a signed request out, and what came of it."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from ammeter.cli.bundle.options import (
    BASE,
    UPLOAD_TIMEOUT_S,
    Branch,
    CommitSha,
    Environment,
    Files,
    Key,
    ManifestFile,
    OpenApi,
    Overlay,
    PullRequest,
    Repository,
    SourceSlug,
    Url,
    connect,
    provenance,
)
from ammeter.cli.bundle.progress import Progress
from ammeter.cli.bundle.shown import (
    bundle_lines,
    diff_lines,
    finding_lines,
    rollback_lines,
    script_lines,
    show_lines,
)
from ammeter.cli.house import AsJson
from ammeter.cli.remote import Remote
from ammeter.cli.shown import show


def upload(
    source: SourceSlug,
    openapi: OpenApi,
    overlay: Overlay = "",
    manifest: ManifestFile = "",
    environment: Environment = "production",
    promote: Annotated[bool, typer.Option("--promote", help="Serve it at once (admin or owner).")] = False,
    repository: Repository = None,
    commit_sha: CommitSha = None,
    branch: Branch = None,
    pull_request: PullRequest = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Upload a description; shows the diff against the active bundle and what was found in it."""
    body = {
        "source": source,
        "environment": environment,
        **Files(openapi=openapi, overlay=overlay, manifest=manifest).read(),
        **provenance(repository, commit_sha, branch, pull_request),
        "promote": promote,
    }
    answer = send(connect(url, key, timeout_s=UPLOAD_TIMEOUT_S), body)
    if as_json:
        show(answer, as_json=True)
        return
    typer.echo(
        "Uploaded the bundle" + (", and it is served" if answer["bundle"]["status"] == "active" else "")
    )
    show_lines(bundle_lines(answer["bundle"]))
    show_lines(diff_lines(answer["apiDiff"]))
    show_lines(script_lines(answer["brokenScripts"]))
    show_lines(finding_lines(answer["findings"]))
    show_lines(rollback_lines(answer))


def send(remote: Remote, body: dict[str, Any]) -> Any:
    """The upload, signed; its progress on standard error."""
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    with Progress(sys.stderr) as progress:
        return remote.post(f"{BASE}/upload", raw, headers=remote.signature(raw), watch=progress.watch)
