"""The published description of the REST API, made from the live routes: OpenAPI 3.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from ammeter import __version__
from ammeter.doors.rest.openapi30 import to_openapi30

_TAGS = [
    {"name": "org", "description": "The organization, its keys, members, secrets and audit log."},
    {
        "name": "mcpServers",
        "description": "MCP sources: how they are met, what was found there, their skills.",
    },
    {
        "name": "workflows",
        "description": "Eval cases: prompts, criteria, schedules, and the dispatch of runs.",
    },
    {"name": "runs", "description": "Runs of workflows: search, traces, evaluations."},
    {"name": "suites", "description": "Sets of workflows with a gate; their runs are started at `/mcp`."},
    {
        "name": "insights",
        "description": "What agents tried to do: overview, topics, failed searches, sessions.",
    },
]
_RATE_HEADERS = {
    "RateLimit": {
        "description": "What is left of the key's quota, and when there is more.",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {"description": "The quota of the key.", "schema": {"type": "string"}},
}
_RETRY_AFTER = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
_REQUEST_ID = {"description": "Names this request in the server's log.", "schema": {"type": "string"}}


def describe(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    document = get_openapi(
        title="Ammeter REST API",
        version=__version__,
        description="Organizations, MCP sources, workflows, runs and insights; errors have one shape.",
        routes=routes,
        tags=_TAGS,
    )
    document = to_openapi30(document)
    components = document["components"]
    components["securitySchemes"] = {
        "bearerAuth": {"type": "http", "scheme": "bearer", "bearerFormat": "amt_<key_id>_<secret>"}
    }
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)
    document["security"] = [{"bearerAuth": []}]
    for item in document["paths"].values():
        for operation in item.values():
            _add_headers(operation)
            _refuse_nul(operation)
    return document


def _refuse_nul(operation: dict[str, Any]) -> None:
    """As every StrictRoute does, in whatever a query holds."""
    for parameter in operation.get("parameters", []):
        schema = parameter["schema"]
        text = schema["items"] if schema.get("type") == "array" else schema
        if parameter["in"] == "query" and text.get("type") == "string" and "enum" not in text:
            text.setdefault("pattern", r"^[^\x00]*$")


def _add_headers(operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        headers = response.setdefault("headers", {})
        headers["x-request-id"] = _REQUEST_ID
        if status == "429" or status.startswith("2"):
            headers.update(_RATE_HEADERS)
        if status in ("429", "503"):
            headers["Retry-After"] = _RETRY_AFTER
