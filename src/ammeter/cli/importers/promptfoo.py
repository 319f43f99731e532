"""promptfoo's YAML: each prompt with each test becomes a workflow. Templates are filled in with the test's
variables; what runs code, or compares by a measure we do not have, is left behind and named."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ammeter.cli.importers.model import Imported, NotTheFormat
from ammeter.cli.importers.promptfoo_asserts import carry_asserts

MAX_CASES = 1_000
_KNOWN = {"description", "prompts", "providers", "tests", "defaultTest", "evaluateOptions", "targets"}
_IN_TEST = {"description", "vars", "assert", "metadata"}
_PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "vertex": "google",
}
_VARIABLE = re.compile(r"\{\{-?\s*([\w.]+)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%")

Json = Mapping[str, Any]
Reader = Callable[[Path], Any]


def import_promptfoo(document: Json, folder: Path, read: Reader) -> Imported:
    """`read` gives what a YAML or JSON file beside the configuration holds."""
    if not isinstance(document, Mapping) or "prompts" not in document:
        raise NotTheFormat("a promptfoo configuration has `prompts`")
    made = Imported()
    for key in document:
        if key not in _KNOWN:
            made.leave("configuration", str(key), "workflows have nothing like it")
    if repeat := (document.get("evaluateOptions") or {}).get("repeat"):
        made.leave(
            "evaluateOptions.repeat", str(repeat), f"say it with: ammeter suite create --repeats {repeat}"
        )
    models = list(_models(document.get("providers") or document.get("targets") or [], made))
    prompts = list(_prompts(document["prompts"], folder, made))
    default = document.get("defaultTest") or {}
    if not isinstance(default, Mapping):
        made.leave("defaultTest", str(default)[:80], "only a default test within the file is read")
        default = {}
    tests = list(_tests(document.get("tests"), folder, read, made)) or [("tests[0]", {})]
    whole = str(document.get("description") or "promptfoo")
    for where, test in tests:
        for key in test:
            if key not in _IN_TEST:
                made.leave(where, str(key), "workflows have nothing like it")
        asserts = [*(default.get("assert") or []), *(test.get("assert") or [])]
        variables = {**(default.get("vars") or {}), **(test.get("vars") or {})}
        _add(made, where, whole, prompts, str(test.get("description") or ""), asserts, variables, models)
    return made


def _add(
    made: Imported,
    where: str,
    whole: str,
    prompts: Sequence[tuple[str, str]],
    told: str,
    asserts: Sequence[Any],
    given: Json,
    models: list[str],
) -> None:
    """The workflows of one test: of each prompt, with each combination of its variables."""
    notes = made
    for number, variables in enumerate(_combinations(given)):
        criteria, limits = carry_asserts(_filled(list(asserts), variables), where, notes)
        # What is left behind of one combination is left behind of all.
        notes = Imported()
        for label, prompt in prompts:
            if len(made.workflows) >= MAX_CASES:
                made.leave(where, "the case", f"at most {MAX_CASES} are imported at once")
                return
            text = _rendered(prompt, variables)
            if text is None:
                why = "its prompt has filters, blocks or variables that the test does not give"
                made.leave(where, f"the case ({label})", why)
                continue
            name = told or f"{whole}: {_short(variables) or where}"
            parts = [name, label if len(prompts) > 1 else "", f"variant {number + 1}" if number else ""]
            made.add(
                where,
                name=", ".join(filter(None, parts)),
                prompt=text,
                criteria=criteria,
                models=models,
                description=f"Imported from promptfoo: {whole}"[:2_000],
                limits=limits,
            )


def _models(providers: Any, made: Imported) -> Iterator[str]:
    listed = providers if isinstance(providers, list) else [providers]
    for place, provider in enumerate(listed):
        told = provider.get("id") if isinstance(provider, Mapping) else provider
        if isinstance(provider, Mapping) and told is None and len(provider) == 1:
            told = next(iter(provider))
        vendor, _, rest = str(told).partition(":")
        name = rest.rpartition(":")[2]
        if vendor in _PROVIDERS and name:
            yield f"{_PROVIDERS[vendor]}/{name}"
            if isinstance(provider, Mapping) and provider.get("config"):
                made.leave(f"providers[{place}]", "config", "models run with their own settings here")
        else:
            made.leave(f"providers[{place}]", str(told)[:120], "no model of ours; name one in AMMETER_MODELS")


def _prompts(prompts: Any, folder: Path, made: Imported) -> Iterator[tuple[str, str]]:
    listed = prompts if isinstance(prompts, list) else [prompts]
    for place, prompt in enumerate(listed):
        where = f"prompts[{place}]"
        label, text = f"prompt {place + 1}", prompt
        if isinstance(prompt, Mapping):
            label, text = str(prompt.get("label") or label), prompt.get("raw") or prompt.get("id")
        if not isinstance(text, str):
            made.leave(where, "the prompt", "it is no text")
        elif not text.startswith("file://"):
            yield label, text
        else:
            file = folder / text.removeprefix("file://")
            if file.suffix not in (".txt", ".md") or not file.is_file():
                made.leave(where, text, "only text files that are there are read; nothing is run")
            else:
                yield label, file.read_text("utf-8-sig")


def _tests(tests: Any, folder: Path, read: Reader, made: Imported) -> Iterator[tuple[str, Json]]:
    listed = tests if isinstance(tests, list) else [] if tests is None else [tests]
    for place, test in enumerate(listed):
        where = f"tests[{place}]"
        if isinstance(test, str):
            file = folder / test.removeprefix("file://")
            if file.suffix not in (".yaml", ".yml", ".json") or not file.is_file():
                made.leave(where, test[:120], "only YAML and JSON files that are there are read")
                continue
            inner = read(file)
            rows = inner if isinstance(inner, list) else [inner]
            yield from ((f"{test}[{i}]", row) for i, row in enumerate(rows) if isinstance(row, Mapping))
        elif isinstance(test, Mapping):
            yield where, test
        else:
            made.leave(where, "the test", "it is no object")


def _combinations(given: Json) -> Iterator[dict[str, Any]]:
    """A variable that is a list stands for each of its values."""
    names = list(given)
    values: Sequence[list[Any]] = [v if isinstance(v, list) and v else [v] for v in given.values()]
    for chosen in itertools.islice(itertools.product(*values), MAX_CASES):
        yield dict(zip(names, chosen, strict=True))


def _rendered(template: str, variables: Json) -> str | None:
    """None where more than plain variables would have to be known."""
    missing = False

    def value(found: re.Match[str]) -> str:
        nonlocal missing
        inner: Any = variables
        for part in found[1].split("."):
            if not isinstance(inner, Mapping) or part not in inner:
                missing = True
                return ""
            inner = inner[part]
        return str(inner)

    text = _VARIABLE.sub(value, template)
    # What is left of a template stands in the text itself, or came in with a variable.
    return None if missing or _TEMPLATE.search(text) else text


def _filled(value: Any, variables: Json) -> Any:
    """Variables stand in assertions, too."""
    if isinstance(value, str):
        return _rendered(value, variables) or value
    if isinstance(value, Mapping):
        return {key: _filled(inner, variables) for key, inner in value.items()}
    return [_filled(inner, variables) for inner in value] if isinstance(value, list) else value


def _short(variables: Json) -> str:
    return ", ".join(" ".join(str(value).split())[:60] for value in variables.values())[:120]
