"""Descriptions with random faults: the compiler says what it found and never raises, and no operation is lost
without an error that names its place. The seeds are fixed, so that a failure can be run again.
"""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.findings import pointer
from ammeter.engines.compiler.manifest import BaseUrl, Manifest
from ammeter.engines.compiler.operations import METHODS
from tests.golden.outputs import FEATURES, FOLDER

MANIFEST = Manifest(base_urls=(BaseUrl(url="https://api.example.com"),))
ROUNDS = 25
WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**70, 1.5, 1e300, "", "x", "#/paths", "é\u2028*/", "__proto__"),
    *(
        [],
        [None],
        ["a", 1],
        [[]],
        {},
        {"": None},
        {"$ref": "#"},
        {"$ref": 3},
        {"$ref": "#/components/schemas/x"},
    ),
    *({"type": ["string", 3]}, {"type": "array", "items": []}, {"properties": [], "required": {}}),
    *({"allOf": [None, 3]}, {"oneOf": {}}, {"enum": {}}, {"get": {"responses": 5}}, {"x-a": {"b": [1]}}),
)


def mutated(document: Any, chance: random.Random, faults: int) -> Any:
    """A copy in which some places are deleted, replaced by something wrong, or swapped for another's."""
    document = copy.deepcopy(document)
    for _ in range(faults):
        places = list(_places(document))
        if not places:
            break
        holder, key = chance.choice(places)
        other, other_key = chance.choice(places)
        match chance.randrange(4):
            case 0:
                del holder[key]
            case 1:
                # A copy: a value that held itself would be no JSON.
                holder[key] = copy.deepcopy(other[other_key])
            case _:
                holder[key] = copy.deepcopy(chance.choice(WRONG))
    return document


def _places(value: Any) -> Any:
    todo = [value]
    while todo:
        holder = todo.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])


def lost(document: Any) -> list[str]:
    """The operations that are neither compiled nor named by an error."""
    done = compile_description(Description(openapi=document, manifest=MANIFEST))
    errors = {finding.pointer for finding in done.findings if finding.level == "error"}
    if done.bundle is None:
        return [] if errors else ["no bundle, and no error says why"]
    places = {operation.pointer for operation in done.bundle.api.operations}
    paths = document.get("paths")
    wanted = [
        (pointer("paths", path), pointer("paths", path, key))
        for path, item in (paths.items() if isinstance(paths, dict) else ())
        if not path.startswith("x-") and isinstance(item, dict)
        for key in item
        if key in METHODS
    ]
    return [place for path, place in wanted if place not in places and not errors & {path, place}]


@pytest.mark.parametrize("feature", FEATURES)
def test_no_fault_raises_or_loses_an_operation_silently(feature: str) -> None:
    document = yaml.safe_load((Path(FOLDER) / feature / "openapi.yaml").read_text(encoding="utf-8"))
    for seed in range(ROUNDS):
        chance = random.Random(f"{feature} {seed}")
        assert lost(mutated(document, chance, chance.choice((1, 3, 10)))) == [], f"seed {seed}"
