"""OpenAPI 3.1, as FastAPI writes it, to OpenAPI 3.0.3, as the interface promises it.

Pure: a document in, a document out. Covers what pydantic emits: null types, const, numeric exclusive
bounds, examples, siblings of `$ref`, tuples, binary content. Keywords that 3.0 has no word for go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

_METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
_WITHOUT_A_WORD = (
    *("$schema", "$id", "$comment", "$anchor", "$defs", "contentSchema", "contentMediaType"),
    *("unevaluatedProperties", "unevaluatedItems", "propertyNames", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "contains", "minContains", "maxContains"),
)
_TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number"}


def to_openapi30(document: Json) -> Json:
    components = {
        name: {key: _COMPONENTS[name](part) for key, part in parts.items()} if name in _COMPONENTS else parts
        for name, parts in document.get("components", {}).items()
    }
    return {
        **{key: value for key, value in document.items() if key not in ("jsonSchemaDialect", "webhooks")},
        "openapi": "3.0.3",
        "paths": {path: _path_item(item) for path, item in document.get("paths", {}).items()},
        "components": components,
    }


def _path_item(item: Json) -> Json:
    return {key: _operation(part) if key in _METHODS else part for key, part in item.items()}


def _operation(operation: Json) -> Json:
    done = dict(operation)
    if "parameters" in done:
        done["parameters"] = [_without_null(_with_schema(p)) for p in done["parameters"]]
    if "requestBody" in done:
        done["requestBody"] = _with_content(done["requestBody"])
    done["responses"] = {status: _with_content(r) for status, r in done["responses"].items()}
    return done


def _with_schema(part: Json) -> Json:
    return {**part, "schema": to_schema30(part["schema"])} if "schema" in part else part


def _without_null(parameter: Json) -> Json:
    """A path or a query has no way to write null: a parameter is there or it is not."""
    schema = {key: value for key, value in parameter["schema"].items() if key != "nullable"}
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return {**parameter, "schema": schema}


def _with_content(part: Json) -> Json:
    done = dict(part)
    if "content" in done:
        done["content"] = {kind: _with_schema(media) for kind, media in done["content"].items()}
    if "headers" in done:
        done["headers"] = {name: _with_schema(header) for name, header in done["headers"].items()}
    return done


def to_schema30(schema: Any) -> Any:
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    done = {key: value for key, value in schema.items() if key not in _WITHOUT_A_WORD}
    if "$ref" in done:
        reference = {"$ref": done.pop("$ref")}
        return {"allOf": [reference], **to_schema30(done)} if done else reference
    if schema.get("contentMediaType") == "application/octet-stream":
        done["format"] = "binary"
    for step in (
        _const,
        _examples,
        _exclusive_bounds,
        _tuples,
        _pattern_properties,
        _nested,
        _null_types,
        _null_parts,
        _null_in_enum,
    ):
        step(done)
    return done


def _const(schema: Json) -> None:
    if "const" not in schema:
        return
    value = schema.pop("const")
    if value is None:
        schema["type"] = "null"
    else:
        schema["enum"] = [value]
        schema.setdefault("type", _TYPE_OF.get(type(value), "object"))


def _examples(schema: Json) -> None:
    examples = schema.pop("examples", None)
    if examples:
        schema.setdefault("example", examples[0])


def _exclusive_bounds(schema: Json) -> None:
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = schema.get(exclusive)
        if value is not None and not isinstance(value, bool):
            schema[bound], schema[exclusive] = value, True


def _tuples(schema: Json) -> None:
    if "prefixItems" in schema:
        places = schema.pop("prefixItems")
        rest = schema.pop("items", None)
        schema.setdefault("minItems", len(places))
        if rest in (None, False):
            schema.setdefault("maxItems", len(places))
        distinct = [place for i, place in enumerate(places) if place not in places[:i]]
        schema["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if schema.get("type") == "array":
        schema.setdefault("items", {})


def _pattern_properties(schema: Json) -> None:
    patterns = schema.pop("patternProperties", None)
    if patterns and schema.get("additionalProperties") in (None, False, True):
        values = list(patterns.values())
        schema["additionalProperties"] = values[0] if len(values) == 1 else {"anyOf": values}


def _nested(schema: Json) -> None:
    if "items" in schema:
        schema["items"] = to_schema30(schema["items"])
    if "not" in schema:
        schema["not"] = to_schema30(schema["not"])
    if isinstance(schema.get("additionalProperties"), dict):
        schema["additionalProperties"] = to_schema30(schema["additionalProperties"])
    if "properties" in schema:
        schema["properties"] = {name: to_schema30(part) for name, part in schema["properties"].items()}
    if "allOf" in schema:
        schema["allOf"] = [to_schema30(part) for part in schema["allOf"]]


def _null_types(schema: Json) -> None:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = [kind for kind in kinds if kind != "null"]
        if "null" in kinds:
            schema["nullable"] = True
        if len(rest) == 1:
            schema["type"] = rest[0]
        else:
            del schema["type"]
            schema["anyOf"] = [{"type": kind} for kind in rest]
    elif kinds == "null":
        del schema["type"]
        schema.update(enum=[None], nullable=True)


def _null_parts(schema: Json) -> None:
    for word in ("anyOf", "oneOf"):
        if word not in schema:
            continue
        parts = schema.pop(word)
        rest = [part for part in parts if part.get("type") != "null"]
        if len(rest) < len(parts):
            schema["nullable"] = True
        done = [to_schema30(part) for part in rest]
        if len(done) > 1:
            schema[word] = done
        elif "$ref" in done[0]:
            schema["allOf"] = done
        else:
            for key, value in done[0].items():
                schema.setdefault(key, value)


def _null_in_enum(schema: Json) -> None:
    # `nullable` widens the type alone: null must be among the values too.
    if schema.get("nullable") and None not in schema.get("enum", [None]):
        schema["enum"] = [*schema["enum"], None]


_COMPONENTS: dict[str, Callable[[Any], Any]] = {
    "schemas": to_schema30,
    "parameters": _with_schema,
    "headers": _with_schema,
    "responses": _with_content,
    "requestBodies": _with_content,
}
