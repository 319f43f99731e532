"""Swagger 2.0 schemas and references in the words of OpenAPI 3.0.

Comes in: a schema, or a parameter's, header's or item's own type words. Goes out: a new schema object.
Values (examples, defaults, enums, extensions) pass untouched, so a `$ref` within them stays text.
"""

from __future__ import annotations

from typing import Any

from ammeter.engines.compiler.findings import Findings, pointer

_MOVED = (
    ("#/definitions/", "#/components/schemas/"),
    ("#/parameters/", "#/components/parameters/"),
    ("#/responses/", "#/components/responses/"),
    ("#/securityDefinitions/", "#/components/securitySchemes/"),
)
_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "definitions"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"})

TYPE_WORDS = (
    *("type", "format", "items", "default", "enum", "pattern", "multipleOf", "uniqueItems", "x-nullable"),
    *("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "maxItems", "minItems"),
)


def moved_ref(ref: str) -> str:
    for old, new in _MOVED:
        if ref.startswith(old):
            return new + ref[len(old) :]
    return ref


def convert_schema(schema: Any, where: str, findings: Findings) -> Any:
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _SCHEMAS or key in _MAPS_OF_SCHEMAS:
            made[key] = _inner(value, key in _MAPS_OF_SCHEMAS, f"{where}/{key}", findings)
        elif key == "$ref" and isinstance(value, str):
            made[key] = _checked_ref(value, f"{where}/$ref", findings)
        elif key == "discriminator" and isinstance(value, str):
            made[key] = {"propertyName": value}
        elif key == "x-nullable" and isinstance(value, bool):
            made["nullable"] = value
        elif key != "collectionFormat":
            made[key] = value
        elif value not in ("csv", None):
            message = f"'collectionFormat: {value}' of inner items has no equal in OpenAPI 3; it is left out."
            findings.warning("collection_format_lost", where, message)
    if made.get("type") == "file":
        made |= {"type": "string", "format": "binary"}
    if made.get("nullable") is True and "$ref" in made:
        return {"allOf": [{"$ref": made["$ref"]}], "nullable": True}
    return made


def _inner(value: Any, is_map: bool, where: str, findings: Findings) -> Any:
    if isinstance(value, list):
        return [convert_schema(one, f"{where}/{index}", findings) for index, one in enumerate(value)]
    if is_map and isinstance(value, dict):
        return {name: convert_schema(one, where + pointer(name), findings) for name, one in value.items()}
    return convert_schema(value, where, findings)


def schema_of_words(owner: dict[str, Any], where: str, findings: Findings) -> dict[str, Any]:
    """The schema that a parameter, header or form field spells out in its own words.

    A `schema` beside them is against the rules and frequent; it is taken as the ground."""
    ground = convert_schema(owner["schema"], f"{where}/schema", findings) if "schema" in owner else {}
    words = {word: owner[word] for word in TYPE_WORDS if word in owner}
    made = convert_schema(words, where, findings)
    return {**ground, **made} if isinstance(ground, dict) else made


def _checked_ref(ref: str, where: str, findings: Findings) -> str:
    if ref.startswith(("#/paths/", "#/responses/", "#/parameters/")):
        message = (
            f"The reference {ref[:200]!r} leads to a place that conversion may move; refer to a definition."
        )
        findings.warning("ref_into_moved_part", where, message)
    return moved_ref(ref)
