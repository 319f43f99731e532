"""`ammeter bundle …` against a server that really runs: uploads, diffs, promotion, and what is refused."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from ammeter.base.ids import new_id
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from ammeter.wiring import House
from tests.cli.conftest import Cli, Done, Place
from tests.household import CACHE, OPERATOR, make_settings, opened_house
from tests.server import Server, command, running

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OK = {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}
CI_VARIABLES = (
    *("GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "GITHUB_REF"),
    *("CI_PROJECT_PATH", "CI_COMMIT_SHA", "CI_COMMIT_REF_NAME", "CI_MERGE_REQUEST_IID"),
    *("BITBUCKET_REPO_FULL_NAME", "BITBUCKET_COMMIT", "BITBUCKET_BRANCH", "BITBUCKET_PR_ID"),
)


def pets(version: int) -> dict[str, Any]:
    """The second version needs an argument, has lost an operation and has another."""
    kind = {"name": "kind", "in": "query", "required": version == 2, "schema": {"type": "string"}}
    ident = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths: dict[str, Any] = {
        "/pets": {"get": {"tags": ["pets"], "parameters": [kind], "responses": {"200": OK}}}
    }
    if version == 1:
        gone = {"204": {"description": "gone"}}
        paths["/pets/{id}"] = {"delete": {"tags": ["pets"], "parameters": [ident], "responses": gone}}
    else:
        paths["/owners"] = {"get": {"tags": ["owners"], "responses": {"200": OK}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": str(version)},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": paths,
    }


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("bundle")
    with opened_house(make_settings(f"sqlite:///{folder}/ammeter.db", folder)) as opened:
        yield opened


@pytest.fixture(scope="module")
def tokens(house: House) -> dict[Role, str]:
    """A key of each role of one organization that has code mode."""
    with house.db.write() as tx:
        org = service.create_org(tx, OPERATOR, slug="acme", name="Acme", region="us", code_mode=True)
        return {role: keys.mint_key(tx, OPERATOR, org.id, name=role.name, role=role)[1] for role in Role}


@pytest.fixture(scope="module")
def server(house: House, tokens: dict[Role, str]) -> Iterator[Server]:
    with running(house.settings.data_dir, "--role", "web", cache_dir=str(CACHE)) as started:
        yield started


@pytest.fixture
def slug(house: House) -> str:
    """A source of the test's own."""
    slug = f"s-{new_id()[-12:]}"
    with house.db.write() as tx:
        org = service.get_org(tx, "acme")
        provision_source(tx, OPERATOR, org.id, name="Pets", source_slug=slug)
    return slug


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(pets(1)))
    (tmp_path / "two.json").write_text(json.dumps(pets(2), indent=2))
    return tmp_path


@pytest.fixture
def away(at: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command, with a key and a server that is away."""
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("AMMETER_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
    monkeypatch.setenv("AMMETER_API_KEY", "amt_aaaaaaaaaaaa_" + "s" * 40)
    return at("", tmp_path)


@pytest.fixture
def bundle(
    away: Cli, server: Server, tokens: dict[Role, str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    """`ammeter bundle …` with the owner's key."""
    monkeypatch.setenv("AMMETER_URL", server.url)
    monkeypatch.setenv("AMMETER_API_KEY", tokens[Role.owner])

    def run(*args: str, stdin: str = "") -> Done:
        done = away("bundle", *args, stdin=stdin)
        assert not any(token in done.out + done.err for token in tokens.values())
        return done

    return run


def ids(text: str) -> list[str]:
    return [found[0] for found in ID.finditer(text)]


def answered(word: str, *args: str) -> Done:
    """The command as a person runs it at a terminal, who answers its question with a word."""
    person, terminal = pty.openpty()
    os.write(person, f"{word}\n".encode())
    try:
        done = subprocess.run(
            command(*args), stdin=terminal, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(person)
        os.close(terminal)
    return Done(done.returncode, done.stdout, done.stderr)


DIFF = """\
Against the active bundle: 1 added, 1 removed, 1 changed; 2 breaking
           operation          in the SDK
  removed  DELETE /pets/{id}  pets.delete  BREAKING
  changed  GET /pets          pets.list    BREAKING
      error    Argument `kind` became required; always pass it.  [request-parameter-became-required]
  added    GET /owners        owners.list
"""


def test_from_the_first_upload_to_the_roll_back(bundle: Callable[..., Done], slug: str, files: Path) -> None:
    first = bundle("upload", "--source", slug, "--openapi", str(files / "one.yaml"), "--promote")
    assert (first.code, first.err.splitlines()[0][-11:]) == (0, "compiling …")
    assert first.out.startswith("Uploaded the bundle, and it is served\n")
    assert (first.lines["status"], first.lines["operations"]) == ("active", "2")
    assert first.lines["source"] == f"{slug} (production)"
    assert "2 added, 0 removed, 0 changed; none breaking" in first.out
    one = first.lines["bundle"]
    lonely = bundle("rollback", "--source", slug, "--yes")
    assert (lonely.code, lonely.out) == (1, "")
    assert "there is no way back" in lonely.err

    more = ("--branch", "main", "--commit-sha", "abc123", "--pull-request", "7", "--repository", "acme/pets")
    second = bundle(
        "upload", "--source", slug, "--openapi", "-", *more, stdin=(files / "two.json").read_text()
    )
    two = second.lines["bundle"]
    assert second.lines["status"] == "generated"
    assert [second.lines[name] for name in ("repository", "branch", "commit")] == [
        "acme/pets",
        "main",
        "abc123",
    ]
    assert DIFF in second.out
    assert second.out.endswith(f"Serve it with:      ammeter bundle promote {two}\n")
    assert DIFF in bundle("show", two).out
    assert bundle("diff", two).out == DIFF

    promoted = bundle("promote", two)
    assert promoted.out.startswith("The bundle is served\n")
    assert promoted.out.endswith(f"Roll it back with:  ammeter bundle promote {one}\n")
    assert bundle("show", two).out.count("Against the active bundle: no change\n") == 1
    unasked = bundle("rollback", "--source", slug)
    assert (unasked.code, unasked.out) == (2, "")
    assert "say --yes" in unasked.unboxed
    at_a_terminal = answered("n", "bundle", "rollback", "--source", slug)
    assert (at_a_terminal.code, at_a_terminal.out) == (1, "")
    assert f"Serve {one} instead of {two} in production? [y/N]: " in at_a_terminal.err
    assert "Against the active bundle: no change" in bundle("show", two).out
    assert answered("y", "bundle", "rollback", "--source", slug, "--json").code == 0
    bundle("promote", two)
    back = bundle("rollback", "--source", slug, "--yes")
    assert (back.code, back.lines["bundle"], back.lines["status"]) == (0, one, "active")

    listed = bundle("list", "--source", slug)
    heading, *rows = listed.table
    assert heading == ["bundle", "environment", "status", "operations", "created", "branch", "commit"]
    assert [row[:4] + row[5:] for row in rows] == [
        [two, "production", "generated", "2", "main", "abc123"],
        [one, "production", "active", "2", "-", "-"],
    ]
    short = bundle("list", "--source", slug, "--limit", "1")
    assert ids(short.out) == [two]
    assert short.out.endswith("… 1 of 2\n")
    assert ids(bundle("list", "--source", slug, "--environment", "staging").out) == []


def test_a_gate_in_ci_uploads_compares_and_fails_on_what_breaks(
    bundle: Callable[..., Done], slug: str, files: Path, server: Server, tokens: dict[Role, str]
) -> None:
    def gate(file: str, *more: str) -> Done:
        return bundle(
            "diff", "--source", slug, "--openapi", str(files / file), "--fail-on", "breaking", *more
        )

    bundle("upload", "--source", slug, "--openapi", str(files / "one.yaml"), "--promote")
    same = gate("one.yaml")
    assert (same.code, same.out) == (0, "Against the active bundle: no change\n")
    broken = gate("two.json")
    assert (broken.code, broken.out) == (4, DIFF)
    as_json = gate("two.json", "--json")
    answer = json.loads(as_json.out)
    assert (as_json.code, answer["bundle"]["status"]) == (4, "generated")
    stored = httpx2.get(
        f"{server.url}/api/openapi-artifacts/{answer['bundleId']}",
        headers={"authorization": f"Bearer {tokens[Role.viewer]}"},
    )
    shown = bundle("show", answer["bundleId"], "--json")
    assert (shown.err, json.loads(shown.out)) == ("", stored.json())
    listed = json.loads(bundle("list", "--source", slug, "--json").out)
    assert (len(listed["rows"]), listed["total"], listed["hasMore"]) == (2, 2, False)
    assert stored.json()["bundle"] in listed["rows"]


def test_overlay_and_manifest_are_sent_along_and_findings_are_shown(
    bundle: Callable[..., Done], slug: str, files: Path
) -> None:
    (files / "overlay.yaml").write_text(
        "overlay: 1.0.0\ninfo: {title: t, version: '1'}\n"
        "actions: [{target: \"$.paths['/pets'].get\", update: {x-ammeter-name: findAll}}]\n"
    )
    (files / "manifest.yaml").write_text("clientName: zoo\nbaseUrl: https://zoo.example\n")
    broken = pets(1)
    broken["paths"]["/broken"] = {"get": {"responses": {"200": {"$ref": "#/components/responses/No"}}}}
    done = bundle(
        "upload",
        *("--source", slug, "--environment", "staging", "--openapi", "-"),
        *("--overlay", str(files / "overlay.yaml"), "--manifest", str(files / "manifest.yaml")),
        stdin=yaml.safe_dump(broken),
    )
    assert done.lines["source"] == f"{slug} (staging)"
    assert "pets.findAll" in done.out
    assert done.lines["overlay"].startswith("sha256:")
    level, code, message = re.findall(
        r"^(1 \w+) in the description\n  (\w+  /\S+)\n    (.+)$", done.out, re.M
    )[0]
    assert level in ("1 error", "1 warning")
    assert "/paths/~1broken/get" in code
    assert message


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("upload", "--source", "nothing", "--openapi", "one.yaml"),
            "No such source.\n  the server said 404",
        ),
        (("list", "--source", "nothing"), "No such source.\n  the server said 404 not_found, request "),
        (("show", "../upload"), "404 not_found"),
        (("promote", "01a1dd54-7c8c-7f66-8000-000000000000"), "No such bundle."),
        (("rollback", "--source", "nothing", "--yes"), "No such source."),
    ],
)
def test_what_is_not_there_is_refused_with_the_servers_words(
    bundle: Callable[..., Done],
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(files)
    done = bundle(*args)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_a_key_that_is_wrong_or_may_not_is_refused(
    bundle: Callable[..., Done],
    slug: str,
    files: Path,
    tokens: dict[Role, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload = ("upload", "--source", slug, "--openapi", str(files / "one.yaml"))
    token = tokens[Role.owner]
    wrong = bundle(*upload, "--key", token[:-1] + ("x" if token[-1] != "x" else "y"))
    assert (wrong.code, wrong.out) == (1, "")
    assert "ammeter: A valid API key is required." in wrong.err
    assert "401 unauthenticated, request " in wrong.err
    monkeypatch.setenv("AMMETER_API_KEY", tokens[Role.viewer])
    assert "403 insufficient_role" in bundle(*upload).err
    monkeypatch.setenv("AMMETER_API_KEY", tokens[Role.editor])
    assert "To promote a bundle takes the role admin" in bundle(*upload, "--promote").err


def test_a_description_without_a_bundle_names_each_finding(bundle: Callable[..., Done], slug: str) -> None:
    done = bundle("upload", "--source", slug, "--openapi", "-", stdin='{"openapi": "3.0.3", "paths": {}}')
    assert (done.code, done.out) == (1, "")
    assert "no_operations: No operation of the description can be called." in done.err
    assert "no_base_url: " in done.err
    assert "422 compile_failed" in done.err
    twice = bundle(
        "upload", "--source", slug, "--openapi", "-", stdin='{"openapi": "3.0.3", "openapi": "3.0.3"'
    )
    assert (twice.code, "422 compile_failed" in twice.err) == (1, True)


def test_a_description_that_is_too_large_is_refused_by_the_server(
    bundle: Callable[..., Done], slug: str, files: Path
) -> None:
    (files / "large.json").write_text(json.dumps(pets(1) | {"x-large": "x" * 7_000_000}))
    done = bundle("upload", "--source", slug, "--openapi", str(files / "large.json"))
    assert (done.code, done.out) == (1, "")
    assert "413 payload_too_large" in done.err
    assert "6,291,456 bytes allowed" in done.err


def test_nothing_listens(away: Cli, files: Path) -> None:
    for args in (
        ("upload", "--source", "s", "--openapi", str(files / "one.yaml")),
        ("list", "--source", "s"),
        ("show", "x"),
        ("promote", "x", "--json"),
    ):
        done = away("bundle", *args)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith("ammeter: Nothing listens at http://127.0.0.1:")
        assert "ssssss" not in done.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("upload", "--source", "s", "--openapi", "none.yaml"), "cannot read none.yaml: No such file"),
        (("upload", "--source", "s", "--openapi", "."), "cannot read .: Is a directory"),
        (("upload", "--source", "s", "--openapi", "binary"), "binary is not UTF-8 (byte 0)"),
        (("upload", "--source", "s", "--openapi", "-"), "- is empty"),
        (("upload", "--source", "s", "--openapi", "-", "--overlay", "-"), "one of the files only"),
        (("upload", "--source", "s", "--openapi", "one.yaml", "--manifest", "broken"), "broken: "),
        (("upload", "--source", "s"), "--openapi"),
        (("upload", "--openapi", "one.yaml"), "--source"),
        (("upload", "--source", "s", "--openapi", "one.yaml", "--pull-request", "x"), "as an integer"),
        (("diff",), "one of the two"),
        (("diff", "id", "--openapi", "one.yaml"), "one of the two"),
        (("diff", "--openapi", "one.yaml"), "is needed with --openapi"),
        (("list", "--source", "s", "--limit", "0"), "greater than or equal to 1"),
        (("list", "--source", "s", "--url", "ammeter.example"), "must be http://host[:port]"),
        (("list", "--source", "s", "--key", "two words"), "letters that no key has"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_sent(
    away: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], said: str
) -> None:
    (files / "binary").write_bytes(b"\xff\xfe\x00")
    (files / "broken").write_text("a: [1")
    monkeypatch.chdir(files)
    done = away("bundle", *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.unboxed


def test_a_key_is_needed_and_an_address_of_the_environment_is_checked(
    away: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMMETER_API_KEY", "")
    done = away("bundle", "list", "--source", "s")
    assert (done.code, "AMMETER_API_KEY" in done.unboxed) == (2, True)
    monkeypatch.setenv("AMMETER_URL", "nowhere")
    assert away.refused("bundle", "list", "--source", "s")[0].startswith("AMMETER_URL: must be http://host")
