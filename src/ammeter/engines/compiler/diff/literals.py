"""JSON values and schemas as comparable text: equal values give equal text, whatever their key order, and
what only explains a schema to people is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ammeter.engines.compiler.model import SCHEMA_PREFIX

ANNOTATIONS = frozenset({"title", "description", "example", "examples", "$comment", "externalDocs", "xml"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
LITERAL = frozenset({"enum", "const", "default", "required", "type", "dependentRequired"})
SHOWN_CHARS = 80
# Asking for dict first spares the slow question to the abstract class.
MAPPING = (dict, Mapping)


def key_of(value: Any) -> str:
    """JSON text under which 1 and 1.0 are one value, and 1 and true are two."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, default=str)


def shown(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def is_annotation(keyword: str) -> bool:
    return keyword in ANNOTATIONS or keyword[:2] == "x-"


def ref_name(schema: Any) -> str | None:
    if isinstance(schema, MAPPING):
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(SCHEMA_PREFIX):
            return ref.removeprefix(SCHEMA_PREFIX)
    return None


def significant(schema: Any) -> Any:
    """The schema without its annotations."""
    if isinstance(schema, MAPPING):
        return {
            key: _significant_of(key, value) for key, value in schema.items() if not is_annotation(str(key))
        }
    if isinstance(schema, list | tuple):
        return [significant(item) for item in schema]
    return schema


def _significant_of(keyword: str, value: Any) -> Any:
    if keyword in NAMED and isinstance(value, MAPPING):
        return {name: significant(schema) for name, schema in value.items()}
    return value if keyword in LITERAL else significant(value)


def escaped(step: str) -> str:
    """One step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1") if "/" in step or "~" in step else step
