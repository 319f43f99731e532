"""The parts of the bundle commands that need no server: progress, provenance, what is printed."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ammeter.base.errors import SettingsError
from ammeter.cli.bundle.options import provenance
from ammeter.cli.bundle.progress import Progress, size
from ammeter.cli.bundle.shown import diff_lines, finding_lines
from ammeter.settings import load_client_settings
from tests.cli.test_bundle import CI_VARIABLES


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def upload(out: io.StringIO) -> str:
    with Progress(out) as progress:
        for sent in (65536, 131072, 150_000):
            progress.watch.sent(sent, 150_000)
        for seconds in (0.5, 9.0, 15.0, 16.0, 31.0):
            progress.watch.waiting(seconds)
    return out.getvalue()


def test_a_pipe_gets_a_few_plain_lines() -> None:
    assert upload(io.StringIO()) == "uploaded 146.5 KiB, compiling …\ncompiling … 15 s\ncompiling … 31 s\n"


def test_a_terminal_gets_one_line_that_lives_and_goes() -> None:
    drawn = upload(Terminal()).split("\r")
    assert [line.rstrip() for line in drawn] == [
        "",
        "uploading 64.0 KiB of 146.5 KiB",
        "uploading 128.0 KiB of 146.5 KiB",
        "uploading 146.5 KiB of 146.5 KiB",
        "compiling … 0 s",
        "compiling … 9 s",
        "compiling … 15 s",
        "compiling … 16 s",
        "compiling … 31 s",
        "",
        "",
    ]
    assert len(drawn[4]) == len(drawn[3]), "what is left of the longer line is painted over"


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (6 * 1024 * 1024, "6.0 MiB")]
)
def test_bytes_as_people_say_them(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, {}),
        (
            {
                "GITHUB_REPOSITORY": "acme/pets",
                "GITHUB_SHA": "abc",
                "GITHUB_REF_NAME": "main",
                "GITHUB_REF": "refs/heads/main",
                "GITHUB_HEAD_REF": "",
            },
            {"repository": "acme/pets", "commitSha": "abc", "branch": "main"},
        ),
        (
            {"GITHUB_REF_NAME": "7/merge", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_HEAD_REF": "fix"},
            {"branch": "fix", "pullRequestNumber": 7},
        ),
        ({"GITHUB_REF": "refs/tags/7"}, {}),
        (
            {
                "CI_PROJECT_PATH": "a/b",
                "CI_COMMIT_SHA": "c",
                "CI_COMMIT_REF_NAME": "d",
                "CI_MERGE_REQUEST_IID": "12",
            },
            {"repository": "a/b", "commitSha": "c", "branch": "d", "pullRequestNumber": 12},
        ),
        (
            {"BITBUCKET_REPO_FULL_NAME": "a/b", "BITBUCKET_COMMIT": "c", "BITBUCKET_PR_ID": "3"},
            {"repository": "a/b", "commitSha": "c", "pullRequestNumber": 3},
        ),
    ],
)
def test_where_it_comes_from_is_what_ci_tells(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: dict[str, Any]
) -> None:
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert provenance(None, None, None, None) == told
    mine = provenance("mine/x", "sha", "dev", 0)
    assert mine == {"repository": "mine/x", "commitSha": "sha", "branch": "dev", "pullRequestNumber": 0}


def test_findings_stand_worst_first_with_code_and_pointer() -> None:
    findings = [
        {"level": "info", "code": "renamed", "pointer": "/paths/~1a", "message": "It is called b."},
        {"level": "warning", "code": "odd", "pointer": "", "message": "Odd."},
        {"level": "error", "code": "bad", "pointer": "/x", "message": "Left out."},
        {"level": "warning", "code": "even", "pointer": "/y", "message": "Even."},
    ]
    assert list(finding_lines(findings)) == [
        "1 error in the description",
        "  bad  /x",
        "    Left out.",
        "2 warnings in the description",
        "  odd  /",
        "    Odd.",
        "  even  /y",
        "    Even.",
        "1 info in the description",
        "  renamed  /paths/~1a",
        "    It is called b.",
    ]
    assert list(finding_lines([])) == []


def test_what_breaks_scripts_in_use_says_how_many() -> None:
    change = {"rule": "r", "level": "error", "pointer": "/p", "message": "Gone."}
    entry = {"operationId": "o", "method": "GET", "path": "/p", "sdkName": "a.b", "changes": [change]}
    used = entry | {"recentUse": {"scripts": 12, "sessions": 3}}
    diff = {"added": [], "removed": [entry], "signatureChanged": [], "breaking": [used]}
    assert list(diff_lines(diff)) == [
        "Against the active bundle: 0 added, 1 removed, 0 changed; 1 breaking",
        "           operation  in the SDK",
        "  removed  GET /p     a.b         BREAKING, used by 12 scripts in 3 sessions of the last 30 days",
    ]


def test_client_settings_are_told_apart_from_slips_of_the_pen_and_hide_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AMMETER_URL", "https://ammeter.example/")
    monkeypatch.setenv("AMMETER_API_KEY", "amt_secret")
    settings = load_client_settings()
    assert settings.url == "https://ammeter.example"
    assert settings.api_key.get_secret_value() == "amt_secret"
    assert "amt_secret" not in repr(settings) + settings.model_dump_json()
    assert load_client_settings(url="http://other:1", api_key="b").url == "http://other:1"
    monkeypatch.setenv("AMMETER_APIKEY", "amt_secret")
    with pytest.raises(
        SettingsError, match=r"AMMETER_APIKEY is not a setting\. Did you mean AMMETER_API_KEY"
    ):
        load_client_settings()
