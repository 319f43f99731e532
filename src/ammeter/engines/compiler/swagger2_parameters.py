"""Swagger 2.0 parameters become OpenAPI 3.0 parameters and a request body.

Comes in: the parameters of a path or an operation, and what the operation consumes. Goes out: new
objects. Parameters of an unknown `in` pass as they are, for the phase that names them as a finding.
"""

from __future__ import annotations

from typing import Any

from ammeter.engines.compiler.findings import Findings, pointer
from ammeter.engines.compiler.swagger2_schemas import (
    TYPE_WORDS,
    convert_schema,
    moved_ref,
    schema_of_words,
)

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_FORMS = (FORM, MULTIPART)
_NOT_COPIED = frozenset({*TYPE_WORDS, "schema", "collectionFormat"})
_QUERY_STYLES = {"csv": "form", "multi": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited"}
BODY_NAME = "x-codegen-request-body-name"


def convert_parameter(parameter: dict[str, Any], where: str, findings: Findings) -> dict[str, Any]:
    """One that stays a parameter: in path, query or header."""
    made = {key: value for key, value in parameter.items() if key not in _NOT_COPIED}
    schema = schema_of_words(parameter, where, findings)
    if schema or "schema" in parameter:
        made["schema"] = schema
    if schema.get("type") == "array":
        made |= _style(parameter, where, findings)
    return made


def _style(parameter: dict[str, Any], where: str, findings: Findings) -> dict[str, Any]:
    given = parameter.get("collectionFormat", "csv")
    if parameter.get("in") in ("query", "formData"):
        style = _QUERY_STYLES.get(given) if isinstance(given, str) else None
        if style is None:
            _lost(given, where, findings)
        # OpenAPI 3 repeats the name of an array by default; Swagger 2 joins its values.
        return {"style": style or "form", "explode": given == "multi"}
    if given != "csv":
        _lost(given, where, findings)
    return {"style": "simple", "explode": False}


def _lost(given: Any, where: str, findings: Findings) -> None:
    message = f"'collectionFormat: {str(given)[:40]}' has no equal here in OpenAPI 3; commas are used."
    findings.warning("collection_format_lost", where, message)


def convert_body(
    parameter: dict[str, Any], consumes: list[str], where: str, findings: Findings
) -> dict[str, Any]:
    left_out = {"in", "name", "required", "schema", *TYPE_WORDS}
    made = {key: value for key, value in parameter.items() if key not in left_out}
    if isinstance(name := parameter.get("name"), str):
        made.setdefault(BODY_NAME, name)
    schema = schema_of_words(parameter, where, findings)
    if parameter.get("required") is True:
        made["required"] = True
    made["content"] = {kind: {"schema": schema} for kind in consumes or ["application/json"]}
    return made


def convert_form(
    fields: list[tuple[dict[str, Any], str]], consumes: list[str], findings: Findings
) -> dict[str, Any]:
    """The form fields of an operation, each with its pointer, as one body."""
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    required = []
    for field, where in fields:
        name = str(field.get("name", ""))
        kept = {
            k: v for k, v in field.items() if k == "description" or (k.startswith("x-") and k != "x-nullable")
        }
        schema = schema_of_words(field, where, findings)
        # Words beside a $ref are not read in OpenAPI 3.0.
        properties[name] = schema if "$ref" in schema else {**kept, **schema}
        if field.get("required") is True:
            required.append(name)
        if schema.get("type") == "array":
            encoding[name] = _style(field, where, findings)
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    media = {"schema": schema, **({"encoding": encoding} if encoding else {})}
    has_file = any(field.get("type") == "file" for field, _ in fields)
    kinds = [kind for kind in consumes if _base(kind) in _FORMS]
    if has_file:
        kinds = [kind for kind in kinds if _base(kind) == MULTIPART] or [MULTIPART]
    return {"content": dict.fromkeys(kinds or [FORM], media), **({"required": True} if required else {})}


def convert_headers(headers: Any, where: str, findings: Findings) -> Any:
    if not isinstance(headers, dict):
        return headers
    made = {}
    for name, header in headers.items():
        here = where + pointer(name)
        if not isinstance(header, dict):
            made[name] = header
            continue
        kept = {key: value for key, value in header.items() if key not in _NOT_COPIED}
        if isinstance(ref := kept.get("$ref"), str):
            kept["$ref"] = moved_ref(ref)
        elif schema := schema_of_words(header, here, findings):
            kept["schema"] = schema
        made[name] = kept
    return made


def convert_response(response: Any, produces: list[str], where: str, findings: Findings) -> Any:
    if not isinstance(response, dict):
        return response
    if isinstance(response.get("$ref"), str):
        return {**response, "$ref": moved_ref(response["$ref"])}
    made = {key: value for key, value in response.items() if key not in ("schema", "examples", "headers")}
    if "headers" in response:
        made["headers"] = convert_headers(response["headers"], f"{where}/headers", findings)
    examples = response.get("examples")
    examples = {k: v for k, v in examples.items() if "/" in k} if isinstance(examples, dict) else {}
    schema = response.get("schema")
    if isinstance(schema, dict):
        is_file = schema.get("type") == "file"
        kinds = produces or (["application/octet-stream"] if is_file else ["application/json"])
        converted = convert_schema(schema, f"{where}/schema", findings)
        content: dict[str, Any] = {kind: {"schema": converted} for kind in dict.fromkeys([*kinds, *examples])}
    else:
        content = {kind: {} for kind in examples}
    for kind, example in examples.items():
        content[kind] = {**content[kind], "example": example}
    if content:
        made["content"] = content
    return made


def _base(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()
