"""What the suite tools take and give: exact schemas from models, arguments in, values out. An argument that
is wrong is told in a sentence that an agent can act on."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from ammeter.base.errors import Detail, ValidationFailed
from ammeter.base.pages import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from ammeter.base.text import did_you_mean
from ammeter.doors.http.errors import names_at
from ammeter.doors.http.records import Instant, PageRecord
from ammeter.doors.http.strict import Body, Record
from ammeter.doors.http.suite_bodies import GateIn, Reason
from ammeter.doors.http.suite_records import SuiteRunRecord, SuiteRunSummary
from ammeter.doors.http.workflow_bodies import refuse_unstorable
from ammeter.features.suites.model import MAX_CASES, MAX_REPEATS

MAX_WAIT_S = 600

Id = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[^\x00]*$")]
Text = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]
ModelId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$")]
Wait = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_WAIT_S,
        description="Wait up to so many seconds for the end; progress is told to clients that ask for it.",
    ),
]

PageNumber = Annotated[int, Field(ge=1, le=1_000_000, description="Page, from 1.")]

B = TypeVar("B", bound=Body)


class ListEvalCases(Body):
    category: Annotated[Text | None, Field(description="Only cases of this category slug.")] = None
    search: Annotated[Text, Field(description="Words that occur in the name, source or description.")] = ""
    page: PageNumber = 1
    page_size: Annotated[int, Field(ge=1, le=200, description="Cases on a page.")] = 100


class RunEvalSuite(Body):
    suite: Annotated[Text | None, Field(description="Name or id of a suite. This, caseIds or category.")] = (
        None
    )
    case_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=MAX_CASES, description="Ids of cases, from list_eval_cases."),
    ] = None
    category: Annotated[Text | None, Field(description="All active cases of this category slug.")] = None
    model_ids: Annotated[
        list[ModelId] | None,
        Field(
            min_length=1, max_length=10, description="Models that every case has; default: each case's own."
        ),
    ] = None
    baseline_suite_run_id: Annotated[
        Id | None, Field(description="A suite run to compare with, or 'last'.")
    ] = None
    repeats: Annotated[
        int | None, Field(ge=1, le=MAX_REPEATS, description="Runs of each case; default: the suite's.")
    ] = None
    gate: Annotated[GateIn | None, Field(description="Takes the place of the suite's own.")] = None
    bundle_id: Annotated[
        Id | None,
        Field(description="A stored bundle to run the cases of its source against; needs the role admin."),
    ] = None
    idempotency_key: Annotated[
        str | None,
        StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$"),
        Field(description="A second call with it within 24 hours gives the same suite run."),
    ] = None
    reason: Reason = ""
    wait_seconds: Wait = 0


class GetSuiteRun(Body):
    suite_run_id: Annotated[Id, Field(description="Id that run_eval_suite gave.")]
    baseline_suite_run_id: Annotated[
        Id | None, Field(description="Compare with this suite run instead of its own baseline.")
    ] = None
    wait_seconds: Wait = 0


class ListSuiteRuns(Body):
    suite: Annotated[Text | None, Field(description="Name or id of a suite; default: of all.")] = None
    page: PageNumber = 1
    page_size: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description="Suite runs on a page.")] = (
        DEFAULT_PAGE_SIZE
    )


class CancelSuiteRun(Body):
    suite_run_id: Annotated[Id, Field(description="Id that run_eval_suite gave.")]


class CaseSource(Record):
    id: str
    name: str


class EvalCase(Record):
    id: str
    name: str
    description: str
    source: CaseSource
    categories: list[str]
    models: list[str]
    last_outcome: Annotated[str | None, Field(description="Null where no run has ended.")]
    last_run_id: str | None
    last_run_at: Instant | None


class NamedSuite(Record):
    id: str
    name: str
    case_ids: list[str]


class EvalCases(Record):
    cases: list[EvalCase]
    total: int
    page: int
    has_more: bool
    suites: Annotated[list[NamedSuite], Field(description="Suites that run_eval_suite takes by name.")]


class StartedSuiteRun(SuiteRunRecord):
    deduplicated: bool


class SuiteRuns(PageRecord[SuiteRunSummary]):
    """Newest first, without their cases."""


def read_arguments(kind: type[B], given: dict[str, Any]) -> B:
    try:
        read = kind.model_validate(given)
    except ValidationError as error:
        raise ValidationFailed([_detail(one, kind) for one in error.errors()]) from None
    refuse_unstorable(read)
    return read


def input_schema(kind: type[BaseModel]) -> dict[str, Any]:
    return _untitled(kind.model_json_schema(mode="validation"))


def output_schema(kind: type[BaseModel]) -> dict[str, Any]:
    return _untitled(kind.model_json_schema(mode="serialization", schema_generator=GenerateJsonSchema))


def _detail(error: Any, kind: type[BaseModel]) -> Detail:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        message = "this is required"
    if error["type"] == "extra_forbidden":
        known = names_at(kind, error["loc"][:-1])
        message = f"there is no such argument.{did_you_mean(str(error['loc'][-1]), known)}"
    return Detail(path=path.lstrip("."), message=message)


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the titles that pydantic makes of names: they cost an agent tokens and tell it nothing."""
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    for key, value in kept.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _untitled(part) for name, part in value.items()}
        elif isinstance(value, dict):
            kept[key] = _untitled(value)
        elif isinstance(value, list):
            kept[key] = [_untitled(part) if isinstance(part, dict) else part for part in value]
    return kept
