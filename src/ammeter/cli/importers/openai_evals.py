"""The format of OpenAI's evals: an entry of a registry with its samples, or samples alone; each sample is a
workflow. Classes that compare texts become assertions, graded ones texts for the judge; others are left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ammeter.cli.importers.model import Imported, NotTheFormat, criterion
from ammeter.cli.importers.patterns import any_of, starts_with

MAX_CASES = 1_000
_CLASSES = ("Match", "Includes", "FuzzyMatch", "JsonMatch", "ModelBasedClassify")
_GRADED = {
    "closedqa": "{criteria}",
    "fact": "The answer agrees in its facts with this expert answer: {ideal}",
    "best": "The answer is at least as good as: {ideal}",
}
_ARGUMENTS = {"samples_jsonl", "modelgraded_spec", "ignore_case"}

Json = Mapping[str, Any]


def import_registry(document: Json, folder: Path) -> Imported:
    """Every entry of a registry's file that has a class."""
    entries = {
        str(name): entry
        for name, entry in document.items()
        if isinstance(entry, Mapping) and "class" in entry
    }
    if not entries:
        raise NotTheFormat("an entry of a registry has a `class` and `args`")
    made = Imported()
    for name, entry in entries.items():
        kind = str(entry["class"]).rpartition(":")[2]
        arguments = entry.get("args") or {}
        if kind not in _CLASSES:
            made.leave(name, str(entry["class"]), "its class runs code of its own")
            continue
        for argument in arguments:
            if argument not in _ARGUMENTS:
                made.leave(name, f"args.{argument}", "workflows have nothing like it")
        samples = _find(folder, str(arguments.get("samples_jsonl", "")))
        if samples is None:
            made.leave(name, str(arguments.get("samples_jsonl")), "the file of its samples is not there")
            continue
        import_samples(samples.read_text("utf-8-sig"), name, kind, arguments, made)
    return made


def import_samples(
    text: str, name: str, kind: str = "Includes", arguments: Json | None = None, made: Imported | None = None
) -> Imported:
    """Samples, a line each; they are held to be of a class."""
    made = made if made is not None else Imported()
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}, sample {number}"
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
        except ValueError:
            raise NotTheFormat(f"line {number} of the samples is not JSON") from None
        if not isinstance(sample, Mapping) or "input" not in sample:
            raise NotTheFormat(f"line {number} of the samples has no `input`")
        if len(made.workflows) >= MAX_CASES:
            made.leave(where, "this and the samples after it", f"at most {MAX_CASES} are imported at once")
            break
        _add(made, where, name, number, sample, kind, arguments or {})
    return made


def _add(
    made: Imported, where: str, name: str, number: int, sample: Json, kind: str, arguments: Json
) -> None:
    prompt = _prompt(sample["input"], where, made)
    if prompt is None:
        return
    criteria = _criteria(sample, kind, arguments)
    if criteria is None:
        told = str(arguments.get("modelgraded_spec") or kind)
        made.leave(where, f"how it is judged ({told})", "write what it checks as a criterion")
    known = {"input", "ideal", "criteria"}
    for extra in sample:
        if extra not in known:
            made.leave(where, str(extra), "workflows have nothing like it")
    made.add(
        where,
        name=f"{name} {number}",
        prompt=prompt,
        criteria=criteria or [],
        models=[],
        description=f"Imported from OpenAI evals: {name}"[:2_000],
    )


def _prompt(given: Any, where: str, made: Imported) -> str | None:
    if isinstance(given, str):
        return given
    parts: list[str] = []
    for message in given if isinstance(given, list) else []:
        if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
            made.leave(where, "the case", "a message of its input is no text")
            return None
        role = str(message.get("role"))
        if role == "assistant" or message.get("name"):
            told = "a tester has no earlier turns; it stands in the prompt as an example"
            made.leave(where, f"the role of a message ({message.get('name') or role})", told)
            parts.append(f"({message.get('name') or role}) {message['content']}")
        else:
            parts.append(message["content"])
    if not parts:
        made.leave(where, "the case", "its input is empty")
        return None
    return "\n\n".join(parts)


def _criteria(sample: Json, kind: str, arguments: Json) -> list[dict[str, Any]] | None:
    ideal = sample.get("ideal")
    texts = [str(one) for one in (ideal if isinstance(ideal, list) else [ideal]) if one not in (None, "")]
    shown = " or ".join(map(repr, texts))
    if kind == "ModelBasedClassify":
        spec = _GRADED.get(str(arguments.get("modelgraded_spec", "")))
        values = {"criteria": sample.get("criteria"), "ideal": shown or None}
        if spec is None or any(f"{{{key}}}" in spec and not value for key, value in values.items()):
            return None
        return [criterion(spec.format(**values))]
    if not texts:
        return None
    if kind in ("FuzzyMatch", "JsonMatch"):
        same = "the same JSON as" if kind == "JsonMatch" else "the same as, or contains or is contained in,"
        return [criterion(f"The answer is {same} {shown}")]
    if kind == "Match":
        pattern, told = starts_with(texts), f"The answer starts with {shown}"
    else:
        pattern = any_of(texts, ignore_case=bool(arguments.get("ignore_case")))
        told = f"The answer contains {shown}"
    if pattern is None:
        return [criterion(told)]
    if kind == "Includes" and len(texts) == 1 and not arguments.get("ignore_case"):
        return [criterion(told, {"kind": "final_answer_contains", "text": texts[0]})]
    return [criterion(told, {"kind": "final_answer_matches", "pattern": pattern})]


def _find(folder: Path, name: str) -> Path | None:
    """Beside the entry, or in the registry's own folder of data."""
    return next((path for path in _places(folder, name) if name and path.is_file()), None)


def _places(folder: Path, name: str) -> Iterator[Path]:
    yield folder / name
    yield folder.parent / "data" / name
    for above in folder.parents:
        yield above / name
