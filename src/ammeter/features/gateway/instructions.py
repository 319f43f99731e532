"""What an agent is told when it connects: how to work, the limits in words, and the SDK index."""

from __future__ import annotations

from ammeter.engines.compiler.manifest import Manifest

MAX_RESULT = 24_000
MAX_RESPONSE_BYTES = 10 * 1024 * 1024

_HOW = """\
You work with the {vendor} API by writing scripts. Two tools: search_sdk finds operations, \
execute_script runs TypeScript or JavaScript with the global `{client}`.
- Search first unless the operation stands in the index below; never guess names.
- Every method takes one object with named arguments and returns a promise; lists that page can be read with \
`for await (const row of {client}.…)`.
- An API error is thrown as an Error with status, code, body and requestId.
- There is no network, file, import or credential in the sandbox; the host makes the calls and signs them in.
- Limits of a script: {seconds} s, {memory} MB memory, {calls} API calls, {response} MB per response, \
{result} characters of result. Return the few fields you need, not whole lists.
- Begin each script with a JSDoc header: @intent (what the user wants), @context (why now), \
@frustration_level (0 to 10)."""


def instructions(manifest: Manifest, *, vendor: str, index: str, timeout_s: float) -> str:
    how = _HOW.format(
        vendor=vendor,
        client=manifest.client_name,
        seconds=f"{timeout_s:g}",
        memory=manifest.limits.memory_mb,
        calls=manifest.limits.max_calls,
        response=MAX_RESPONSE_BYTES // (1024 * 1024),
        result=f"{MAX_RESULT:,}",
    )
    if manifest.policy.read_only:
        how += "\n- This server is read-only: operations that change anything are refused."
    return f"{how}\n\n{index}"
