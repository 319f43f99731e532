"""Every rule of the hint table is met by an error that engines and APIs really give."""

from __future__ import annotations

from ammeter.features.gateway.hints import RULES, hint_for

ERRORS = [
    ("ReferenceError", "fetch is not defined"),
    ("ReferenceError", "require is not defined"),
    ("ReferenceError", "process is not defined"),
    ("ReferenceError", "Buffer is not defined"),
    ("ReferenceError", "window is not defined"),
    ("ReferenceError", "setImmediate is not defined"),
    ("TypeError", "The SDK has no books.lst. Did you mean books.list?"),
    ("TypeError", "books.get takes one object with named arguments"),
    ("TypeError", "books.get: args.idd: unknown argument."),
    ("TypeError", "not a function"),
    ("TypeError", "cannot read property 'x' of undefined"),
    ("ReferenceError", "total is not defined"),
    ("SyntaxError", "unexpected token: 'await'"),
    ("SyntaxError", "unexpected end of input"),
    ("TypeError", "circular reference at result.a"),
    ("PolicyError", "books.create writes, and this endpoint is read-only."),
    ("ApiError", "The call was blocked: a redirect left the base URL."),
    ("ApiError", "401 Unauthorized"),
    ("ApiError", "403 Forbidden"),
    ("ApiError", "404 Not Found"),
    ("ApiError", "409 Conflict"),
    ("ApiError", "422 Unprocessable Entity"),
    ("ApiError", "429 Too Many Requests"),
    ("ApiError", "503 Service Unavailable"),
    ("LimitError", "A script may make 50 upstream calls; more than 50 calls were asked for"),
    ("InternalError", "Maximum call stack size exceeded"),
]


def test_each_rule_is_met_by_its_error_and_in_order() -> None:
    hints = [hint_for(name, message, "shop") for name, message in ERRORS]
    assert hints == [rule.hint.replace("{client}", "shop") for rule in RULES]


def test_an_error_of_the_scripts_own_has_no_hint() -> None:
    assert hint_for("Error", "the invoice has no lines", "client") is None
