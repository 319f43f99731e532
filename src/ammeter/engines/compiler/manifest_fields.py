"""The manifest as people write it: every field with its rule, and its faults in our words.

Comes in: JSON of an upload. Goes out: a checked form, or one Detail per fault. Absent: defaults of parts
that were left out; `manifest.py` fills those in.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ammeter.base.errors import Detail
from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.credentials import looks_like_credential

_REFERENCE = re.compile(r"(secret:[A-Z][A-Z0-9_]{0,63}|env:[A-Za-z_][A-Za-z0-9_]{0,127})")
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_LINE = re.compile(r"[^\x00-\x1f\x7f]*")
_USE_A_REFERENCE = (
    "store the value with 'ammeter admin secret set' and write 'secret:NAME', "
    "or write 'env:NAME' for a variable of the server"
)
_DENIED = re.compile(
    r"((?i:GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS|TRACE|\*) (?=[/*]))?[^\s\x00-\x1f\x7f]{1,200}"
)
# Set by the runtime itself, or able to break the framing of a request.
_FIXED_HEADERS = frozenset(
    {
        *("host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade"),
        *("te", "trailer", "keep-alive", "proxy-authorization", "proxy-connection", "expect", "cookie"),
    }
)
_RESERVED = """
    abstract await boolean break byte case catch char class const continue debugger default delete do
    double else enum eval export extends false final finally float for function goto if implements import
    in instanceof int interface let long native new null package private protected public return short
    static super switch synchronized this throw throws transient true try typeof var void volatile while
    with yield async of get set arguments undefined NaN Infinity
"""
_GLOBALS = """
    __proto__ prototype constructor toString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable
    toLocaleString globalThis window self global console process require module exports fetch Object
    Function Array String Number Boolean Symbol BigInt Math JSON Date RegExp Map Set WeakMap WeakSet
    WeakRef Promise Proxy Reflect Error TypeError RangeError SyntaxError ReferenceError EvalError URIError
    AggregateError ArrayBuffer SharedArrayBuffer DataView Atomics Intl WebAssembly Buffer URL
    URLSearchParams TextEncoder TextDecoder Headers Request Response FormData Blob File AbortController
    AbortSignal setTimeout setInterval clearTimeout clearInterval setImmediate queueMicrotask
    structuredClone atob btoa crypto performance parseInt parseFloat isNaN isFinite encodeURI
    encodeURIComponent decodeURI decodeURIComponent escape unescape Iterator
"""


def _reference(value: str) -> str:
    if _REFERENCE.fullmatch(value):
        return value
    kind, colon, _ = value.partition(":")
    if colon and kind in ("secret", "env"):
        raise ValueError(f"after '{kind}:' a NAME is expected, such as '{kind}:API_TOKEN'")
    raise ValueError(f"a reference is expected, not the credential itself: {_USE_A_REFERENCE}")


def _no_credential(value: str) -> str:
    if not _LINE.fullmatch(value):
        raise ValueError("control characters and line ends are not allowed")
    if looks_like_credential(value):
        raise ValueError(f"this looks like a credential; {_USE_A_REFERENCE}")
    return value


def _client_name(value: str) -> str:
    if not _IDENTIFIER.fullmatch(value):
        raise ValueError("a JavaScript identifier is expected: letters, digits, _ and $, not a digit first")
    if value in _RESERVED.split() or value in _GLOBALS.split():
        raise ValueError(f"{value!r} is a word of JavaScript itself; choose another name, such as 'client'")
    return value


def _url(value: str) -> str:
    shown = "an absolute URL is expected, such as 'https://api.example.com/v1'"
    if not value.isprintable() or " " in value or "\\" in value:
        raise ValueError(f"spaces, backslashes and control characters are not allowed; {shown}")
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(shown) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError(shown)
    if "@" in parts.netloc:
        raise ValueError("a user or password in the URL is not allowed; use 'auth'")
    if "?" in value or "#" in value:
        raise ValueError("a query or fragment is not allowed in a base URL")
    if "{" in value or "}" in value:
        raise ValueError("variables in braces are not filled in; write the URL out")
    if any(step in (".", "..") for step in parts.path.split("/")):
        raise ValueError("'.' and '..' are not allowed in the path")
    if looks_like_credential(parts.path):
        raise ValueError(f"the path looks like it holds a credential; {_USE_A_REFERENCE}")
    return value.rstrip("/")


def _header_name(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError("this is not the name of a header")
    if value.lower() in _FIXED_HEADERS:
        raise ValueError(f"{value!r} is set by the server itself and cannot be used for this")
    return value


def _tag(value: str) -> str:
    kind, _, rest = value.partition(":")
    if kind not in ("header", "static", "jsdoc") or not rest:
        raise ValueError("'header:<name>', 'static:<text>' or 'jsdoc:<tag>' is expected")
    if kind == "header" and not _HEADER.fullmatch(rest):
        raise ValueError("after 'header:' the name of a header is expected")
    if kind == "jsdoc" and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", rest):
        raise ValueError("after 'jsdoc:' the name of a tag is expected, without its '@'")
    return _no_credential(value)


def _tag_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", value) or value in _GLOBALS.split():
        raise ValueError("a tag's name has up to 64 letters, digits, '_', '.' and '-', a letter first")
    return value


def _glob(value: str) -> str:
    if not _DENIED.fullmatch(value):
        raise ValueError("a pattern such as 'users.delete*' or 'DELETE /users/*' is expected")
    return value


def _env_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", value):
        raise ValueError("the name of an environment variable is expected, such as 'SCRIPT_TIMEOUT_SECONDS'")
    return value


def _environment(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]{1,32}", value):
        raise ValueError("an environment is a name of 1 to 32 lower-case letters, digits and hyphens")
    return value


Reference = Annotated[str, AfterValidator(_reference)]
Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_no_credential)]
Prefix = Annotated[str, Field(max_length=32), AfterValidator(_no_credential)]
Url = Annotated[str, Field(max_length=2048), AfterValidator(_url)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, frozen=True)


class BaseUrlForm(_Form):
    environment: Annotated[str, AfterValidator(_environment)] | None = None
    url: Url
    description: Line | None = None


class NoneForm(_Form):
    type: Literal["none"]


class BearerForm(_Form):
    type: Literal["bearer"]
    secret_ref: Reference
    prefix: Prefix | None = None


class HeaderForm(_Form):
    type: Literal["header"]
    header_name: Annotated[str, AfterValidator(_header_name)]
    secret_ref: Reference
    prefix: Prefix | None = None


class QueryForm(_Form):
    type: Literal["query"]
    query_name: Line
    secret_ref: Reference


class BasicForm(_Form):
    type: Literal["basic"]
    username: Line | None = None
    username_ref: Reference | None = None
    secret_ref: Reference | None = None

    @model_validator(mode="after")
    def _one_user(self) -> BasicForm:
        if (self.username is None) == (self.username_ref is None):
            raise ValueError("one of 'username' and 'usernameRef' is required")
        if self.username is not None and self.secret_ref is None:
            raise ValueError("'secretRef', the password, is required with 'username'")
        return self


class ClientCredentialsForm(_Form):
    type: Literal["oauth2_client_credentials"]
    token_url: Url
    client_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    client_id_ref: Reference | None = None
    secret_ref: Reference
    scopes: Annotated[list[Line], Field(max_length=100)] | None = None
    audience: Line | None = None
    client_authentication: Literal["basic", "body"] | None = None

    @model_validator(mode="after")
    def _one_client(self) -> ClientCredentialsForm:
        if (self.client_id is None) == (self.client_id_ref is None):
            raise ValueError("one of 'clientId' and 'clientIdRef' is required")
        return self


class LimitsForm(_Form):
    max_calls: Annotated[int, Field(ge=1, le=1000)] = 50
    memory_mb: Annotated[int, Field(ge=16, le=512)] = 128


class PolicyForm(_Form):
    read_only: bool = False
    deny: Annotated[list[Annotated[str, AfterValidator(_glob)]], Field(max_length=200)] = []


AuthForm = Annotated[
    NoneForm | BearerForm | HeaderForm | QueryForm | BasicForm | ClientCredentialsForm,
    Field(discriminator="type"),
]


class ManifestForm(_Form):
    vendor_name: Line | None = None
    client_name: Annotated[str, AfterValidator(_client_name)] = "client"
    base_url: Url | None = None
    base_urls: Annotated[list[BaseUrlForm], Field(min_length=1, max_length=50)] | None = None
    auth: AuthForm | None = None
    analytics_tags: (
        Annotated[
            dict[
                Annotated[str, AfterValidator(_tag_name)],
                Annotated[str, Field(max_length=300), AfterValidator(_tag)],
            ],
            Field(max_length=50),
        ]
        | None
    ) = None
    script_timeout_env: Annotated[str, AfterValidator(_env_name)] | None = None
    limits: LimitsForm | None = None
    policy: PolicyForm | None = None

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> ManifestForm:
        if self.base_url is not None and self.base_urls is not None:
            raise ValueError("'baseUrl' and 'baseUrls' exclude each other; give one of them")
        names = [base.environment for base in self.base_urls or ()]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            told = "without an environment" if name is None else f"for the environment {name!r}"
            raise ValueError(f"'baseUrls' has more than one entry {told}")
        return self


_AUTH_FORMS: dict[str, type[BaseModel]] = {
    "none": NoneForm,
    "bearer": BearerForm,
    "header": HeaderForm,
    "query": QueryForm,
    "basic": BasicForm,
    "oauth2_client_credentials": ClientCredentialsForm,
}
_PARTS: dict[str, type[BaseModel]] = {"baseUrls": BaseUrlForm, "limits": LimitsForm, "policy": PolicyForm}


def details_of(error: ValidationError, path: str) -> tuple[Detail, ...]:
    found = (_detail(one, path) for one in error.errors(include_url=False, include_input=False))
    return tuple(dict.fromkeys(found))


def _detail(error: Any, path: str) -> Detail:
    loc = [step for step in error["loc"] if step != "[key]"]
    form: type[BaseModel] = ManifestForm
    if len(loc) > 1 and loc[0] == "auth" and loc[1] in _AUTH_FORMS:
        form = _AUTH_FORMS[loc.pop(1)]
    elif len(loc) > 1 and loc[0] in _PARTS:
        form = _PARTS[loc[0]]
    message = str(error["msg"]).removeprefix("Value error, ")
    match error["type"]:
        case "missing":
            message = "this is required"
        case "extra_forbidden":
            known = [f.alias or name for name, f in form.model_fields.items()]
            message = f"unknown field.{did_you_mean(str(loc[-1]), known)}"
        case "union_tag_not_found":
            message = "'type' is required: " + ", ".join(_AUTH_FORMS)
        case "union_tag_invalid":
            loc.append("type")
            given = str(error["ctx"]["tag"])
            shown = "" if looks_like_credential(given) else did_you_mean(given, _AUTH_FORMS)
            message = f"one of {', '.join(_AUTH_FORMS)} is expected.{shown}"
    return Detail(
        path=path + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc), message=message
    )
