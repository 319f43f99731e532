"""The safety preflight of a workflow: a draft in, findings out; pure. Empty: nothing speaks against it.

It looks for what would do harm or could never work: credentials in texts, orders to destroy or carry off
data that the tool policy would let through, words aimed at the judge, models that are not there. It reads
words, not minds: a refusal names the words and what to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ammeter.base.errors import Detail
from ammeter.base.tokens import SHAPES
from ammeter.engines.models.scripted import REPLAY, SCRIPTED, PlanError, parse_plan
from ammeter.features.workflows.model import Draft

_GIVEN_SECRET = re.compile(
    r"(?i)\b(?:password|passwd|passphrase|api[_ -]?key|secret|access[_ -]?token|token)\b\s*(?:is|:|=)\s*"
    r"[\"'`]?(?P<value>[^\s\"'`,;]{6,200})"
)
_MENTIONED = re.compile(r"(?i)^(?:\{\{.*|<.*|\$.*|\*+|x{3,}|\[.*|secret:.*|env:.*|[a-z]+[.!?)]?)$")
_DESTROY = re.compile(
    r"(?i)\b(?:delete|drop|erase|wipe|purge|destroy|truncate|remove)\b[^.\n]{0,40}?"
    r"\b(?:all|every|everything|entire|whole)\b[^.\n]{0,40}|"
    r"\bdrop\s+(?:table|database|schema)\b|\brm\s+-rf\b|\bwipe\s+(?:the\s+)?(?:database|disk|account)\b"
)
_CARRY_OFF = re.compile(
    r"(?i)\b(?:send|post|upload|forward|exfiltrate|leak|e-?mail|transmit|copy)\b[^.\n]{0,60}?"
    r"\b(?:passwords?|credentials?|secrets?|tokens?|api[_ -]?keys?|private keys?|customer data|personal data|"
    r"env(?:ironment)? variables?)\b[^.\n]{0,60}?(?:\bto\b|\binto\b)[^.\n]{0,60}|\bexfiltrat\w+\b[^.\n]{0,40}"
)
_JUDGE = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|the)\b"
    r"[^.\n]{0,30}\b(?:instructions?|criteria|rules|prompt)\b|"
    r"\b(?:judge|evaluator|grader)\b[^.\n]{0,60}\b(?:must|should|always|shall|has to)\b[^.\n]{0,30}"
    r"\b(?:pass|passed|approve|accept|full score|perfect score)\b|"
    r"\b(?:mark|grade|score|rate|judge)\b[^.\n]{0,40}\b(?:as|with)\b[^.\n]{0,15}\bpass(?:ed|ing)?\b"
    r"[^.\n]{0,40}\b(?:regardless|no matter|always|in any case|whatever)\b"
)
_NEGATED = re.compile(
    r"(?i)\b(?:do not|don't|does not|must not|never|should not|cannot|without|refuse[sd]? to)\b"
)
_FENCED = re.compile(r"^ {0,3}```.*?^ {0,3}```[ \t]*$", re.MULTILINE | re.DOTALL)

_SHOWN = 80


def preflight(
    draft: Draft, model_problem: Callable[[str], str | None], *, models_named: bool
) -> list[Detail]:
    """Findings, each with its place. `models_named`: the person chose the models, they are no default."""
    return [
        *_credentials(draft),
        *_harm(draft),
        *_judge(draft),
        *_models(draft, model_problem, named=models_named),
        *_policy(draft),
    ]


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    yield "$.testerPrompt", draft.tester_prompt
    yield "$.description", draft.description
    for i, criterion in enumerate(draft.criteria):
        yield f"$.criteria[{i}].criterionText", criterion.criterion_text


def _credentials(draft: Draft) -> Iterator[Detail]:
    for path, text in _texts(draft):
        shape = next(
            (s for s in SHAPES if any(a in text for a in s.anchors) and s.pattern.search(text)), None
        )
        given = next(
            (found for found in _GIVEN_SECRET.finditer(text) if not _MENTIONED.match(found["value"])), None
        )
        if shape is not None or given is not None:
            kind = shape.kind.replace("_", " ") if shape else "value given to a secret's name"
            yield Detail(
                path=path,
                message=f"this holds a credential ({kind}); put it into the source's auth profile as a"
                " reference such as secret:NAME and take it out of the text",
            )


def _harm(draft: Draft) -> Iterator[Detail]:
    if draft.tool_policy.read_only or draft.tool_policy.allow == ():
        return
    prose = _FENCED.sub("", draft.tester_prompt)
    for pattern, what in ((_DESTROY, "to destroy data"), (_CARRY_OFF, "to carry data off")):
        if found := _ordered(pattern, prose):
            yield Detail(
                path="$.testerPrompt",
                message=f"the words {found!r} ask the tester {what}, and the tool policy would let it; set"
                " toolPolicy.readOnly, or name in the prompt the one record that the test itself has made",
            )


def _judge(draft: Draft) -> Iterator[Detail]:
    for path, text in _texts(draft):
        if found := _ordered(_JUDGE, text):
            yield Detail(
                path=path,
                message=f"the words {found!r} give orders to the judge or override instructions; say what the"
                " tester is to do, and let the criteria say what is right",
            )


def _ordered(pattern: re.Pattern[str], text: str) -> str | None:
    """The first place that matches and is not said to be forbidden."""
    for found in pattern.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        sentence = re.split(r"[.\n;]", before)[-1]
        if not _NEGATED.search(sentence):
            return " ".join(found[0].split())[:_SHOWN]
    return None


def _models(draft: Draft, problem: Callable[[str], str | None], *, named: bool) -> Iterator[Detail]:
    for i, target in enumerate(draft.targets):
        path = f"$.testerTargets[{i}].modelId" if named else "$.testerTargets"
        if told := problem(target.model_id):
            yield Detail(path=path, message=told)
        elif target.model_id == SCRIPTED and named:
            try:
                parse_plan(draft.tester_prompt)
            except PlanError as error:
                yield Detail(path="$.testerPrompt", message=str(error))
        elif target.model_id == REPLAY and not isinstance(draft.metadata.get("replayRunId"), str):
            yield Detail(path="$.metadata.replayRunId", message=f"{REPLAY} needs the id of the run to repeat")
    for i, target in enumerate(draft.targets):
        if target in draft.targets[:i]:
            yield Detail(path=f"$.testerTargets[{i}]", message="this target is there twice")


def _policy(draft: Draft) -> Iterator[Detail]:
    tools = draft.tool_policy
    if tools.allow == () and draft.criteria and not tools.deny:
        yield Detail(
            path="$.toolPolicy.allow",
            message="an empty list allows no tool at all; leave it out to allow all",
        )
    if "*" in tools.deny:
        yield Detail(path="$.toolPolicy.deny", message="'*' denies every tool: no run could do anything")
