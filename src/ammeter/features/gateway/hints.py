"""What an agent should do next, by what went wrong: a table of rules, first match wins.

To add one: a pattern over `Name: message` of the error, and a sentence that says what to do instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: re.Pattern[str]
    hint: str


def _rule(pattern: str, hint: str) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE | re.DOTALL), hint)


RULES: tuple[Rule, ...] = (
    _rule(
        r"'?(fetch|XMLHttpRequest|axios|WebSocket)'? is not defined",
        "There is no network in the sandbox; call the API through {client}. search_sdk finds the operation.",
    ),
    _rule(
        r"'?(require|module|exports)'? is not defined|import\(|cannot use import",
        "Nothing can be imported; plain JavaScript and {client} are all there is.",
    ),
    _rule(
        r"'?(process|Deno|Bun|__dirname|__filename)'? is not defined",
        "There is no environment, process or file; credentials are added by the host, so leave them out.",
    ),
    _rule(
        r"'?Buffer'? is not defined",
        "Use TextEncoder, atob and btoa instead of Buffer; binary values are { base64, contentType }.",
    ),
    _rule(
        r"'?(document|window|localStorage|alert|navigator)'? is not defined",
        "This is no browser; only plain JavaScript and {client} exist.",
    ),
    _rule(r"'?(setImmediate|queueMicrotask)'? is not defined", "Use setTimeout or await instead."),
    _rule(r"the sdk has no ", "Call search_sdk for the right name; names are never guessed."),
    _rule(
        r"takes one object|a method takes one object",
        "Pass one object with named arguments: {client}.group.method({ id: 1 }).",
    ),
    _rule(
        r"unknown argument|this argument is required|expected, not|is none of",
        "search_sdk shows the signature with every argument and its type.",
    ),
    _rule(
        r"is not iterable|not a function",
        "Perhaps the answer is an object that wraps the list, or a promise that was not awaited:"
        " return Object.keys(answer) once to see its shape.",
    ),
    _rule(
        r"cannot read propert(y|ies) .*of (undefined|null)|is (undefined|null)$",
        "A value is missing; use ?. or return the object first to see its shape. Was a promise not awaited?",
    ),
    _rule(r"is not defined", "Declare the name first; only {client} and plain JavaScript are given."),
    _rule(r"SyntaxError.*(await|return)", "Top-level await and return work; check the braces around them."),
    _rule(r"SyntaxError", "The script does not parse; fix the line that is shown and send the whole script."),
    _rule(r"cyclic|circular", "Return plain data without references to itself: pick the fields you need."),
    _rule(r"read-only|read only", "Only operations that read are allowed here; tell the user what is not."),
    _rule(
        r"blocked|base url", "Calls go to the API's own base URL only; use the SDK's operations as they are."
    ),
    _rule(
        r"\b401\b|unauthori[sz]ed",
        "The API refused the server's credentials; a person must fix them. Do not try again.",
    ),
    _rule(r"\b403\b|forbidden", "The API's account may not do this; tell the user, do not try again."),
    _rule(r"\b404\b|not found", "Check the ids: list or search the things first, then use an id from there."),
    _rule(r"\b409\b|conflict", "Read the thing again and retry with its present state."),
    _rule(
        r"\b(400|422)\b|unprocessable|bad request",
        "The API refused the values; error.body says which. search_sdk shows the signature.",
    ),
    _rule(
        r"\b429\b|too many requests|rate limit", "The API asks for fewer calls; wait, then do fewer at once."
    ),
    _rule(r"\b5\d\d\b|bad gateway|unavailable", "The API failed on its side; try once more later."),
    _rule(r"upstream calls|more than \d+ calls", "Do fewer calls in a script: filter in the API, page less."),
    _rule(r"call stack|too much recursion", "The recursion does not end; use a loop."),
)


def hint_for(name: str, message: str, client_name: str) -> str | None:
    text = f"{name}: {message}"
    for rule in RULES:
        if rule.pattern.search(text):
            return rule.hint.replace("{client}", client_name)
    return None
