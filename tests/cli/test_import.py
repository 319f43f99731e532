"""`ammeter import`: promptfoo's and OpenAI's cases as workflow files that the server takes, and a list of
what stayed behind. Every workflow that is written is held to the body of the REST API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ammeter.cli.importers.patterns import any_of, equal_to, starts_with
from ammeter.doors.http.workflow_bodies import CreateWorkflow, draft_from
from ammeter.engines.compiler.iregexp import Pattern
from tests.cli.conftest import Cli

PROMPTFOO = """
description: Shop assistant
prompts:
  - "Answer in {{language}}: {{ question }}"
  - file://polite.txt
  - file://prompt.py
providers:
  - openai:chat:gpt-4.1
  - id: anthropic:messages:claude-sonnet-4
    config: {temperature: 0}
  - exec:./run.sh
evaluateOptions: {repeat: 3}
outputPath: out.json
defaultTest:
  assert:
    - {type: cost, threshold: 0.02}
tests:
  - description: Opening hours
    vars: {language: [English, German], question: "When (exactly) are you open?"}
    assert:
      - {type: contains, value: "9:00"}
      - {type: icontains-any, value: [monday, montag]}
      - {type: llm-rubric, value: "It is in {{language}}", weight: 2}
      - {type: not-contains, value: closed}
      - {type: equals, value: "{{question}}", weight: 0}
      - {type: regex, value: "(?<=x)y"}
      - {type: javascript, value: "output.length < 10"}
      - {type: rouge-n, value: x}
    options: {transform: output.trim()}
  - vars: {language: French, question: "{{ other | upper }}"}
  - file://more.yaml
  - file://cases.csv
  - vars: {question: no language}
"""


@pytest.fixture
def promptfoo(tmp_path: Path) -> Path:
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(PROMPTFOO)
    (tmp_path / "polite.txt").write_text("Please, in {{language}}: {{question}}\n")
    more = [{"description": "Prices", "vars": {"language": "English", "question": "What does it cost?"}}]
    (tmp_path / "more.yaml").write_text(yaml.safe_dump(more))
    return file


def written(folder: Path) -> dict[str, dict[str, Any]]:
    """The workflows of a folder by their names, each taken by the REST API's body."""
    found = [yaml.safe_load(file.read_text()) for file in sorted(folder.glob("*.yaml"))]
    for workflow in found:
        draft_from(CreateWorkflow.model_validate({**workflow, "mcpServerId": "x"}))
    return {workflow["name"]: workflow for workflow in found}


def test_promptfoo_cases_become_workflows_and_the_rest_is_listed(cli: Cli, promptfoo: Path) -> None:
    out = promptfoo.parent / "evals"
    told = cli.json("import", "promptfoo", str(promptfoo), "--out", str(out))
    found = written(out)
    assert len(told["files"]) == len(found)
    first = found["Opening hours, prompt 1"]
    assert first["testerPrompt"] == "Answer in English: When (exactly) are you open?"
    assert first["testerModelIds"] == ["openai/gpt-4.1", "anthropic/claude-sonnet-4"]
    assert first["limits"] == {"maxCostUsd": 0.02}
    german = found["Opening hours, prompt 2, variant 2"]
    assert german["testerPrompt"] == "Please, in German: When (exactly) are you open?\n"
    by_text = {each["criterionText"]: each for each in german["criteria"]}
    assert by_text["The answer contains '9:00'"]["assertion"] == {
        "kind": "final_answer_contains",
        "text": "9:00",
    }
    assert "assertion" not in by_text["It is in German"]
    assert "assertion" not in by_text["The answer does not contain 'closed'"]
    exact = by_text["The answer is exactly 'When (exactly) are you open?'"]
    assert exact["isRequired"] is False
    assert Pattern(exact["assertion"]["pattern"], search=True).matches(
        "When (exactly) are you open?", lambda _: None
    )
    assert {"Prices, prompt 1", "Prices, prompt 2"} <= set(found)
    left = {(one["where"], one["what"]) for one in told["notCarriedOver"]}
    assert left == {
        ("configuration", "outputPath"),
        ("evaluateOptions.repeat", "3"),
        ("providers[1]", "config"),
        ("providers[2]", "exec:./run.sh"),
        ("prompts[2]", "file://prompt.py"),
        ("tests[0]", "options"),
        ("tests[0].assert[3]", "weight"),
        ("tests[0].assert[6]", "regex"),
        ("tests[0].assert[7]", "javascript"),
        ("tests[0].assert[8]", "rouge-n"),
        ("tests[1]", "the case (prompt 1)"),
        ("tests[1]", "the case (prompt 2)"),
        ("tests[3]", "file://cases.csv"),
        ("tests[4]", "the case (prompt 1)"),
        ("tests[4]", "the case (prompt 2)"),
    }
    again = cli("import", "promptfoo", str(promptfoo), "--out", str(out))
    assert "Not carried over (15):" in again.out
    assert "it runs code; write what it checks as a criterion" in again.out


REGISTRY = """
capitals:
  id: capitals.dev.v0
  metrics: [accuracy]
capitals.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: capitals/samples.jsonl, num_few_shot: 2}
rivers.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: rivers.jsonl, ignore_case: true}
graded.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: graded.jsonl, modelgraded_spec: closedqa}
humor.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: graded.jsonl, modelgraded_spec: humor}
own.dev.v0:
  class: my.module:Own
gone.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: gone.jsonl}
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / "registry" / "evals"
    (tmp_path / "registry" / "data" / "capitals").mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "suite.yaml").write_text(REGISTRY)
    chat = [
        {"role": "system", "content": "Answer with one word."},
        {"role": "system", "content": "Berlin?", "name": "example_user"},
        {"role": "user", "content": "Capital of France?"},
    ]
    samples = [
        {"input": chat, "ideal": ["Paris", "paris"]},
        {"input": [{"role": "user", "content": [{"type": "image_url"}]}], "ideal": "x"},
    ]
    _lines(tmp_path / "registry" / "data" / "capitals" / "samples.jsonl", *samples)
    _lines(folder / "rivers.jsonl", {"input": "A river of Cologne?", "ideal": "Rhine", "note": 1})
    _lines(folder / "graded.jsonl", {"input": "Tell a joke.", "ideal": "x", "criteria": "It is short"})
    return folder / "suite.yaml"


def _lines(file: Path, *rows: Any) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_openai_evals_become_workflows_and_the_rest_is_listed(cli: Cli, registry: Path) -> None:
    out = registry.parent / "out"
    told = cli.json("import", "openai-evals", str(registry), "--out", str(out))
    found = written(out)
    assert set(found) == {"capitals.dev.v0 1", "rivers.dev.v0 1", "graded.dev.v0 1", "humor.dev.v0 1"}
    capital = found["capitals.dev.v0 1"]
    assert capital["testerPrompt"] == "Answer with one word.\n\n(example_user) Berlin?\n\nCapital of France?"
    [starts] = capital["criteria"]
    pattern = Pattern(starts["assertion"]["pattern"], search=True)
    assert pattern.matches("Paris, of course", lambda _: None)
    assert not pattern.matches("It is Paris", lambda _: None)
    [includes] = found["rivers.dev.v0 1"]["criteria"]
    assert Pattern(includes["assertion"]["pattern"], search=True).matches("the RHINE", lambda _: None)
    assert found["graded.dev.v0 1"]["criteria"] == [{"criterionText": "It is short", "isRequired": True}]
    assert "criteria" not in found["humor.dev.v0 1"]
    left = [(one["where"], one["what"]) for one in told["notCarriedOver"]]
    assert sorted(left) == sorted(
        [
            ("capitals.dev.v0", "args.num_few_shot"),
            ("capitals.dev.v0, sample 1", "the role of a message (example_user)"),
            ("capitals.dev.v0, sample 2", "the case"),
            ("rivers.dev.v0, sample 1", "note"),
            ("humor.dev.v0, sample 1", "how it is judged (humor)"),
            ("own.dev.v0", "my.module:Own"),
            ("gone.dev.v0", "gone.jsonl"),
        ]
    )


def test_samples_alone_are_imported_by_the_class_that_is_named(cli: Cli, tmp_path: Path) -> None:
    _lines(tmp_path / "sums.jsonl", {"input": "1+1?", "ideal": "2"}, {"input": "2+2?", "ideal": "4"})
    done = cli("import", "openai-evals", str(tmp_path / "sums.jsonl"), "--out", str(tmp_path / "out"))
    assert "Wrote 2 workflows" in done.out
    assert "Everything was carried over." in done.out
    found = written(tmp_path / "out")
    assert found["sums 2"]["criteria"][0]["assertion"] == {"kind": "final_answer_contains", "text": "4"}


@pytest.mark.parametrize(
    ("command", "name", "text", "told"),
    [
        ("promptfoo", "a.yaml", "tests: []", "has `prompts`"),
        ("promptfoo", "a.yaml", "a: [", "is not YAML"),
        ("openai-evals", "a.yaml", "a: {b: 1}", "has a `class`"),
        ("openai-evals", "a.jsonl", "{}", "has no `input`"),
        ("openai-evals", "a.jsonl", "no", "is not JSON"),
    ],
)
def test_another_file_is_wrong_use(
    cli: Cli, tmp_path: Path, command: str, name: str, text: str, told: str
) -> None:
    (tmp_path / name).write_text(text)
    done = cli("import", command, str(tmp_path / name), "--out", str(tmp_path / "out"))
    assert (done.code, told in done.unboxed) == (2, True), done.err
    assert not (tmp_path / "out").exists()


def test_texts_are_looked_for_as_they_are_written() -> None:
    nasty = "a.b*c (d) [e] {f} \\g | ^h$ i-j\n\t?+ é"
    for pattern, text, holds in (
        (any_of([nasty, "x"]), f"so {nasty} so", True),
        (any_of(["Ä.b"], ignore_case=True), "xä.By", True),
        (any_of(["a.b"]), "aXb", False),
        (equal_to(nasty), nasty, True),
        (equal_to(nasty), nasty + "!", False),
        (starts_with([nasty]), nasty + "!", True),
        (starts_with(["b"]), "ab", False),
    ):
        assert pattern is not None
        assert Pattern(pattern, search=True).matches(text, lambda _: None) is holds, pattern
    assert any_of(["x" * 501]) is None
