"""What the compiler's phases hand to each other: an API as its scripts see it, and what was found on the
way. Values only; every one of them can be written into a bundle and read back.

Schemas are plain JSON Schema in one dialect (2020-12 words), whatever the description spoke: `nullable`
has become a null type, bounds are numbers, and the only references left are `#/schemas/<name>`, each
to a key of `Api.schemas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Mapping[str, Any]

Level = Literal["error", "warning", "info"]
Method = Literal["get", "put", "post", "delete", "patch", "head", "options", "trace"]
Location = Literal["path", "query", "header", "cookie"]
BodyKind = Literal["json", "form", "multipart", "text", "binary"]
ResponseKind = Literal["json", "text", "binary", "none"]
PageKind = Literal["page", "offset", "cursor", "link"]

SCHEMA_PREFIX = "#/schemas/"
IDEMPOTENT = frozenset({"get", "head", "put", "delete", "options", "trace"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in the description that a person should know: where it is and what became of it."""

    level: Level
    code: str
    pointer: str
    """JSON pointer into the document as it was uploaded, after the overlay."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    """As it is on the wire."""
    arg: str
    """Its key in the argument object of the method."""
    location: Location
    required: bool
    schema: Json
    style: str
    explode: bool
    allow_reserved: bool = False
    content_type: str | None = None
    """Where the value is serialized as a document (`content`) instead of by style."""
    description: str = ""
    deprecated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    content_type: str
    kind: BodyKind
    required: bool
    schema: Json
    args: Mapping[str, str] | None
    """Where the body is an object whose properties stand in the argument object: property → key.
    None: the whole body is one argument, `body_arg`."""
    body_arg: str = "body"
    encoding: Json = field(default_factory=dict)
    description: str = ""
    other_content_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    status: str
    """`200`, `2XX` or `default`."""
    kind: ResponseKind
    content_type: str | None
    schema: Json | None
    description: str = ""
    headers: tuple[str, ...] = ()
    """Names of the headers that the description promises, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How the next page is asked for. Paths are tuples of keys into the JSON answer."""

    kind: PageKind
    items: tuple[str, ...]
    """Where the rows are; empty: the answer itself is the array."""
    request_arg: str | None = None
    """The argument that carries page, offset or cursor; None for links, which the host follows."""
    request_name: str = ""
    """That argument's name on the wire, by which it is found in a link."""
    size_arg: str | None = None
    next_path: tuple[str, ...] = ()
    """Where the answer tells the next cursor or link."""
    more_path: tuple[str, ...] = ()
    """Where the answer tells whether there is more."""
    first: int = 0
    """The first page's number, or the first offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    """The operationId; made from method and path where the description has none."""
    method: Method
    path: str
    pointer: str
    group: tuple[str, ...]
    """`client.<group>…<name>`; more than one step where groups nest."""
    name: str
    summary: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    parameters: tuple[Parameter, ...]
    body: Body | None
    responses: tuple[Response, ...]
    security: tuple[tuple[str, ...], ...]
    """Alternatives, each the schemes that it needs; one that is empty: none needed."""
    pagination: Pagination | None = None
    servers: tuple[str, ...] = ()

    @property
    def sdk_name(self) -> str:
        return ".".join((*self.group, self.name))

    @property
    def is_idempotent(self) -> bool:
        return self.method in IDEMPOTENT

    @property
    def success(self) -> Response | None:
        """The answer that a script gets when all is well."""
        good = [r for r in self.responses if r.status.startswith("2")]
        rest = [r for r in self.responses if r.status == "default"]
        return min(good, key=lambda r: (r.kind == "none", r.status)) if good else (rest[0] if rest else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    title: str
    version: str
    description: str
    servers: tuple[str, ...]
    operations: tuple[Operation, ...]
    schemas: Mapping[str, Json]
    security_schemes: Mapping[str, Json]
    tag_descriptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What `search_sdk` shows of an operation, and what the search reads of it."""

    operation_id: str
    sdk_name: str
    method: Method
    path: str
    signature: str
    summary: str
    example: str | None
    """A script that was run against a mock of the description; None where none could be proven."""
    deprecated: bool
    tags: tuple[str, ...]
    description: str
    parameter_texts: tuple[tuple[str, str], ...]
    """Names and descriptions of path, query, header and cookie parameters."""
    body_fields: tuple[tuple[str, str], ...]
    """Names and descriptions of request fields, nested ones too, nearest first."""
    body_types: tuple[str, ...]
    response_fields: tuple[str, ...]
    response_types: tuple[str, ...]
    enums: tuple[str, ...]
    ids_from: str | None = None
    """The sdk name of an operation that gives the ids this one's path needs."""
