"""A value that a schema allows, the same each time: for examples that people read and mocks that answer.

The description's own example comes first, then default, enum, a word for the format or the name. Each is
held against the schema as a call's arguments are; work and size are bounded whatever refers to what.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from ammeter.engines.compiler.arguments import check_value
from ammeter.engines.compiler.model import SCHEMA_PREFIX, Json
from ammeter.engines.compiler.shapes import kinds, merged

_MAX_DEPTH = 6
_MAX_STEPS = 3_000
_MAX_WHOLE = 600
_MAX_TRIES = 24
_MAX_TEXT = 20_000
_MAX_ITEMS = 100
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "ada@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com",
    "url": "https://example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "aGVsbG8=",
}
BINARY = {"base64": "aGVsbG8=", "contentType": "application/octet-stream"}


def sample(schema: Json, schemas: Mapping[str, Json], *, name: str = "", whole: bool = False) -> Any:
    """`whole`: as an answer is, optional properties too; else as a request is, only what is required."""
    return _Sampler(schemas, whole).value(schema, name, 0, frozenset())


class _Sampler:
    def __init__(self, schemas: Mapping[str, Json], whole: bool) -> None:
        self._schemas = schemas
        self._whole = whole
        self._steps = 0

    def value(self, schema: Json, name: str, depth: int, within: frozenset[str]) -> Any:
        self._steps += 1
        if "$ref" in schema:
            within |= {str(schema["$ref"]).removeprefix(SCHEMA_PREFIX)}
        if self._steps > _MAX_STEPS or depth > 4 * _MAX_DEPTH:
            return None
        first: list[Any] = []
        for tried in itertools.islice(self._candidates(schema, name, depth, within), _MAX_TRIES):
            if not check_value(schema, tried, self._schemas):
                return tried
            first.append(tried)
        return first[0] if first else None

    def _candidates(self, schema: Json, name: str, depth: int, within: frozenset[str]) -> Iterator[Any]:
        plain, choices = merged(schema, self._schemas)
        yield from self._given(plain)
        if not choices:
            yield from self._built(plain, name, depth, within)
            return
        # Null last: a value tells a reader more, unless it would go round for ever.
        ordered = [
            sorted(parts, key=lambda part: (part.get("type") == "null", self._is_within(part, within)))
            for parts in choices
        ]
        for taken in itertools.islice(itertools.product(*ordered), _MAX_TRIES):
            together = (
                taken[0] if not plain.keys() - _UNTYPED and len(taken) == 1 else {"allOf": [plain, *taken]}
            )
            yield self.value(together, name, depth + 1, within)

    def _is_within(self, part: Json, within: frozenset[str]) -> bool:
        return str(part.get("$ref", "")).removeprefix(SCHEMA_PREFIX) in within

    def _given(self, schema: Json) -> Iterator[Any]:
        """Values that the description itself gives. Whole objects among them are often stale and say more
        than is needed; built from their parts they fit."""
        if "const" in schema:
            yield schema["const"]
        for value in (*schema.get("examples", ()), *([schema["default"]] if "default" in schema else ())):
            if not isinstance(value, dict) and value is not None and not _is_deep(value):
                yield value
        yield from sorted(schema.get("enum", ())[:50], key=lambda value: value is None)

    def _built(self, schema: Json, name: str, depth: int, within: frozenset[str]) -> Iterator[Any]:
        words = kinds(schema)
        if not words:
            words = ["object"] if "properties" in schema or "required" in schema else ["string"]
        for kind in sorted(words, key=lambda word: word == "null"):
            if kind == "object":
                yield self._object(schema, depth, within)
            elif kind == "array":
                yield from self._arrays(schema, name, depth, within)
            elif kind in ("integer", "number"):
                yield from _numbers(schema, whole=kind == "integer")
            elif kind == "boolean":
                yield from (True, False)
            elif kind == "null":
                yield None
            else:
                yield self._string(schema, name)

    def _object(self, schema: Json, depth: int, within: frozenset[str]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        extra = schema.get("additionalProperties")
        done: dict[str, Any] = {}
        for name, part in properties.items():
            hidden = part.get("writeOnly") if self._whole else part.get("readOnly")
            if hidden is True or (name not in required and not self._wants(part, depth, within)):
                continue
            done[name] = self.value(part, name, depth + 1, within)
        for name in required:
            if name not in properties:
                part = extra if isinstance(extra, dict) else {"type": "string"}
                done[name] = self.value(part, name, depth + 1, within)
        missing = int(schema.get("minProperties", 0)) - len(done)
        for name, part in properties.items():
            if missing > 0 and name not in done:
                done[name] = self.value(part, name, depth + 1, within)
                missing -= 1
        for number in range(1, min(missing, _MAX_ITEMS) + 1):
            part = extra if isinstance(extra, dict) else {"type": "string"}
            done[f"key{number}"] = self.value(part, "value", depth + 1, within)
        return done

    def _wants(self, part: Json, depth: int, within: frozenset[str]) -> bool:
        return self._whole and depth < 4 and self._steps < _MAX_WHOLE and not self._is_within(part, within)

    def _arrays(self, schema: Json, name: str, depth: int, within: frozenset[str]) -> Iterator[list[Any]]:
        least = min(int(schema.get("minItems", 0)), _MAX_ITEMS)
        most = schema.get("maxItems", math.inf)
        places = schema.get("prefixItems", ())
        items = schema.get("items", {})
        is_round = self._is_within(items, within) or depth > _MAX_DEPTH or self._steps > _MAX_WHOLE
        wanted = int(min(max(least, len(places), 0 if is_round or "prefixItems" in schema else 1), most))
        inner = [self.value(part, name, depth + 1, within) for part in places[:wanted]]
        if len(inner) < wanted:
            one = self.value(items, name.removesuffix("s"), depth + 1, within)
            inner += [one] * (wanted - len(inner))
        yield inner
        yield inner[:least]

    def _string(self, schema: Json, name: str) -> Any:
        form = str(schema.get("format", ""))
        if form == "binary" and not self._whole:
            return BINARY
        text = _FORMATS.get(form) or name[:80] or "string"
        least = min(int(schema.get("minLength", 0)), _MAX_TEXT)
        text += "x" * (least - len(text))
        return text[: int(schema["maxLength"])] if "maxLength" in schema else text


_UNTYPED = {"description", "title", "discriminator", "type", "examples", "default", "deprecated"}


def _is_deep(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict | list) for item in value)


def _numbers(schema: Json, *, whole: bool) -> Iterator[int | float]:
    """Likely numbers first, then what the bounds leave."""
    lows = [schema[word] for word in ("minimum", "exclusiveMinimum") if word in schema]
    highs = [schema[word] for word in ("maximum", "exclusiveMaximum") if word in schema]
    step = schema.get("multipleOf")
    candidates: list[int | float] = []
    if step and not lows and not highs:
        candidates.append(step)
    candidates += [1, 0]
    for low in lows:
        candidates += [low, low + 1, math.floor(low) + 1]
    for high in highs:
        candidates += [high, high - 1, math.ceil(high) - 1]
    if lows and highs:
        candidates.append(max(lows) / 2 + min(highs) / 2)
    if step:
        multiples = [step * math.ceil(c / step) for c in candidates if abs(c / step) < 1e15]
        candidates = [*multiples, *(m + step for m in multiples), *candidates]
    for value in candidates:
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            yield int(value)
        elif not whole or isinstance(value, int):
            yield value
