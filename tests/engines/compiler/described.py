"""Small descriptions for the compiler's tests, and what the phases make of them."""

from __future__ import annotations

from typing import Any

from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.model import Api, Finding, Operation
from tests.golden.outputs import compiled

ANSWER = {"200": {"description": "y"}}


def read(paths: Any, schemas: Any = None, **top: Any) -> tuple[Api, tuple[Finding, ...]]:
    document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths, **top}
    if schemas is not None:
        document["components"] = {"schemas": schemas, **document.get("components", {})}
    findings = Findings()
    return compiled(document, findings), findings.all()


def one(raw: Any, *, path: str = "/things", method: str = "get", schemas: Any = None) -> Operation:
    return whole(raw, path=path, method=method, schemas=schemas).operations[0]


def whole(raw: Any, *, path: str = "/things", method: str = "get", schemas: Any = None) -> Api:
    return read({path: {method: {"responses": ANSWER, **raw}}}, schemas)[0]


def json_body(schema: Any, *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def json_answer(schema: Any, **more: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"responses": {"200": {"description": "y", "content": content, **more}}}


def query(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema or {"type": "string"}, **more}


def codes(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]
