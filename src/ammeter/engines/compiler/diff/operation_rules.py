"""The rules on operations, their parameters, bodies, answers, pages and credentials, as a table. Names are
oasdiff's where it has one; levels are by what happens to a script that was written for the old description.
"""

from __future__ import annotations

from ammeter.engines.compiler.diff.model import Rule
from ammeter.engines.compiler.model import Level


def _rule(rule_id: str, level: Level, meaning: str, says: str, todo: str = "") -> Rule:
    return Rule(id=rule_id, level=level, meaning=meaning, says=says, todo=todo)


_GONE = "use another method"

OPERATION_RULES: tuple[Rule, ...] = (
    _rule("endpoint-added", "info", "A method is new.", "The method {new} was added"),
    _rule(
        "api-removed-without-deprecation",
        "error",
        "A method is gone that was not deprecated; its path has others left.",
        "The method {old} was removed without having been deprecated",
        _GONE,
    ),
    _rule(
        "api-removed-with-deprecation",
        "error",
        "A deprecated method is gone; its path has others left.",
        "The deprecated method {old} was removed",
        _GONE,
    ),
    _rule(
        "api-path-removed-without-deprecation",
        "error",
        "A method is gone with its path, and was not deprecated.",
        "The method {old} was removed with its path, without having been deprecated",
        _GONE,
    ),
    _rule(
        "api-path-removed-with-deprecation",
        "error",
        "A deprecated method is gone with its path.",
        "The deprecated method {old} was removed with its path",
        _GONE,
    ),
    _rule(
        "sdk-name-changed",
        "error",
        "The method has another name in the SDK.",
        "The method {old} is now called {new}",
        "call {new}",
    ),
    _rule(
        "path-changed",
        "info",
        "The method sends to another path; no script sees it.",
        "The path changed from {old} to {new}",
    ),
    _rule(
        "method-changed",
        "warning",
        "The HTTP method is another one, so retries and read-only policies may treat the call differently.",
        "The HTTP method changed from {old} to {new}",
    ),
    _rule(
        "operation-id-changed",
        "info",
        "The operationId is another one; policies and telemetry may name the old one.",
        "The operationId changed from {old} to {new}",
    ),
    _rule("endpoint-deprecated", "warning", "The method is on its way out.", "{where} is now deprecated"),
    _rule(
        "endpoint-reactivated",
        "info",
        "The method is no longer deprecated.",
        "{where} is no longer deprecated",
    ),
    _rule(
        "api-security-added",
        "error",
        "The method needs credentials where it needed none.",
        "{where} now needs credentials ({new}), where it needed none",
        "configure them for the source",
    ),
    _rule(
        "api-security-changed",
        "error",
        "No credentials that were accepted are accepted now.",
        "{where} no longer accepts {old}, but {new}",
        "configure them for the source",
    ),
    _rule(
        "api-security-alternative-removed",
        "warning",
        "One of several kinds of credentials is no longer accepted.",
        "{where} no longer accepts {old}",
    ),
    _rule(
        "api-security-alternative-added",
        "info",
        "A further kind of credentials is accepted.",
        "{where} now also accepts {new}",
    ),
    _rule(
        "api-security-removed",
        "info",
        "The method needs no credentials any more.",
        "{where} no longer needs credentials ({old})",
    ),
)

ARGUMENT_RULES: tuple[Rule, ...] = (
    _rule(
        "request-parameter-removed",
        "error",
        "A parameter is gone; passing it is refused.",
        "{where} was removed",
        "leave it off",
    ),
    _rule(
        "new-required-request-parameter",
        "error",
        "A parameter is new and required.",
        "{where} was added and is required",
        "pass it",
    ),
    _rule(
        "new-request-path-parameter",
        "error",
        "The path has a further parameter.",
        "{where} was added to the path",
        "pass it",
    ),
    _rule(
        "new-optional-request-parameter",
        "info",
        "A parameter is new and may be left off.",
        "{where} was added",
    ),
    _rule(
        "request-parameter-became-required",
        "error",
        "A parameter may no longer be left off.",
        "{where} became required",
        "always pass it",
    ),
    _rule(
        "request-parameter-became-optional",
        "info",
        "A parameter may be left off.",
        "{where} became optional",
    ),
    _rule(
        "request-parameter-moved",
        "info",
        "The argument is sent in another place or under another name; no script sees it.",
        "{where} is now sent as {new} instead of {old}",
    ),
    _rule(
        "argument-renamed",
        "error",
        "The key in the argument object is another one.",
        "The argument {old} is now called {new}",
        "pass {new}",
    ),
    _rule(
        "request-body-added-required",
        "error",
        "The method takes a body now, and needs it.",
        "A required request body was added",
        "pass {new}",
    ),
    _rule(
        "request-body-added-optional",
        "info",
        "The method takes a body now.",
        "An optional request body was added",
    ),
    _rule(
        "request-body-removed",
        "error",
        "The method takes no body any more.",
        "The request body was removed",
        "leave off {old}",
    ),
    _rule(
        "request-body-became-required",
        "error",
        "The body may no longer be left off.",
        "The request body became required",
        "always pass {new}",
    ),
    _rule(
        "request-body-became-optional",
        "info",
        "The body may be left off.",
        "The request body became optional",
    ),
    _rule(
        "request-body-arguments-changed",
        "error",
        "The fields of the body became arguments of their own, or one argument.",
        "The request body is passed as {new} instead of {old}",
        "pass {new}",
    ),
    _rule(
        "request-body-media-type-removed",
        "error",
        "The body is sent as another kind of document.",
        "The request body is no longer sent as {old}, but as {new}",
        "pass a body of that kind",
    ),
    _rule(
        "request-body-media-type-name-changed",
        "info",
        "The body is sent under another media type of the same kind; no script sees it.",
        "The media type of the request body changed from {old} to {new}",
    ),
    _rule(
        "request-body-other-media-type-removed",
        "info",
        "A media type is gone that the method did not send.",
        "The request body is no longer accepted as {old}, which the method did not send",
    ),
    _rule(
        "request-body-media-type-added",
        "info",
        "A further media type is accepted.",
        "The request body is now also accepted as {new}",
    ),
)

ANSWER_RULES: tuple[Rule, ...] = (
    _rule(
        "response-success-status-removed",
        "error",
        "There is no answer any more that a script could use.",
        "The answer {old} was removed",
        "expect no answer",
    ),
    _rule(
        "response-success-status-changed",
        "warning",
        "The answer comes with another status, which a script sees only in errors.",
        "The status of the answer changed from {old} to {new}",
    ),
    _rule(
        "response-success-status-added",
        "warning",
        "A further answer of success is possible.",
        "The method may now also answer with {new}",
    ),
    _rule(
        "response-other-success-status-removed",
        "info",
        "One of several answers of success is gone.",
        "The method no longer answers with {old}",
    ),
    _rule(
        "response-non-success-status-added",
        "info",
        "A further failure is described.",
        "The method may now fail with {new}",
    ),
    _rule(
        "response-non-success-status-removed",
        "info",
        "A failure is no longer described.",
        "The method is no longer described to fail with {old}",
    ),
    _rule(
        "response-media-type-removed",
        "error",
        "The answer is another kind of document.",
        "{where} is no longer {old}, but {new}",
        "read it as {new}",
    ),
    _rule(
        "response-media-type-added",
        "info",
        "The answer is a document where it was empty.",
        "{where} is now {new}, where it was empty",
    ),
    _rule(
        "response-media-type-name-changed",
        "info",
        "The answer has another media type of the same kind; no script sees it.",
        "The media type of {where} changed from {old} to {new}",
    ),
    _rule(
        "error-response-body-changed",
        "info",
        "The body of an error is described differently.",
        "The body of {where} is described differently",
    ),
    _rule(
        "pagination-removed",
        "error",
        "`for await` over the rows is gone.",
        "{where} no longer gives its rows page after page",
        "read the rows from one answer instead of `for await`",
    ),
    _rule(
        "pagination-added",
        "info",
        "`for await` over the rows is possible.",
        "{where} now gives its rows page after page with `for await`",
    ),
    _rule(
        "pagination-items-changed",
        "warning",
        "`for await` takes its rows from another field.",
        "The rows of {where} come from {new} instead of {old}",
    ),
    _rule(
        "pagination-kind-changed",
        "info",
        "The next page is asked for in another way; `for await` does not see it.",
        "The next page of {where} is asked for by {new} instead of {old}",
    ),
)
