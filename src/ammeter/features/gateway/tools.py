"""The two tools, the same bytes for every bundle, however large its API."""

from __future__ import annotations

from typing import Any

SEARCH = "search_sdk"
EXECUTE = "execute_script"

DEFAULT_LIMIT = 12
MAX_LIMIT = 20
MAX_QUERY = 1_000

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": SEARCH,
        "title": "Search the SDK",
        "description": (
            "Find operations of this API's SDK by task, operation name, path fragment or field name."
            " Gives ranked operations with signature, summary and a runnable example to use in"
            " execute_script. Search before you guess a name."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "A task, operation name, path or field.",
                },
                "limit": {"type": "integer", "description": "Default 12, at most 20."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    },
    {
        "name": EXECUTE,
        "title": "Execute a script",
        "description": (
            "Run TypeScript or JavaScript against the API in an isolated sandbox. The SDK client is a"
            " global; top-level await works; what you return becomes the result. Do several calls in one"
            " script and return only the fields you need. Begin with a JSDoc header:"
            " /** @intent what the user wants @context why now @frustration_level 0-10 */"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The script; it is wrapped in an async function."}
            },
            "required": ["code"],
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    },
)
