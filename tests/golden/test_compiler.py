"""The compiler's outputs for a dozen small descriptions are as reviewed, and TypeScript accepts them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.golden.outputs import FEATURES, FOLDER, outputs

TSC = Path(__file__).parents[1] / "tools" / "node_modules" / "typescript" / "lib" / "tsc.js"


@pytest.mark.parametrize("feature", FEATURES)
def test_outputs_are_as_reviewed(feature: str) -> None:
    made = outputs(feature)
    kept = {path.name: path.read_text(encoding="utf-8") for path in (FOLDER / feature).iterdir()}
    kept.pop("openapi.yaml")
    assert sorted(made) == sorted(kept), "run: python -m tests.golden.rewrite, and review the diff"
    for name, text in made.items():
        assert text == kept[name], f"{feature}/{name}: run python -m tests.golden.rewrite, review the diff"


def test_outputs_are_the_same_each_time() -> None:
    assert outputs("compositions") == outputs("compositions")


def test_strict_typescript_accepts_every_declaration_and_every_example_against_it() -> None:
    node = shutil.which("node")
    assert node is not None, "node is missing: make test puts it on PATH (scripts/install-node)"
    assert TSC.is_file(), "TypeScript is missing: run scripts/install-test-tools"
    options = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022"]
    wrong = {}
    for feature in FEATURES:
        # One program each: the declarations are global, and each feature has its own client.
        done = subprocess.run(
            [node, str(TSC), *options, "sdk.d.ts", "script.ts"],
            cwd=FOLDER / feature,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            wrong[feature] = done.stdout
    assert wrong == {}
