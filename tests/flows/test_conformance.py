"""The public conformance suites of MCP against a real server: what fails is exactly what a server with two
tools and without prompts, resources and questions back cannot pass, and docs/mcp.md tells it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.flows.demo_server import Demo, with_key

TOOLS = Path(__file__).parents[1] / "tools" / "node_modules"
PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"

NAMED_TOOL = "calls a tool of the suite's own reference server"
NO_PROMPTS = "asks for prompts; the endpoint has none"
NO_RESOURCES = "asks for resources; the endpoint has none"
NO_COMPLETION = "asks for completions of prompts and resources"
NO_LOGGING = "asks for log messages; a script's are in its answer"
NO_QUESTIONS = "wants the server to ask the client back; the endpoint never does"
NO_PARAM_HEADERS = "wants tools whose arguments are repeated in headers"

_BOTH_ERAS = {
    "completion-complete": (NO_COMPLETION, "completion-complete"),
    "json-schema-2020-12": (NAMED_TOOL, "json-schema-2020-12-tool-found"),
    "prompts-get-embedded-resource": (NO_PROMPTS, "prompts-get-embedded-resource"),
    "prompts-get-simple": (NO_PROMPTS, "prompts-get-simple"),
    "prompts-get-with-args": (NO_PROMPTS, "prompts-get-with-args"),
    "prompts-get-with-image": (NO_PROMPTS, "prompts-get-with-image"),
    "prompts-list": (NO_PROMPTS, "prompts-list"),
    "resources-list": (NO_RESOURCES, "resources-list"),
    "resources-read-binary": (NO_RESOURCES, "resources-read-binary"),
    "resources-read-text": (NO_RESOURCES, "resources-read-text"),
    "resources-templates-read": (NO_RESOURCES, "resources-templates-read"),
    "tools-call-audio": (NAMED_TOOL, "tools-call-audio"),
    "tools-call-embedded-resource": (NAMED_TOOL, "tools-call-embedded-resource"),
    "tools-call-error": (NAMED_TOOL, "tools-call-error"),
    "tools-call-image": (NAMED_TOOL, "tools-call-image"),
    "tools-call-mixed-content": (NAMED_TOOL, "tools-call-mixed-content"),
    "tools-call-simple-text": (NAMED_TOOL, "tools-call-simple-text"),
    "tools-call-with-progress": (NAMED_TOOL, "tools-call-with-progress"),
}
_HANDSHAKE = _BOTH_ERAS | {
    "elicitation-sep1034-defaults": (NO_QUESTIONS, "elicitation-sep1034-general"),
    "elicitation-sep1330-enums": (NO_QUESTIONS, "elicitation-sep1330-general"),
    "logging-set-level": (NO_LOGGING, "logging-set-level"),
    "resources-subscribe": (NO_RESOURCES, "resources-subscribe"),
    "resources-unsubscribe": (NO_RESOURCES, "resources-unsubscribe"),
    "tools-call-elicitation": (NO_QUESTIONS, "tools-call-elicitation"),
    "tools-call-sampling": (NO_QUESTIONS, "tools-call-sampling"),
    "tools-call-with-logging": (NO_LOGGING, "tools-call-with-logging"),
}
_STATELESS = _BOTH_ERAS | {
    "caching": (
        f"{NO_PROMPTS} and {NO_RESOURCES}",
        "sep-2549-prompts-list-caching-hints sep-2549-resources-list-caching-hints"
        " sep-2549-resources-templates-list-caching-hints",
    ),
    "http-custom-header-server-validation": (
        NO_PARAM_HEADERS,
        "sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64 sep-2243-server-validate-param-match"
        " sep-2243-server-reject-invalid-param-chars sep-2243-server-reject-param-mismatch",
    ),
    "input-required-result-basic-elicitation": (NO_QUESTIONS, "sep-2322-elicitation-incomplete"),
    "input-required-result-basic-list-roots": (NO_QUESTIONS, "sep-2322-list-roots-incomplete"),
    "input-required-result-basic-sampling": (NO_QUESTIONS, "sep-2322-sampling-incomplete"),
    "input-required-result-capability-check": (NO_QUESTIONS, "sep-2322-respect-client-capabilities"),
    "input-required-result-multi-round": (NO_QUESTIONS, "sep-2322-multi-round-r1"),
    "input-required-result-multiple-input-requests": (NO_QUESTIONS, "sep-2322-multiple-inputs-incomplete"),
    "input-required-result-non-tool-request": (NO_PROMPTS, "sep-2322-non-tool-incomplete"),
    "input-required-result-request-state": (NO_QUESTIONS, "sep-2322-request-state-incomplete"),
    "input-required-result-result-type": (NO_QUESTIONS, "sep-2322-result-type-included"),
    "input-required-result-tampered-state": (NO_QUESTIONS, "sep-2322-reject-tampered-state"),
    "server-stateless": (
        f"{NAMED_TOOL} for 4 of its 25 checks",
        "sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400"
        " sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel",
    ),
}
Failures = dict[str, tuple[str, str]]
RUNS: dict[str, tuple[str, str, Failures, str]] = {
    "0.1, handshake": (
        "conformance",
        "2025-11-25",
        _HANDSHAKE,
        "dns-rebinding-protection ping server-initialize server-sse-multiple-streams server-sse-polling"
        " tools-list",
    ),
    "0.2, handshake": (
        "conformance-next",
        "2025-11-25",
        _HANDSHAKE,
        "dns-rebinding-protection ping server-initialize server-session-lifecycle"
        " server-sse-multiple-streams server-sse-polling tools-list",
    ),
    "0.2, stateless": (
        "conformance-next",
        "2026-07-28",
        _STATELESS,
        "dns-rebinding-protection http-header-validation input-required-result-ignore-extra-params"
        " input-required-result-missing-input-response input-required-result-unsupported-methods"
        " input-required-result-validate-input sep-2164-resource-not-found server-sse-multiple-streams"
        " tools-list",
    ),
}


@pytest.mark.parametrize("run", RUNS)
def test_only_what_two_tools_cannot_pass_fails(demo_server: Demo, tmp_path: Path, run: str) -> None:
    package, version, expected, passing = RUNS[run]
    with with_key(demo_server) as url:
        found = _results(package, tmp_path, "--url", url, "--spec-version", version)
    failed = {scenario: ids for scenario, ids in found.items() if ids}
    assert failed == {scenario: set(ids.split()) for scenario, (_, ids) in expected.items()}
    assert found.keys() - failed.keys() == set(passing.split())


def test_the_page_tells_every_exception() -> None:
    told = PAGE.read_text()
    for scenario, (reason, _) in (_HANDSHAKE | _STATELESS).items():
        assert f"| `{scenario}` | {reason} |" in told


def _results(package: str, folder: Path, *options: str) -> dict[str, set[str]]:
    """Every scenario of a suite with the checks that failed in it."""
    node = shutil.which("node")
    assert node is not None, "node is missing: make test puts it on PATH (scripts/install-node)"
    program = TOOLS / package / "dist" / "index.js"
    assert program.is_file(), "the conformance suite is missing: run scripts/install-test-tools"
    subprocess.run(
        [node, str(program), "server", "--suite", "all", "-o", str(folder), *options],
        stdout=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    found: dict[str, set[str]] = defaultdict(set)
    for file in folder.glob("*/checks.json"):
        # server-<scenario>-<moment>
        scenario = file.parent.name.removeprefix("server-")[:-25]
        checks = json.loads(file.read_text())
        found[scenario] |= {check["id"] for check in checks if check["status"] == "FAILURE"}
    return found
